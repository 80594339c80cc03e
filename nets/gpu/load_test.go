//go:build gpu && linux && cgo

package gpu

import (
	"fmt"
	"testing"

	"rollcall/nets"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/kernels"
)

// A launch that is too large for a card is an error of one line, with the kernel, what it needs and what the card has.
func TestFits(t *testing.T) {
	card := driver.DeviceInfo{Name: "Small Card", SharedPerBlock: 99 << 10}
	few := driver.Attributes{Registers: 40, MaxThreads: 1024, Shared: 1 << 10}
	for _, c := range []struct {
		g    kernels.Geometry
		a    driver.Attributes
		want string
	}{
		{kernels.Geometry{X: 1, Threads: 128, Shared: 98 << 10}, few, ""},
		{
			kernels.Geometry{X: 1, Threads: 128, Shared: 98<<10 + 4},
			few,
			"gpu: k_tf32 of conv1: a block takes 101380 bytes of shared memory, Small Card has 99 KiB",
		},
		{
			kernels.Geometry{X: 1, Threads: 128, Shared: 111 << 10},
			few,
			"gpu: k_tf32 of conv1: a block takes 112 KiB of shared memory, Small Card has 99 KiB",
		},
		{
			kernels.Geometry{X: 1, Threads: 512},
			driver.Attributes{Registers: 200, MaxThreads: 320},
			"gpu: k_tf32 of conv1: a block has 512 threads of 200 registers, Small Card takes 320 such threads",
		},
		{
			kernels.Geometry{X: 1 << 31, Threads: 128},
			few,
			"gpu: k_tf32 of conv1: 2147483648 blocks for a slot, a card takes 2147483647",
		},
	} {
		got := ""
		if err := fits(launch{kernel: "k_tf32", layer: "conv1", geometry: c.g}, c.a, card); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%+v %+v: %q, want %q", c.g, c.a, got, c.want)
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
		if l.geometry.Shared > 40<<10 {
			want = fmt.Sprintf("gpu: %s of %s: a block takes %s of shared memory, %s has 40 KiB",
				l.kernel, l.layer, driver.Size(int64(l.geometry.Shared)), g.card.Name)
			break
		}
	}
	b := must(g.NewBank(1))(t)
	row := nets.Row{Bank: b}
	_, err := g.Train(t.Context(), nets.LocalWork{
		LR:      1,
		Clients: []nets.ClientWork{{Start: row, End: row, Plan: planOf(0, 1, 4, 4)}},
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
