package e2e

// What the pages name is there: links, files, flags, tests, variables, names of the program's code and of what it has.

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/bench/cli"
	"rollcall/datasets"
	"rollcall/internal/must"
	"rollcall/nets/models"
	"rollcall/results"
	"rollcall/results/papers"
)

// What people read to the end: a README of a few screens, and lines that fit beside each other.
const (
	docsReadmeLines = 150
	docsColumns     = 120
	docsImageBytes  = 150 << 10
)

var (
	docsLink    = regexp.MustCompile(`(!?)(?:\[[^\]]*)?\]\(([^)\s]+)\)`) // whose text may begin in a line before
	docsHeading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	docsCode    = regexp.MustCompile("(?sm)^```.*?^```$")
	docsBlock   = regexp.MustCompile(`^<!--[a-z]`)   // see results/scoreboard
	docsSign    = regexp.MustCompile(`[^\pL\pN _-]`) // which the anchor of a heading leaves out
)

// Links lead to a file, and to a heading in it; README.md leads to every page, or to the README.md of its folder, which
// does. It has the length of a few screens.
func TestDocsLinks(t *testing.T) {
	anchors, linked := map[string]bool{}, map[string]bool{"README.md": true, "examples": true}
	pages := docsPages(t)
	for _, p := range pages {
		for _, m := range docsHeading.FindAllStringSubmatch(docsCode.ReplaceAllString(p.text, ""), -1) {
			name := strings.Map(unicode.ToLower, docsSign.ReplaceAllString(m[1], ""))
			anchors[p.name+"#"+strings.ReplaceAll(name, " ", "-")] = true
		}
	}
	for _, p := range pages {
		if n := strings.Count(p.text, "\n"); p.name == "README.md" && n > docsReadmeLines {
			t.Errorf("README.md: %d lines, want at most %d", n, docsReadmeLines)
		}
		fenced, written := false, false
		for i, line := range strings.Split(p.text, "\n") {
			fenced = fenced != strings.HasPrefix(line, "```")
			written = (written || docsBlock.MatchString(line)) && line != "<!--end-->"
			if n := utf8.RuneCountInString(line); n > docsColumns && !written && docsNote.FindString(line) == "" {
				t.Errorf("%s:%d: %d columns, want at most %d", p.name, i+1, n, docsColumns)
			}
			for _, m := range docsLink.FindAllStringSubmatch(line, -1) {
				to, heading, _ := strings.Cut(m[2], "#")
				if strings.Contains(to, "://") || fenced {
					continue
				}
				file := p.name
				if to != "" {
					file = path.Join(path.Dir(p.name), to)
				}
				linked[file] = linked[file] || path.Base(p.name) == "README.md"
				info, err := os.Stat("../../" + file)
				switch {
				case err != nil:
					t.Errorf("%s:%d: link to %s: %v", p.name, i+1, m[2], err)
				case m[1] != "" && info.Size() > docsImageBytes:
					t.Errorf("%s:%d: image %s: %d bytes, want at most %d", p.name, i+1, to, info.Size(), docsImageBytes)
				case heading != "" && !anchors[file+"#"+heading]:
					t.Errorf("%s:%d: link to %s: %s has no such heading", p.name, i+1, m[2], file)
				}
			}
		}
	}
	for _, p := range pages {
		if !linked[p.name] {
			t.Errorf("%s: README.md has no link to this page, want one", p.name)
		}
	}
}

