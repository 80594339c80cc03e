package sass

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// assemblers returns the assemblers that the cache has. A test does not download them: `make check-ptx` does.
func assemblers(t *testing.T) []*Assembler {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, w := range []Wheel{oldest, newest, disassembler} {
		if _, err := Fetch(ctx, w); err != nil {
			t.Skip("left out: make check-ptx gets NVIDIA's assemblers: ", err)
		}
	}
	all, err := Assemblers(t.Context())
	if errors.Is(err, ErrUnavailable) {
		t.Skip("left out: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func ptxOf(t *testing.T, module string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "kernels", "ptx", module+".ptx"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every instruction of a real kernel comes from a line of the PTX that has an instruction, of the same kernel, and each
// store of the PTX has one.
func TestAssemble(t *testing.T) {
	ptx := ptxOf(t, "relu")
	lines := strings.Split(ptx, "\n")
	for _, a := range assemblers(t) {
		kernels, err := a.Assemble(t.Context(), "sm_90", "relu", ptx)
		if err != nil {
			t.Fatal(err)
		}
		if len(kernels) != 3 || kernels[0].Name != "relu_backward_fp32" || kernels[2].Name != "relu_backward_bf16" {
			t.Fatalf("CUDA %s: got %d kernels, the first %s, want the three of the text",
				a.Release, len(kernels), kernels[0].Name)
		}
		for _, k := range kernels {
			begin := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, ".entry "+k.Name+"(") })
			end := begin + slices.Index(lines[begin:], "}")
			stored := map[int]bool{}
			for _, i := range k.Code {
				if i.Line != 0 && (i.Line <= begin || i.Line > end || !instruction.MatchString(lines[i.Line-1])) {
					t.Fatalf("%s: %s comes from line %d, no instruction of the kernel", k.Name, i.Opcode, i.Line)
				}
				if i.Is("ST", "STG") {
					stored[i.Line] = true
				}
			}
			for at := begin; at < end; at++ {
				if strings.Contains(lines[at], "st.global") && !stored[at+1] {
					t.Errorf("%s: line %d stores, but no machine code from it", k.Name, at+1)
				}
			}
		}
	}
}

// A kernel that may have too few registers spills, and is refused; so is what the assembler does not know.
func TestAssembleRefuses(t *testing.T) {
	a := assemblers(t)[1]
	crowded := strings.Replace(ptxOf(t, "linear_forward"), ".minnctapersm 3", ".minnctapersm 6", 1)
	kernels, err := a.Assemble(t.Context(), "sm_90", "linear_forward", crowded)
	if err != nil {
		t.Fatal(err)
	}
	if err := (Table{}).Add("sm_90", kernels[0]); err == nil || !strings.Contains(err.Error(), "local memory") {
		t.Errorf("six blocks on a multiprocessor: got %v, want an error about local memory", err)
	}
	wrong := strings.Replace(ptxOf(t, "relu"), "ld.global.u32", "ld.globe.u32", 1)
	_, err = a.Assemble(t.Context(), "sm_90", "relu", wrong)
	if err == nil || !strings.Contains(err.Error(), "relu: CUDA 13.5, sm_90: ptxas") {
		t.Errorf("ld.globe: got %v, want what ptxas says", err)
	}
}

// answers answers every request with a status and a text, in place of the network.
type answers struct {
	status int
	text   string
}

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Body: io.NopCloser(strings.NewReader(a.text))}, nil
}

// Only the pinned file is taken. An error says whether there is none, or another one.
func TestFetchRefuses(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("left out: nothing is fetched on " + runtime.GOOS + "/" + runtime.GOARCH)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	network := http.DefaultTransport
	t.Cleanup(func() { http.DefaultTransport = network })
	for _, c := range []struct {
		answer      answers
		unavailable bool
		says        string
	}{
		{answers{http.StatusNotFound, ""}, true, "cannot be had"},
		{answers{http.StatusOK, "another file"}, false, "SHA-256"},
	} {
		http.DefaultTransport = c.answer
		_, err := Fetch(t.Context(), disassembler)
		if err == nil || errors.Is(err, ErrUnavailable) != c.unavailable || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: got %v, want an error that says %q", c.answer, err, c.says)
		}
	}
}
