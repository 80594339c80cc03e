package emulator

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"rollcall/internal/must"
)

// In a Go process with cgo that uses the library, with AddressSanitizer's runtime or without, the garbage collector,
// signals and nil dereferences work as in any other.
func TestGoProcess(t *testing.T) {
	for _, tool := range []string{"g++", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("left out: %v", err)
		}
	}
	path := filepath.Join(t.TempDir(), "goprocess")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./testdata/goprocess")
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct {
		name, arg string
		asan, ok  bool
		want      string
	}{
		{"plain", "run", false, true, "^recovered: true sum: 200\n$"},
		{"asan", "run", true, true, "^recovered: true sum: 200\n$"},
		{"asan overrun", "overrun", true, false, `heap-buffer-overflow(?s:.*)in add \S*memory.cu:\d+`},
	} {
		t.Run(c.name, func(t *testing.T) {
			build := plain
			if c.asan {
				build = sanitized
			}
			lib := must.Get(build())(t)
			cmd := exec.CommandContext(t.Context(), path, c.arg)
			cmd.Env = append(os.Environ(), Env(lib, c.asan)...)
			out, err := cmd.CombinedOutput()
			if (err == nil) != c.ok || !regexp.MustCompile(c.want).Match(out) {
				t.Errorf("error %v, got %s\nwant success %v and a text that matches %q", err, out, c.ok, c.want)
			}
		})
	}
}
