package sass

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
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
	text := must.Get(os.ReadFile(filepath.Join("..", "kernels", "ptx", module+".ptx")))(t)
	return string(text)
}

// Every instruction of a real kernel comes from a line of the PTX that has an instruction, of the same kernel, and each
// store of the PTX has one.
func TestAssemble(t *testing.T) {
	ptx := ptxOf(t, "relu")
	lines := strings.Split(ptx, "\n")
	for _, a := range assemblers(t) {
		kernels := must.Get(a.Assemble(t.Context(), "sm_90", "relu", ptx))(t)
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
	kernels := must.Get(a.Assemble(t.Context(), "sm_90", "linear_forward", crowded))(t)
	if err := (Table{}).Add("sm_90", kernels[0]); err == nil || !strings.Contains(err.Error(), "local memory") {
		t.Errorf("six blocks on a multiprocessor: got %v, want an error about local memory", err)
	}
	wrong := strings.Replace(ptxOf(t, "relu"), "ld.global.u32", "ld.globe.u32", 1)
	_, err := a.Assemble(t.Context(), "sm_90", "relu", wrong)
	if err == nil || !strings.Contains(err.Error(), "relu: CUDA 13.5, sm_90: ptxas") {
		t.Errorf("ld.globe: got %v, want what ptxas says", err)
	}
}

// A pinned file is refused where it is another one, and where the address is wrong. Where there is no answer it cannot
// be had; where the user stops, it is neither.
func TestFetchRefuses(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("left out: nothing is fetched on " + runtime.GOOS + "/" + runtime.GOARCH)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gone":
			w.WriteHeader(http.StatusNotFound)
		case "/busy":
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			_, _ = w.Write([]byte("not a wheel"))
		}
	}))
	defer server.Close()
	for path, unavailable := range map[string]bool{"/gone": false, "/busy": true} {
		_, err := download(t.Context(), server.URL+path)
		if err == nil || errors.Is(err, ErrUnavailable) != unavailable {
			t.Errorf("%s: got %v, want an error, unavailable: %t", path, err, unavailable)
		}
	}
	w := Wheel{Name: "other", SHA256: disassembler.SHA256, Member: "bin/other"}
	if _, err := fetch(t.Context(), w, server.URL+"/other"); err == nil || !strings.Contains(err.Error(), "SHA-256") {
		t.Errorf("another file: got %v, want its checksum", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Fetch(ctx, disassembler); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnavailable) {
		t.Errorf("stopped: got %v, want context.Canceled", err)
	}
	server.Close()
	if _, err := download(t.Context(), server.URL+"/other"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("no server: got %v, want ErrUnavailable", err)
	}
}
