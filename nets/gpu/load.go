//go:build gpu && linux && cgo

package gpu

import (
	"fmt"
	"math"

	"rollcall/nets/gpu/driver"
)

// ready loads the kernels of training and of evaluation, so that a card that cannot launch them is refused when it is
// opened, before a round has been trained.
func (e *Engine) ready() error {
	for _, key := range []programKey{{train: true}, {}} {
		p, err := e.program(key)
		if err != nil {
			return err
		}
		if err := e.load(p); err != nil {
			return err
		}
	}
	return nil
}

// program returns the program of a key. The first call for a key lowers the net's graph.
func (e *Engine) program(key programKey) (*program, error) {
	if p := e.programs[key]; p != nil {
		return p, nil
	}
	batch := e.options.EvalBatch
	if key.train {
		batch = e.options.Batch
	}
	p, err := lower(e.model, e.layout, e.options.Precision, batch, key.train, key.clip)
	if err != nil {
		return nil, err
	}
	p.weights = weightsLaunch(key, e.layout.P, e.options.Precision)
	e.programs[key] = p
	return p, nil
}

// load loads the kernels of a program, which is impossible while a graph is captured, and checks that the card can
// launch them.
func (e *Engine) load(p *program) error {
	for _, l := range append([]launch{p.weights}, p.launches...) {
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

// fits returns an error of one line if a card cannot run a launch. It says how much of what the launch needs, and how
// much the card has. Without it a failure would only name the launch.
func fits(l launch, a driver.Attributes, card driver.DeviceInfo) error {
	g := l.geometry
	switch shared := g.Shared + a.Shared; {
	case shared > card.SharedPerBlock:
		return fmt.Errorf("gpu: %s of %s: a block takes %s of shared memory, %s has %s",
			l.kernel, l.layer, driver.Size(int64(shared)), card.Name, driver.Size(int64(card.SharedPerBlock)))
	case g.Threads > a.MaxThreads:
		return fmt.Errorf("gpu: %s of %s: a block has %d threads of %d registers, %s takes %d such threads",
			l.kernel, l.layer, g.Threads, a.Registers, card.Name, a.MaxThreads)
	case g.X > math.MaxInt32:
		return fmt.Errorf("gpu: %s of %s: %d blocks for a slot, a card takes %d", l.kernel, l.layer, g.X, math.MaxInt32)
	}
	return nil
}
