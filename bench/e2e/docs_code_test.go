package e2e

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// docsCodeName is a name of the program as the pages write it, such as algos.server.train or gpu.Open: a package, and
// a function, a type, or a method or a field of a type.
var docsCodeName = regexp.MustCompile("`([a-z]+)\\.([A-Za-z]\\w*(?:\\.[A-Za-z]\\w*)?)`")

// TestDocsCode looks up every name of the program that a page has, so that docs/architecture.md still finds its way
// when functions are renamed.
func TestDocsCode(t *testing.T) {
	files, _, _ := docsRepository(t)
	declared, packages := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed := must.Get(parser.ParseFile(token.NewFileSet(), "../../"+file, nil, parser.SkipObjectResolution))(t)
		packages[parsed.Name.Name] = true
		for _, name := range docsDeclared(parsed) {
			declared[parsed.Name.Name+"."+name] = true
		}
	}
	for _, p := range docsPages(t) {
		for _, m := range docsCodeName.FindAllStringSubmatch(p.text, -1) {
			name := m[1] + "." + m[2]
			if packages[m[1]] && !docsFile.MatchString(name) && !declared[name] {
				t.Errorf("%s: %s: nothing of this name is in package %s", p.name, name, m[1])
			}
		}
	}
}

// docsDeclared returns what a file declares: F of functions, types, variables and constants, T.M of methods and fields.
func docsDeclared(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name.Name)
			} else {
				names = append(names, docsTypeName(d.Recv.List[0].Type)+"."+d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					for _, n := range s.Names {
						names = append(names, n.Name)
					}
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
					for _, field := range docsFields(s.Type) {
						names = append(names, s.Name.Name+"."+field)
					}
				}
			}
		}
	}
	return names
}

// docsTypeName returns the name of a receiver's type, without its parameters.
func docsTypeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return docsTypeName(e.X)
	case *ast.IndexExpr:
		return docsTypeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// docsFields returns the names of the fields of a struct, and of the methods of an interface.
func docsFields(e ast.Expr) (names []string) {
	var list *ast.FieldList
	switch e := e.(type) {
	case *ast.StructType:
		list = e.Fields
	case *ast.InterfaceType:
		list = e.Methods
	default:
		return nil
	}
	for _, f := range list.List {
		for _, n := range f.Names {
			names = append(names, n.Name)
		}
	}
	return names
}
