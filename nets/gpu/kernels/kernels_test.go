package kernels

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
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

// outside are the lines that may stand outside of kernels: they hold for every kernel of the file.
var outside = regexp.MustCompile(`^(|//.*|\.version 7\.8|\.target sm_80|\.address_size 64|` +
	`(\.extern )?\.shared \.align \d+ \.b8 \w+\[\d*\];|\.visible \.const \.align 1 \.u8 \w+;)$`)

// A module of one precision is whole: it has the lines of that precision's kernels and of those without a precision,
// in their order, the lines that all kernels share, and no line more.
func TestOnly(t *testing.T) {
	for _, m := range modules() {
		for _, p := range []Precision{FP32, TF32, BF16} {
			only := m.Only(p)
			var want, got []string
			for _, k := range m.Kernels {
				if p == precisionOf(k) || !regexp.MustCompile("_(fp32|tf32|bf16)$").MatchString(k) {
					want = append(want, k)
				}
			}
			for _, e := range entry.FindAllStringSubmatch(only.PTX, -1) {
				got = append(got, e[1])
			}
			if !slices.Equal(got, want) || !slices.Equal(only.Kernels, want) || only.Name != m.Name || len(want) == 0 {
				t.Errorf("%s in %s: kernels %v, listed as %v, want %v", m.Name, p, got, only.Kernels, want)
			}
			common, bodies := divide(t, m.PTX)
			for _, k := range m.Kernels {
				if !slices.Contains(want, k) {
					delete(bodies, k)
				}
			}
			onlyCommon, onlyBodies := divide(t, only.PTX)
			if !slices.Equal(onlyCommon, common) {
				t.Errorf("%s in %s: shared lines\n%s\nwant\n%s", m.Name, p, strings.Join(onlyCommon, "\n"),
					strings.Join(common, "\n"))
			}
			if !maps.Equal(onlyBodies, bodies) {
				t.Errorf("%s in %s: a kernel is not as in the whole module", m.Name, p)
			}
		}
	}
}

// divide divides PTX into the lines that stand outside of kernels, without comments, and the text of every kernel. It
// fails for a line that it does not know outside of a kernel, and for braces that do not match.
func divide(t *testing.T, ptx string) (lines []string, bodies map[string]string) {
	t.Helper()
	bodies = map[string]string{}
	name, depth, begin, end := "", 0, 0, 0 // of the kernel, in bytes
	for line := range strings.Lines(ptx) {
		end += len(line)
		code, _, _ := strings.Cut(line, "//")
		code = strings.TrimSpace(code)
		if e := entry.FindStringSubmatch(line); e != nil {
			if name != "" {
				t.Errorf("%s begins within %s", e[1], name)
			}
			name, begin = e[1], end-len(line)
		}
		if name == "" {
			if !outside.MatchString(code) {
				t.Errorf("%q outside of kernels", code)
			}
			if code != "" {
				lines = append(lines, code)
			}
			continue
		}
		depth += strings.Count(code, "{") - strings.Count(code, "}")
		if strings.HasPrefix(line, "}") {
			if depth != 0 {
				t.Errorf("%s: %d braces are open at its end", name, depth)
			}
			bodies[name] = ptx[begin:end]
			name, depth = "", 0
		}
	}
	if name != "" {
		t.Errorf("%s has no end", name)
	}
	return lines, bodies
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
