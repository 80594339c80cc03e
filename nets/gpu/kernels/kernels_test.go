package kernels

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/nets/gpu/ptx"
)

var declaration = regexp.MustCompile(`extern "C" __global__ void __launch_bounds__\([\w, ]+\) (\w+)\(const \w+ a\)`)

// Every source has PTX with all the kernels that it declares, and every kernel is in one module alone.
func TestModules(t *testing.T) {
	sources, err := filepath.Glob("*.cu")
	if err != nil || len(sources) == 0 {
		t.Fatalf("%d sources, %v", len(sources), err)
	}
	if len(sources) != len(modules()) {
		t.Errorf("%d modules for %d sources: make kernels", len(modules()), len(sources))
	}
	home := map[string]string{}
	for _, m := range modules() {
		text, err := os.ReadFile(m.Name + ".cu")
		if err != nil {
			t.Errorf("module %s: %v", m.Name, err)
			continue
		}
		for _, d := range declaration.FindAllStringSubmatch(string(text), -1) {
			if !slices.Contains(m.Kernels, d[1]) {
				t.Errorf("module %s lacks %s, which its source declares: make kernels", m.Name, d[1])
			}
		}
		for _, k := range m.Kernels {
			if home[k] != "" {
				t.Errorf("kernel %s is in %s and in %s", k, home[k], m.Name)
			}
			home[k] = m.Name
			if got, ok := Find(k); !ok || got.Name != m.Name {
				t.Errorf("Find(%s): got %q, %t, want %s", k, got.Name, ok, m.Name)
			}
		}
		if len(m.Kernels) == 0 {
			t.Errorf("module %s holds no kernel", m.Name)
		}
	}
	if m, ok := Find("conv"); ok {
		t.Errorf("Find(conv): got %s, want none: it is only part of a name", m.Name)
	}
}

// A module of one precision is whole: it has the kernels of that precision and those without a precision, in their
// order, each with the same instructions as in the whole module. Package ptx parses it, which refuses a line that it
// does not know and an array that is not declared.
func TestOnly(t *testing.T) {
	for _, m := range modules() {
		whole := must.Get(ptx.Parse(m.PTX))(t)
		for _, p := range []Precision{FP32, TF32, BF16} {
			only := m.Only(p)
			var want, got []string
			for _, k := range m.Kernels {
				if p == precisionOf(k) || !regexp.MustCompile("_(fp32|tf32|bf16)$").MatchString(k) {
					want = append(want, k)
				}
			}
			for _, k := range must.Get(ptx.Parse(only.PTX))(t).Kernels {
				got = append(got, k.Name)
				same := func(a, b ptx.Instruction) bool { return a.Text == b.Text }
				if w := whole.Kernel(k.Name); w == nil || w.Threads != k.Threads || w.Resident != k.Resident ||
					w.Shared != k.Shared || w.Params != k.Params || !slices.EqualFunc(k.Code, w.Code, same) {
					t.Errorf("%s in %s: kernel %s is not as in the whole module", m.Name, p, k.Name)
				}
			}
			if !slices.Equal(got, want) || !slices.Equal(only.Kernels, want) || only.Name != m.Name || len(want) == 0 {
				t.Errorf("%s in %s: kernels %v, listed as %v, want %v", m.Name, p, got, only.Kernels, want)
			}
		}
	}
}

// The PTX names no folder of the machine that made it, runs on every card from capability 8.0 on and on every driver
// from 12.0 on, and keeps all variables in registers.
func TestPTX(t *testing.T) {
	for _, m := range modules() {
		for _, want := range []string{
			"\n.version 7.8\n", "\n.target sm_80\n", "// " + m.Name + ".cu, compiled by clang ",
		} {
			if !strings.Contains(m.PTX, want) {
				t.Errorf("module %s: without %q", m.Name, want)
			}
		}
		for _, never := range []string{
			"__local_depot", ".local", "/home", "/tmp", "/usr", ".file", ".loc\t", ".extern .func", ".approx.f64",
		} {
			if at := strings.Index(m.PTX, never); at >= 0 {
				t.Errorf("module %s: %q at byte %d", m.Name, never, at)
			}
		}
	}
}
