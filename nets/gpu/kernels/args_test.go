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
)

// mirrors are all structures of args.go that work.cuh declares too.
var mirrors = []any{
	Slot{},
	Work{},
	GatherArgs{},
	ConvArgs{},
	Conv2DArgs{},
	ConvReduceArgs{},
	LinearArgs{},
	ReLUArgs{},
	AddArgs{},
	NormArgs{},
	AverageArgs{},
	SubsampleArgs{},
	LogOddsArgs{},
	DropoutArgs{},
	CrossEntropyArgs{},
	ScoreArgs{},
	RowsArgs{},
	CombineArgs{},
	SumSquaresArgs{},
	ClipArgs{},
	SGDArgs{},
}

var (
	cStruct  = regexp.MustCompile(`(?s)struct (\w+) \{\n(.*?)\n\};`)
	cComment = regexp.MustCompile(`//.*`)
	cName    = regexp.MustCompile(`(\w+)(?:,|;)`)
)

// declared returns the fields of every structure of a header, in order.
func declared(t *testing.T, header string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(header)
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string][]string{}
	for _, s := range cStruct.FindAllStringSubmatch(string(text), -1) {
		for _, f := range cName.FindAllStringSubmatch(cComment.ReplaceAllString(s[2], ""), -1) {
			fields[s[1]] = append(fields[s[1]], f[1])
		}
	}
	return fields
}

// The layout of every mirror is what g++ makes of work.cuh: names, order, offsets, sizes, and integer or float.
func TestArgsMirrorWork(t *testing.T) {
	gpp, err := exec.LookPath("g++")
	if err != nil {
		t.Skip("left out: no g++")
	}
	c := declared(t, "work.cuh")
	if len(c) != len(mirrors) {
		t.Errorf("work.cuh declares %d structures, args.go %d", len(c), len(mirrors))
	}
	// Only the declarations are wanted, so the types of the prelude are all that stands in for it.
	var program strings.Builder
	program.WriteString("#include <cstdint>\n#include <cstddef>\n#include <cstdio>\n#include <type_traits>\n#include " +
		"\"work.h\"\nint main() {\n")
	for _, m := range mirrors {
		name := reflect.TypeOf(m).Name()
		if c[name] == nil {
			t.Fatalf("%s: not in work.cuh", name)
		}
		fmt.Fprintf(&program, "  printf(\"%s %%zu\\n\", sizeof(%s));\n", name, name)
		for _, f := range c[name] {
			fmt.Fprintf(&program, "  printf(\"%s.%s %%zu %%zu %%d\\n\", offsetof(%s, %s), sizeof(%s::%s), "+
				"std::is_floating_point<decltype(%s::%s)>::value);\n",
				name, f, name, f, name, f, name, f)
		}
	}
	program.WriteString("}\n")
	got := run(t, gpp, program.String())

	var want strings.Builder
	for _, m := range mirrors {
		s := reflect.TypeOf(m)
		fmt.Fprintf(&want, "%s %d\n", s.Name(), s.Size())
		if s.NumField() != len(c[s.Name()]) {
			t.Fatalf("%s: %d fields, work.cuh has %d: %v", s.Name(), s.NumField(), len(c[s.Name()]), c[s.Name()])
		}
		for i := range s.NumField() {
			f, cf := s.Field(i), c[s.Name()][i]
			if name := strings.ReplaceAll(cf, "_", ""); !strings.EqualFold(f.Name, name) &&
				(f.Name != "_" || cf != "unused") {
				t.Errorf("%s: field %d is %s, in work.cuh %s", s.Name(), i, f.Name, cf)
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

// run compiles a program that includes work.cuh without its prelude as work.h, and returns what it prints.
func run(t *testing.T, gpp, program string) string {
	t.Helper()
	dir := t.TempDir()
	header, err := os.ReadFile("work.cuh")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(header), "#include \"prelude.cuh\"", "", 1)
	for name, content := range map[string]string{"work.h": text, "main.cpp": program} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	exe := filepath.Join(dir, "main")
	if out, err := exec.CommandContext(t.Context(), gpp, "-std=c++17", "-Wno-invalid-offsetof", "-o", exe,
		filepath.Join(dir, "main.cpp")).CombinedOutput(); err != nil {
		t.Fatalf("g++: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), exe).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
