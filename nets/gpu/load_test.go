//go:build gpu && linux && cgo

package gpu

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/gpu/crowd"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/gputest"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/models"
)

// A launch that is too large for a card is an error of one line, with the kernel, what it needs and what the card has.
func TestFits(t *testing.T) {
	card := driver.DeviceInfo{Name: "Small Card", SharedPerBlock: 99 << 10}
	const shared = "a block takes %s of shared memory, Small Card has 99 KiB"
	for _, c := range []struct {
		blocks, threads, dynamic int
		most                     int // threads of a block, as the compiled kernel has registers
		want                     string
	}{
		{1, 128, 98 << 10, 1024, ""},
		{1, 128, 98<<10 + 4, 1024, fmt.Sprintf(shared, "101380 bytes")},
		{1, 128, 111 << 10, 1024, fmt.Sprintf(shared, "112 KiB")},
		{1, 512, 0, 320, "a block has 512 threads of 40 registers, Small Card takes 320 such threads"},
		{1 << 31, 128, 0, 1024, "2147483648 blocks for a slot, a card takes 2147483647"},
	} {
		g := kernels.Geometry{X: c.blocks, Threads: c.threads, Shared: c.dynamic}
		a := driver.Attributes{Registers: 40, MaxThreads: c.most, Shared: 1 << 10}
		err := fits(launch{kernel: "k_tf32", layer: "conv1", geometry: always(g)}, a, card)
		if c.want == "" && err != nil || c.want != "" && fmt.Sprint(err) != "gpu: k_tf32 of conv1: "+c.want {
			t.Errorf("%+v %+v: %v, want %q", g, a, err, c.want)
		}
	}
}

// A card with too little shared memory is refused when an engine is opened, and again when a wave is made.
func TestRefused(t *testing.T) {
	g, _, _ := both(t, "lenet5", 4, Options{})
	if info := g.device.Info(); g.card != info || info.SharedPerBlock < 99<<10 {
		t.Fatalf("%+v, want what the device says, %+v", g.card, info)
	}
	g.card.SharedPerBlock = 40 << 10
	want := ""
	for _, l := range g.programs[programKey{train: true}].launches {
		if l.geometry(1).Shared > 40<<10 {
			want = fmt.Sprintf("gpu: %s of %s: a block takes %s of shared memory, %s has 40 KiB",
				l.kernel, l.layer, driver.Size(int64(l.geometry(1).Shared)), g.card.Name)
			break
		}
	}
	b := must.Get(g.NewBank(1))(t)
	row := nets.Row{Bank: b}
	_, err := g.Train(t.Context(), nets.LocalWork{
		LR:      1,
		Clients: []nets.ClientWork{{Start: row, End: row, Plan: crowd.Plan(0, 1, 4, 4)}},
	})
	for what, err := range map[string]error{"opened": g.do(g.ready), "trained": err} {
		if err == nil || want == "" || err.Error() != want {
			t.Errorf("%s: error %v, want %s", what, err, want)
		}
	}
	if len(g.waves) != 0 {
		t.Errorf("%d waves of a card that is refused, want none", len(g.waves))
	}
}

// A driver that takes long to compile is told of once, and compiles the modules at the same time, be it when it loads
// them or when it finds their kernels. The kernels of all programs are loaded when the engine is open, and of the other
// precisions none.
func TestCompile(t *testing.T) {
	const module, kernel = 800 * time.Millisecond, 400 * time.Millisecond // a net of this size takes eight and more
	slow := os.Getenv(faulty)
	if slow == "" {
		child(t, t.Name(), "load", fmt.Sprint("ROLLCALL_EMULATOR_SLOW_JIT=", module.Milliseconds()))
		child(t, t.Name(), "find", fmt.Sprint("ROLLCALL_EMULATOR_SLOW_FIND=", kernel.Milliseconds()))
		return
	}
	m := must.Get(models.New("lenet5"))(t)
	var notices []string
	o := Options{Batch: 2, Precision: BF16, Notice: func(_, line string) { notices = append(notices, line) }}
	started := time.Now()
	g := must.Get(openEngine(m, crowd.Samples(m, crowd.TrainSamples, 1), nil, o))(t)
	defer func() { must.OK(t, g.Close()) }()
	took := time.Since(started)
	one := time.Duration(len(g.modules)) * module
	if slow == "find" {
		one = time.Duration(len(g.functions)) * kernel
	}
	if len(g.modules) < 8 || runtime.NumCPU() > 1 && took > one*3/4 {
		t.Errorf("%d modules and %d kernels took %v, want 8 modules or more, and less than in turn, %v",
			len(g.modules), len(g.functions), took, one)
	}
	if want := []string{
		"gpu: compiling bf16 kernels for sm_90; the driver keeps them for the next start",
	}; !slices.Equal(notices, want) {
		t.Errorf("notices %q, want %q", notices, want)
	}
	must.OK(t, g.do(func() error {
		if _, err := g.modules["gather"].Function("gather_bf16"); err != nil {
			t.Error(err)
		}
		if _, err := g.modules["gather"].Function("gather_tf32"); err == nil {
			t.Error("gather_tf32 was compiled for an engine of bf16")
		}
		return nil
	}))
	modules, clip := len(g.modules), 1.5
	newRound(t, g, m, 1, 2, &clip).train(t)
	if len(g.modules) != modules || len(notices) != 1 {
		t.Errorf("%d modules and notices %q after a round with clipping, want %d modules and 1 notice",
			len(g.modules), notices, modules)
	}
}

