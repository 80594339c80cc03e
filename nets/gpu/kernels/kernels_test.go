package kernels

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var declaration = regexp.MustCompile(`extern "C" __global__ void __launch_bounds__\(\w+\) (\w+)\(const \w+ a\)`)

// Every source has its PTX, with the kernels it declares by name, and every name leads to one module.
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

// PTX names no place of the machine it was made on, runs on every card from capability 8.0 on and on every driver from
// 12.0 on, and keeps all variables in registers.
func TestPTX(t *testing.T) {
	for _, m := range modules() {
		for _, want := range []string{"\n.version 7.8\n", "\n.target sm_80\n", "// " + m.Name +
			".cu, compiled by clang "} {
			if !strings.Contains(m.PTX, want) {
				t.Errorf("module %s: without %q", m.Name, want)
			}
		}
		for _, never := range []string{
			"__local_depot", ".local", "/home", "/tmp", "/usr", ".file", ".loc\t",
			".extern .func", ".approx.f64",
		} {
			if at := strings.Index(m.PTX, never); at >= 0 {
				t.Errorf("module %s: %q at byte %d", m.Name, never, at)
			}
		}
	}
}

// A launch covers every element, and never has an empty grid.
func TestRowGeometry(t *testing.T) {
	for _, n := range []uint32{1, 63, 64, 1023, 1024, 1025, 4095, 4096, 4097, 551786} {
		for name, c := range map[string]struct {
			g    Launch
			each int // elements of a block
		}{
			"relu_backward": {(&ReLUArgs{N: n}).Launch(FP32), 1024},
			"dropout":       {(&DropoutArgs{N: n}).Launch(FP32), 1024},
			"begin":         {(&RowsArgs{P: n}).Begin(FP32), 1024},
			"combine":       {(&CombineArgs{P: n}).Launch(), 1024},
			"sgd":           {(&SGDArgs{N: n}).Launch(FP32), 1024},
			"track":         {(&SGDArgs{P: n + 64, N: 64}).Running(FP32), 1024},
			"average_pool":  {(&AverageArgs{B: 1, C: n}).Launch(FP32), 1024},
			"sum_squares":   {(&SumSquaresArgs{N: n}).Launch(), 4096},
			"grad_squares":  {(&ClipArgs{N: n}).Squares(FP32), 4096},
			"gather":        {(&GatherArgs{B: 1, H: 1, W: n, C: 1}).Launch(FP32), 4096},
			"conv_reduce":   {(&ConvReduceArgs{N: n, O: 0}).Launch(FP32), 512},
		} {
			if covered := c.g.X * c.each; covered < int(n) || covered-c.each >= int(n) || c.g.Threads%32 != 0 {
				t.Errorf("%s of %d elements: %+v, %d elements a block: covers %d", name, n, c.g, c.each, covered)
			}
		}
	}
	for _, c := range []struct {
		a    GatherArgs
		want int
	}{{GatherArgs{Images: 1, C: 3}, 3072}, {GatherArgs{Images: 1, C: 33}, 0}, {GatherArgs{C: 3}, 0}} {
		if got := c.a.Launch(FP32).Shared; got != c.want {
			t.Errorf("gather of %d channels, images %t: %d bytes of shared memory, want %d", c.a.C, c.a.Images != 0,
				got, c.want)
		}
	}
}
