//go:build gpu && linux && cgo

package gpu

import (
	"fmt"
	"math"

	"rollcall/nets/gpu/driver"
)

// ready loads the kernels of training and of evaluation, so that what this card cannot launch is told before anything
// is trained.
func (e *Engine) ready() error {
	for _, key := range []programKey{{train: true}, {}} {
		p, err := e.program(key)
		if err != nil {
			return err
		}
		if err := e.load(&wave{key: waveKey{programKey: key}, program: p}); err != nil {
			return err
		}
	}
	return nil
}

// load loads the kernels of a wave, which cannot be done while it is captured, and looks whether the card can launch
// them.
func (e *Engine) load(w *wave) error {
	for _, l := range append([]launch{e.rows(w)}, w.program.launches...) {
		f, err := e.function(l.kernel)
		if err != nil {
			return err
		}
		if err := fits(l, f.Attributes(), e.card); err != nil {
			return err
		}
	}
	return nil
}

// fits reports in one line what a launch needs that a card does not have.
func fits(l launch, a driver.Attributes, card driver.DeviceInfo) error {
	g := l.geometry
	switch shared := g.Shared + a.Shared; {
	case shared > card.SharedPerBlock:
		return fmt.Errorf("gpu: %s of %s: a block takes %s of shared memory, %s has %s", l.kernel, l.layer,
			bytesOf(shared), card.Name, bytesOf(card.SharedPerBlock))
	case g.Threads > a.MaxThreads:
		return fmt.Errorf("gpu: %s of %s: a block has %d threads of %d registers, %s takes %d such threads", l.kernel,
			l.layer, g.Threads, a.Registers, card.Name, a.MaxThreads)
	case g.X > math.MaxInt32:
		return fmt.Errorf("gpu: %s of %s: %d blocks for a slot, a card takes %d", l.kernel, l.layer, g.X, math.MaxInt32)
	}
	return nil
}

// bytesOf writes an amount of shared memory, to the byte where it is not whole KiB.
func bytesOf(n int) string {
	if n%1024 != 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return size(int64(n))
}