// Every kernel has the carveout that the environment names, and the driver's own if it names none.
func TestCarveout(t *testing.T) {
	m := must.Get(models.New("linear-binary"))(t)
	open := func(text string) (*Engine, error) {
		t.Setenv(carveoutVariable, text)
		return openEngine(m, crowd.Samples(m, crowd.TrainSamples, 1), nil, Options{Batch: 2})
	}
	gputest.Need(t, "kernels")
	for text, want := range map[string]int{"": driver.DriverCarveout, "0": 0, "37": 37, "100": 100} {
		g := must.Get(open(text))(t)
		if len(g.functions) < 4 {
			t.Errorf("carveout %q: %d kernels, want 4 or more", text, len(g.functions))
		}
		for name, f := range g.functions {
			if got := f.Attributes().Carveout; got != want {
				t.Errorf("carveout %q: %s has %d, want %d", text, name, got, want)
			}
		}
		must.OK(t, g.Close())
	}
	for _, text := range []string{"-1", "101", "50%", "half"} {
		_, err := open(text)
		want := fmt.Sprintf("gpu: ROLLCALL_GPU_CARVEOUT is %q, want 0 to 100, the percent of shared memory", text)
		if err == nil || err.Error() != want {
			t.Errorf("carveout %q: error %v, want %s", text, err, want)
		}
	}
}

// Of more waves than an engine keeps, those are dropped that were used longest ago.
func TestLeastRecentlyUsed(t *testing.T) {
	g, _, m := both(t, "linear-mnist", 2, Options{})
	b := must.Get(g.NewBank(2))(t)
	must.OK(t, g.Load(nets.Row{Bank: b}, m.Init(models.Kaiming, 1)))
	train := func(steps int) {
		must.Get(g.Train(t.Context(), nets.LocalWork{LR: 1, Clients: []nets.ClientWork{{
			Start: nets.Row{Bank: b}, End: nets.Row{Bank: b, Index: 1}, Plan: crowd.Plan(0, steps, 2, 2),
		}}}))(t)
	}
	wave := func(steps int) *wave {
		return g.waves[waveKey{programKey: programKey{train: true}, capacity: 8, steps: steps}]
	}
	const most = mostWaves + 1
	for steps := most; steps > 1; steps-- { // downwards, since an arena that grows drops all waves
		train(steps)
	}
	oldest := wave(most)
	train(most)
	train(1)
	if oldest == nil || wave(most) != oldest || wave(most-1) != nil || wave(most-2) == nil || wave(1) == nil ||
		len(g.waves) != mostWaves {
		t.Errorf("%d waves, want %d: all but the one of %d steps, which was used longest ago",
			len(g.waves), mostWaves, most-1)
	}
}

// The container keeps what the driver has compiled in its volume, where the data sets are, and not in the image.
func TestContainerKeepsKernels(t *testing.T) {
	text := string(must.Get(os.ReadFile("../../Dockerfile.cuda"))(t))
	folder := func(variable string) string {
		m := regexp.MustCompile(variable + `=(\S+)`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no %s in Dockerfile.cuda", variable)
		}
		return m[1]
	}
	if data, kept := folder("ROLLCALL_DATA"), folder("CUDA_CACHE_PATH"); !strings.HasPrefix(kept, data+"/") {
		t.Errorf("kernels are kept in %s, want a folder of the volume %s", kept, data)
	}
}
