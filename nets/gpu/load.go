//go:build gpu && linux && cgo

package gpu

import (
	"fmt"
	"math"
	"slices"
	"time"

	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/kernels"
)

// ready loads all kernels that rounds, evaluations and rows take. A card that cannot launch them is thus refused when
// it is opened, before a round has been trained.
func (e *Engine) ready() error {
	n := uint32(e.layout.P)
	combine, dot := kernels.CombineArgs{P: n}, kernels.DotArgs{N: n}
	all := []launch{
		{kernel: "combine", layer: "rows", geometry: always(combine.Launch().Geometry)},
		{kernel: "dot", layer: "rows", geometry: always(dot.Launch().Geometry)},
	}
	for _, key := range []programKey{{train: true}, {train: true, clip: true}, {}} {
		p, err := e.program(key)
		if err != nil {
			return err
		}
		all = append(all, p.all()...)
	}
	return e.load(all)
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
	p.weights = weightsLaunch(key, p.rows, e.layout.P, e.options.Precision)
	e.programs[key] = p
	return p, nil
}

// load loads the kernels of launches, checks that the card can launch them, and makes the driver grant them their
// shared memory.
func (e *Engine) load(launches []launch) error {
	if err := e.compile(launches); err != nil {
		return err
	}
	for _, l := range launches {
		f, err := e.function(l.kernel)
		if err != nil {
			return err
		}
		if err := fits(l, f.Attributes(), e.card); err != nil {
			return err
		}
		if err := f.grant(l.geometry(1).Shared); err != nil {
			return err
		}
	}
	return nil
}

// patience is how long the driver may compile before the user is told. A driver that has kept the compiled kernels of
// an earlier start takes less.
const patience = time.Second

// compile loads the modules of launches that are not loaded yet, and finds their kernels, many at once. Of each the
// driver gets only the kernels of the engine's precision, since it compiles all that it gets.
func (e *Engine) compile(launches []launch) error {
	var sources []driver.Source
	for _, l := range launches {
		m, ok := kernels.Find(l.kernel)
		if !ok {
			return fmt.Errorf("gpu: kernel %s: in none of the modules", l.kernel)
		}
		if e.modules[m.Name] != nil {
			continue
		}
		at := slices.IndexFunc(sources, func(s driver.Source) bool { return s.Name == m.Name })
		if at < 0 {
			at = len(sources)
			sources = append(sources, driver.Source{Name: m.Name, PTX: m.Only(e.options.Precision).PTX})
		}
		sources[at].Kernels = append(sources[at].Kernels, l.kernel)
	}
	if len(sources) == 0 {
		return nil
	}
	var loaded []*driver.Module
	done := make(chan error, 1)
	go func() {
		var err error
		loaded, err = e.device.LoadModules(sources)
		done <- err
	}()
	var err error
	select {
	case err = <-done:
	case <-time.After(patience):
		line := fmt.Sprintf("gpu: compiling %s kernels for sm_%d; the driver keeps them for the next start",
			e.options.Precision, e.card.Arch())
		e.notice(line, line)
		err = <-done
	}
	for i, m := range loaded {
		if m != nil {
			e.modules[sources[i].Name] = m
		}
	}
	return err
}

// function returns a kernel of a module that is loaded.
func (e *Engine) function(name string) (*function, error) {
	if f := e.functions[name]; f != nil {
		return f, nil
	}
	source, _ := kernels.Find(name)
	m := e.modules[source.Name]
	if m == nil {
		return nil, fmt.Errorf("gpu: kernel %s: not loaded", name)
	}
	f, err := m.Function(name)
	if err != nil {
		return nil, err
	}
	if e.carveout != driver.DriverCarveout {
		if err := f.SetCarveout(e.carveout); err != nil {
			return nil, err
		}
	}
	e.functions[name] = &function{f, defaultShared - f.Attributes().Shared}
	return e.functions[name], nil
}

// grant makes the driver grant a block of the kernel so many bytes of dynamic shared memory.
func (f *function) grant(bytes int) error {
	if bytes <= f.shared {
		return nil
	}
	if err := f.SetMaxDynamicShared(bytes); err != nil {
		return err
	}
	f.shared = bytes
	return nil
}

// fits returns an error of one line if a card cannot run a launch. It says how much of what the launch needs, and how
// much the card has. Without it a failure would only name the launch.
func fits(l launch, a driver.Attributes, card driver.DeviceInfo) error {
	g := l.geometry(1) // a slot has the most blocks where it is alone
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
