package emulator

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
)

func TestKernelNames(t *testing.T) {
	const mark = `__attribute__((used, noinline))`
	for _, c := range []struct {
		name, text, want, err string
	}{
		{"plain", "extern \"C\" " + mark + " void f(const A a) {}", "f", ""},
		{"lines", "extern \"C\"\n# 3 \"x.cu\"\n " + mark + "  void\n f (const A a);\nextern \"C\" " + mark +
			" void g(const A a) {}", "f,g", ""},
		{
			"declared twice", "extern \"C\" " + mark + " void f(const A);extern \"C\" " + mark +
				" void f(const A a) {}",
			"f", "",
		},
		{
			"not extern", mark + " void f(const A a) {}", "",
			`emulator: x.cu: 1 times __global__, 0 of them as extern "C" __global__ void name(const Args a)`,
		},
		{"none", "int x;", "", "emulator: x.cu: no kernel"},
	} {
		t.Run(c.name, func(t *testing.T) {
			names, err := kernelNames("x.cu", []byte(c.text))
			if got := strings.Join(names, ","); got != c.want || (err == nil) != (c.err == "") ||
				err != nil && err.Error() != c.err {
				t.Errorf("got %q, %v, want %q, %s", got, err, c.want, c.err)
			}
		})
	}
}

// Build fails with an error that says why: a folder has no kernels, a kernel uses plain __shared__, there is no
// compiler.
func TestBuildErrors(t *testing.T) {
	if _, err := Build(t.TempDir(), false); err == nil || !strings.Contains(err.Error(), "no .cu file") {
		t.Errorf("empty folder: got %v, want: no .cu file", err)
	}
	dir := t.TempDir()
	prelude := must.Get(filepath.Abs("../kernels/prelude.cuh"))(t)
	text := "#include \"" + prelude + "\"\nstruct A { int n; " +
		"};\nextern \"C\" __global__ void f(const A a) { __shared__ float x[4]; x[0] = 0; }\n"
	must.OK(t, os.WriteFile(filepath.Join(dir, "f.cu"), []byte(text), 0o644))
	if _, err := Build(dir, false); err == nil ||
		!strings.Contains(err.Error(), "__shared__: write SHARED(type, name, [dims])") {
		t.Errorf("__shared__: got %v, want the advice to write SHARED", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Build("testdata", false); err == nil ||
		!strings.HasPrefix(err.Error(), "emulator: no g++ to build it with: ") {
		t.Errorf("no compiler: got %v", err)
	}
}

// A second Build of the same sources compiles nothing. Libraries with and without AddressSanitizer have different
// names.
func TestBuildCache(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skipf("left out: %v", err)
	}
	first := must.Get(plain())(t)
	before := must.Get(os.Stat(first))(t)
	again := must.Get(Build("testdata", false))(t)
	after := must.Get(os.Stat(again))(t)
	if again != first || !os.SameFile(before, after) {
		t.Errorf("got another library, %s after %s", again, first)
	}
	asan := must.Get(sanitized())(t)
	if asan == first || slices.Contains(Env(first, false), "ROLLCALL_LIBCUDA="+asan) {
		t.Errorf("the instrumented library is %s, as the plain one", asan)
	}
}
