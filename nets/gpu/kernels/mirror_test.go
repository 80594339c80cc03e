package kernels

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// mirrors are the structures that Go and CUDA both declare. Those that others name come first, as C++ wants it.
var mirrors = []any{
	Slot{},
	Work{},
	AddArgs{},
	AverageArgs{},
	BiasReLUArgs{},
	ClipArgs{},
	CombineArgs{},
	ConvTile{},
	ConvArgs{},
	Conv2DArgs{},
	ConvReduceArgs{},
	CrossEntropyArgs{},
	DropoutArgs{},
	GatherArgs{},
	HeadArgs{},
	LinearArgs{},
	LogOddsArgs{},
	NormArgs{},
	ReLUArgs{},
	RowsArgs{},
	ScoreArgs{},
	SGDArgs{},
	SubsampleArgs{},
	DotArgs{},
}

var (
	cStruct  = regexp.MustCompile(`(?s)struct (\w+) \{\n(.*?)\n\};`)
	cComment = regexp.MustCompile(`//.*`)
	cName    = regexp.MustCompile(`(\w+)(?:,|;)`)
)

// cuStruct is a structure that a CUDA source declares.
type cuStruct struct {
	file   string   // that declares it
	text   string   // of the declaration
	fields []string // names, in order
}

// declared returns the structures of all sources that have the name of a mirror, or a name that ends in Args.
func declared(t *testing.T) map[string]cuStruct {
	t.Helper()
	mirrored := map[string]bool{}
	for _, m := range mirrors {
		mirrored[reflect.TypeOf(m).Name()] = true
	}
	files, err := filepath.Glob("*.cu*")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d sources, %v", len(files), err)
	}
	all := map[string]cuStruct{}
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		for _, s := range cStruct.FindAllStringSubmatch(string(text), -1) {
			name := s[1]
			if !mirrored[name] && !strings.HasSuffix(name, "Args") {
				continue
			}
			if other, ok := all[name]; ok {
				t.Errorf("%s: declared in %s and in %s", name, other.file, file)
			}
			c := cuStruct{file: file, text: s[0]}
			for _, f := range cName.FindAllStringSubmatch(cComment.ReplaceAllString(s[2], ""), -1) {
				c.fields = append(c.fields, f[1])
			}
			all[name] = c
		}
	}
	return all
}

// Go and g++ agree on the layout of every structure that is handed to a kernel: names, order, offsets, sizes, and which
// fields are floats. The Go file that declares a mirror has the name of the CUDA source that declares the structure.
func TestMirror(t *testing.T) {
	gpp, err := exec.LookPath("g++")
	if err != nil {
		t.Skip("left out: no g++")
	}
	c := declared(t)
	if len(c) != len(mirrors) {
		t.Errorf("%d structures in the sources, %d mirrors", len(c), len(mirrors))
	}
	var declarations, prints strings.Builder
	for _, m := range mirrors {
		name := reflect.TypeOf(m).Name()
		s, ok := c[name]
		if !ok {
			t.Fatalf("%s: in no source", name)
		}
		beside := strings.TrimSuffix(s.file, filepath.Ext(s.file)) + ".go"
		if text, err := os.ReadFile(beside); err != nil || !strings.Contains(string(text), "\ntype "+name+" struct {") {
			t.Errorf("%s: declared in %s, want its mirror in %s (%v)", name, s.file, beside, err)
		}
		declarations.WriteString(s.text + "\n")
		fmt.Fprintf(&prints, "  printf(\"%s %%zu\\n\", sizeof(%s));\n", name, name)
		for _, f := range s.fields {
			fmt.Fprintf(&prints, "  printf(\"%s.%s %%zu %%zu %%d\\n\", offsetof(%s, %s), sizeof(%s::%s), "+
				"std::is_floating_point<decltype(%s::%s)>::value);\n", name, f, name, f, name, f, name, f)
		}
	}
	got := run(t, gpp, "#include <cstdint>\n#include <cstddef>\n#include <cstdio>\n#include <type_traits>\n"+
		declarations.String()+"int main() {\n"+prints.String()+"}\n")

	var want strings.Builder
	for _, m := range mirrors {
		s := reflect.TypeOf(m)
		fields := c[s.Name()].fields
		fmt.Fprintf(&want, "%s %d\n", s.Name(), s.Size())
		if s.NumField() != len(fields) {
			t.Fatalf("%s: %d fields, %s has %d: %v", s.Name(), s.NumField(), c[s.Name()].file, len(fields), fields)
		}
		for i := range s.NumField() {
			f, cf := s.Field(i), fields[i]
			if name := strings.ReplaceAll(cf, "_", ""); !strings.EqualFold(f.Name, name) &&
				(f.Name != "_" || cf != "unused") {
				t.Errorf("%s: field %d is %s, in %s %s", s.Name(), i, f.Name, c[s.Name()].file, cf)
			}
			float := 0
			if f.Type.Kind() == reflect.Float32 {
				float = 1
			}
			fmt.Fprintf(&want, "%s.%s %d %d %d\n", s.Name(), cf, f.Offset, f.Type.Size(), float)
		}
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want.String(), "\n")
	if len(gotLines) != len(wantLines) {
		t.Fatalf("g++ prints %d lines, Go %d", len(gotLines), len(wantLines))
	}
	for i, g := range gotLines {
		if g != wantLines[i] {
			t.Errorf("g++: %q, Go: %q (name, offset, size, float)", g, wantLines[i])
		}
	}
}

// run compiles a C++ program and returns what it prints.
func run(t *testing.T, gpp, program string) string {
	t.Helper()
	dir := t.TempDir()
	source, exe := filepath.Join(dir, "main.cpp"), filepath.Join(dir, "main")
	must.OK(t, os.WriteFile(source, []byte(program), 0o600))
	if out, err := exec.CommandContext(t.Context(), gpp, "-std=c++17", "-Wno-invalid-offsetof", "-o", exe,
		source).CombinedOutput(); err != nil {
		t.Fatalf("g++: %v\n%s", err, out)
	}
	out := must.Get(exec.CommandContext(t.Context(), exe).Output())(t)
	return string(out)
}