var (
	docsFlag = regexp.MustCompile(`(?:^|[\s(\x60"/])(--[a-z][a-z0-9_-]*)`)
	docsFile = regexp.MustCompile(`^(?:[\w.-]+/)*[\w-][\w.-]*\.` +
		`(?:go|md|csv|json|py|cu|cuh|sh|yaml|yml|svg|html|npy|ptx|gz|so|a|h|cuda|txt)$`)
	docsFolder = regexp.MustCompile(`^(?:bench|algos|nets|datasets|results|internal|docs)/[\w./]*$`)
	docsTest   = regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz)[A-Z]\w*(…?)`)
	docsEnv    = regexp.MustCompile(`ROLLCALL_[A-Z_]+`)
	// docsName is a name of the program's code, such as algos.server.train or gpu.Open: a package, and a function, a
	// type, or a method or a field of a type.
	docsName = regexp.MustCompile(`^([a-z]+)\.[A-Za-z]\w*(?:\.[A-Za-z]\w*)?$`)
	// docsForeign is a comment of a page with the names in it that belong to other programs.
	docsForeign = regexp.MustCompile(`<!-- test: foreign: (.*) -->`)
)

// Flags, files, tests, variables and names of code are there, except for those that a page says are foreign.
func TestDocsNames(t *testing.T) {
	flags := map[string]bool{"--help": true}
	docsWalk(cli.Root(), func(c *cobra.Command) {
		for _, fs := range []*pflag.FlagSet{c.Flags(), c.PersistentFlags()} {
			fs.VisitAll(func(f *pflag.Flag) { flags["--"+f.Name] = true })
		}
	})
	repository := docsRepository(t)
	for _, p := range docsPages(t) {
		foreign := map[string]bool{} // whether it was met
		for _, m := range docsForeign.FindAllStringSubmatch(p.text, -1) {
			for name := range strings.FieldsSeq(m[1]) {
				foreign[name] = false
			}
		}
		for i, line := range strings.Split(p.text, "\n") {
			if docsForeign.MatchString(line) {
				continue
			}
			want := func(name string, is bool, what string) {
				if _, isForeign := foreign[name]; isForeign {
					foreign[name] = true
				} else if !is {
					t.Errorf("%s:%d: %s: %s", p.name, i+1, name, what)
				}
			}
			for _, m := range docsFlag.FindAllStringSubmatch(line, -1) {
				want(m[1], flags[m[1]], "no command has this flag")
			}
			for _, name := range docsEnv.FindAllString(line, -1) {
				want(name, strings.Contains(repository.code, name), "nothing reads this variable")
			}
			var words []string // code, and files that a command names
			for _, m := range docsSpan.FindAllStringSubmatch(line, -1) {
				words = append(words, m[1])
			}
			if strings.HasPrefix(line, "    ") {
				for word := range strings.FieldsSeq(line) {
					if ext := path.Ext(word); ext == ".py" || ext == ".cuda" || ext == ".yaml" {
						words = append(words, word)
					}
				}
			}
			for _, word := range words {
				m := docsName.FindStringSubmatch(word)
				switch test := docsTest.FindStringSubmatch(word); {
				case test != nil:
					declared := "func " + test[0] + "("
					if test[1] != "" { // the beginning of a name
						declared = "func " + strings.TrimSuffix(test[0], test[1])
					}
					want(test[0], strings.Contains(repository.code, declared), "no such test")
				case docsFile.MatchString(word), docsFolder.MatchString(word):
					want(word, repository.has(word) || strings.Contains(repository.program, `"`+path.Base(word)+`"`),
						"neither in the repository nor written by the program")
				case m != nil && repository.declared[m[1]]:
					want(word, repository.declared[word], "nothing of this name is in package "+m[1])
				}
			}
		}
		for name, met := range foreign {
			if !met {
				t.Errorf("%s: %s is said to be foreign, but is not in the page: want it taken out", p.name, name)
			}
		}
	}
}

// repository is what the pages name things of.
type repository struct {
	files         []string        // paths, without what builds and runs write
	program, code string          // the text of the program, and with its tests
	declared      map[string]bool // packages, and all that they declare: pkg.F, pkg.T, pkg.T.M
}

// has says whether there is a file or a folder: by its path, by a path from the folder of a package, or by its name.
func (r *repository) has(name string) bool {
	name = path.Clean(name)
	return slices.ContainsFunc(r.files, func(f string) bool {
		return f == name || strings.HasSuffix(f, "/"+name) || strings.HasPrefix(f, name+"/")
	})
}

func docsRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{declared: map[string]bool{}}
	var program, tests strings.Builder
	must.OK(t, filepath.WalkDir("../..", func(file string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(file), "../../")
		if d.IsDir() && slices.Contains([]string{".git", "bin", "out", "results/history"}, name) {
			return filepath.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		r.files = append(r.files, name)
		switch {
		case strings.HasSuffix(name, "_test.go"):
			tests.WriteString(contents(t, file))
		case path.Ext(name) == ".go":
			text := contents(t, file)
			program.WriteString(text)
			r.declare(must.Get(parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution))(t))
		}
		return nil
	}))
	r.program = program.String()
	r.code = r.program + tests.String()
	return r
}

func (r *repository) declare(file *ast.File) {
	pkg := file.Name.Name
	add := func(in string, names ...*ast.Ident) {
		for _, n := range names {
			r.declared[in+"."+n.Name] = true
		}
	}
	r.declared[pkg] = true
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			in := pkg
			if n.Recv != nil {
				of, _, _ := strings.Cut(strings.TrimPrefix(types.ExprString(n.Recv.List[0].Type), "*"), "[")
				in += "." + of
			}
			add(in, n.Name)
			return false
		case *ast.ValueSpec:
			add(pkg, n.Names...)
		case *ast.TypeSpec:
			add(pkg, n.Name)
			var members *ast.FieldList
			switch of := n.Type.(type) {
			case *ast.StructType:
				members = of.Fields
			case *ast.InterfaceType:
				members = of.Methods
			default:
				return false
			}
			for _, m := range members.List {
				add(pkg+"."+n.Name.Name, m.Names...)
			}
		}
		return true
	})
}

// docsCommandsPage lists every name that a flag takes, and every table and figure. The rows of the methods begin and
// end with those of two flags.
const (
	docsCommandsPage = "docs/commands.md"
	docsMethodFlag   = "| `--method` |"
	docsAfterMethods = "| `--availability` |"
)

// The page lists all of these names; -update writes those of the methods.
func TestDocsListNames(t *testing.T) {
	text := contents(t, "../../"+docsCommandsPage)
	head, rest, _ := strings.Cut(text, docsMethodFlag)
	_, tail, ok := strings.Cut(rest, docsAfterMethods)
	want := head + docsMethods(t) + docsAfterMethods + tail
	if *update && ok {
		text = want
		must.OK(t, os.WriteFile("../../"+docsCommandsPage, []byte(text), 0o666))
	}
	if text != want {
		t.Errorf("%s:%d: the rows of --method, want those that -update writes:\n%s", docsCommandsPage,
			strings.Count(head, "\n")+1, docsMethods(t))
	}
	nets := slices.DeleteFunc(models.Names(), models.Own) // which other tests have registered
	for _, name := range slices.Concat(algos.Names(), availability.Names(), nets, datasets.Names()) {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("%s: %s is not there, want it listed", docsCommandsPage, name)
		}
	}
	for _, list := range []struct {
		what, name string // the pattern of a name behind its paper's
		want       []string
	}{
		{"tables", `\d+|mnist`, papers.TableNames()}, {"figures", `[ifs]\d[a-d]?`, papers.FigureNames()},
	} {
		if got, want := docsListed(text, list.name), slices.Sorted(slices.Values(list.want)); !slices.Equal(got, want) {
			t.Errorf("%s lists the %s\n%q, want\n%q", docsCommandsPage, list.what, got, want)
		}
	}
}

// docsMethods returns the rows of the methods: by the first paper with a table that has them, and last those that no
// table has.
func docsMethods(t *testing.T) string {
	t.Helper()
	_, byPaper := results.Grouped(algos.Names(), func(method string) string {
		for _, id := range papers.TableNames() {
			if table, err := papers.TableByID(id); err != nil {
				t.Fatal(err)
			} else if slices.Contains(table.Methods, method) {
				paper, _, _ := strings.Cut(id, "-")
				return paper
			}
		}
		return ""
	})
	var rows strings.Builder
	row := docsMethodFlag
	for _, paper := range []struct{ id, of string }{
		{"fedawe", " FedAWE's comparison |"},
		{"cafed", " CA-Fed's comparison |"},
		{"fedar", " FedAR's comparison |"},
		{"", " |"},
	} {
		row += paper.of
		between := " "
		for _, name := range byPaper[paper.id] {
			if len(row+between+name) > 116 { // of 120 columns
				rows.WriteString(row + " |\n")
				row, between = "| | |", " "
			}
			row += between + "`" + name + "`"
			between = ", "
		}
		rows.WriteString(row + " |\n")
		row = "| |"
	}
	return rows.String()
}

// docsListed returns the names of a list such as `fedar-f1` … `-f3`, `-f5`, sorted: the paper stands with the first.
func docsListed(page, pattern string) []string {
	listed := map[string]bool{}
	paper, before := "", ""
	name := regexp.MustCompile("(… )?`((?:fedawe|cafed|fedar)?)-(" + pattern + ")`")
	for _, m := range name.FindAllStringSubmatch(page, -1) {
		if m[2] != "" {
			paper = m[2]
		}
		if m[1] == "" {
			before = m[3]
		}
		for last := len(m[3]) - 1; before[last] <= m[3][last]; before = before[:last] + string(before[last]+1) {
			listed[paper+"-"+before] = true
			if m[1] == "" {
				break
			}
		}
	}
	return slices.Sorted(maps.Keys(listed))
}
