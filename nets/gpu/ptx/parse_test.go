package ptx

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"rollcall/internal/must"
)

// Every committed text parses, and together they use every operation that there is.
func TestParseKernels(t *testing.T) {
	files := must.Get(filepath.Glob("../kernels/ptx/*.ptx"))(t)
	kernels := 0
	unused := maps.Clone(operations)
	for _, name := range files {
		text := must.Get(os.ReadFile(name))(t)
		m, err := Parse(string(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		kernels += len(m.Kernels)
		for _, k := range m.Kernels {
			for _, in := range k.Code {
				delete(unused, in.Opcode)
			}
		}
	}
	for opcode := range unused {
		t.Errorf("%s: in no kernel", opcode)
	}
	if len(files) != 25 || kernels != 107 {
		t.Errorf("got %d kernels in %d files, want 107 in 25", kernels, len(files))
	}
}

// A text that is no PTX is an error: Parse does not panic.
func FuzzParse(f *testing.F) {
	const head = ".visible .entry k(\n.param .align 8 .b8 p[8]\n)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<3>;\n"
	for _, code := range []string{
		"ret;", ";", "@ ret;", "@! ret;", "@%p1 ret;", "@%r1 ret;", "ld.global %r1, [p];", "ld. %r1, [p+4];",
		"{ .reg .pred q; @q ret; }", "mov.b32 {%r1, %r2}, {;", ".reg .b32 %r<99999999999999999999>;",
		".shared .align 0 .b8 a[4]; mov.u32 %r1, a;", "bar.sync 0;", "cp.async.wait_group -1;",
	} {
		f.Add(head + code + "\n}\n")
	}
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := Parse(text); (m == nil) == (err == nil) {
			t.Errorf("got %v, %v, want a module or an error", m, err)
		}
	})
}
