//go:build gpu && linux && cgo

package gpu

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"rollcall/datasets/plan"
	"rollcall/nets"
	"rollcall/nets/cpu"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/kernels"
)

// Engine is the engine that trains all active clients of a round at once on an NVIDIA card. Everything it asks of the
// driver is asked by one thread; work is queued in one stream.
type Engine struct {
	model     *nets.Model
	layout    layout
	options   Options
	samples   [2]*plan.Samples
	parts     [2]partMemory
	thread    *driver.Thread
	device    *driver.Device
	card      driver.DeviceInfo
	stream    *driver.Stream
	functions map[string]*function
	modules   map[string]*driver.Module
	banks     map[*bank]bool
	programs  map[programKey]*program
	waves     map[waveKey]*wave
	arena     driver.Ptr // what the waves share
	arenaSize int64
	ring      ring
	staging   []byte   // pinned; the plan of a wave and its results
	limit     int      // most slots that memory was found for
	profile   *profile // nil: kernels are not timed
	capturing bool     // launches go into a graph
	guard     bool     // every buffer an allocation of its own, for memory checkers
}

// guardVariable set to "guard" gives every buffer an allocation of its own, so that memory checkers see what runs over.
const guardVariable = "ROLLCALL_GPU_ARENA"

// largestRoom bounds the slots of a wave: a grid has no more than 65,535 in y.
const largestRoom = 1 << 15

// Open opens a card for a model and a data set, which stays on the card. test may be nil if it is never evaluated on.
func Open(m *nets.Model, train, test *plan.Samples, o Options) (nets.Engine, error) {
	if o.Batch < 1 {
		return nil, fmt.Errorf("gpu: batch of %d samples, want at least 1", o.Batch)
	}
	if o.EvalBatch < 0 || o.MaxClients < 0 {
		return nil, fmt.Errorf("gpu: %d samples per evaluation, %d clients at once, want none below 0", o.EvalBatch,
			o.MaxClients)
	}
	if o.EvalBatch == 0 {
		o.EvalBatch = defaultEvalBatch
	}
	var err error
	if o.Precision, err = ParsePrecision(string(o.Precision)); err != nil {
		return nil, err
	}
	e := &Engine{
		model: m, layout: newLayout(m), options: o, samples: [2]*plan.Samples{train, test}, thread: driver.NewThread(),
		functions: map[string]*function{}, modules: map[string]*driver.Module{}, banks: map[*bank]bool{},
		programs: map[programKey]*program{}, waves: map[waveKey]*wave{}, limit: largestRoom,
		guard: os.Getenv(guardVariable) == "guard",
	}
	if o.MaxClients > 0 {
		e.limit = min(e.limit, o.MaxClients)
	}
	err = e.thread.Do(e.open)
	if err == nil {
		err = e.announce()
	}
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// announce tells what memory the rounds to come will take.
func (e *Engine) announce() error {
	o := e.options
	if o.Clients == 0 {
		return nil
	}
	samples, waves, err := e.estimate(min(o.Clients, e.limit), max(1, o.Steps))
	if err != nil {
		return err
	}
	line := fmt.Sprintf("gpu: takes %s of the card's %s with all %d clients at once; methods' rows come on top, "+
		"%s each",
		size(samples+waves), size(e.card.Memory), o.Clients, size(e.rowBytes()))
	e.notice(line, line)
	return nil
}

func (e *Engine) open() error {
	var err error
	if e.device, err = driver.Open(e.options.Device); err != nil {
		return err
	}
	e.card = e.device.Info()
	if e.stream, err = e.device.NewStream(); err != nil {
		return err
	}
	if err := e.ring.alloc(e.device, ringBytes); err != nil {
		return err
	}
	for i, s := range e.samples {
		if s == nil {
			continue
		}
		if err := e.model.Fits(s); err != nil {
			return err
		}
		if e.parts[i], err = e.upload(s); err != nil {
			return fmt.Errorf("gpu: %s on the card: %w", s.Name, err)
		}
	}
	return e.ready()
}

// upload puts samples on the card.
func (e *Engine) upload(s *plan.Samples) (partMemory, error) {
	var m partMemory
	var table []float32
	if s.Images != nil {
		table = cpu.NewNormal[float32](s.Mean, s.Std).Table()
	}
	for _, part := range []struct {
		at    *uint64
		bytes []byte
	}{
		{&m.images, s.Images},
		{&m.features, driver.Bytes(s.Features)},
		{&m.classes, s.Labels},
		{&m.table, driver.Bytes(table)},
	} {
		if len(part.bytes) == 0 {
			continue
		}
		p, err := e.device.Alloc(int64(len(part.bytes)))
		if err != nil {
			return m, err
		}
		*part.at = uint64(p)
		if err := e.device.CopyToDevice(p, part.bytes); err != nil {
			return m, err
		}
	}
	return m, nil
}

// do runs f on the thread that owns the card.
func (e *Engine) do(f func() error) error { return e.thread.Do(f) }

// Info implements [nets.Engine].
func (e *Engine) Info() nets.Info {
	engine, precision := engineOn(e.card.Capability()), string(e.options.Precision)
	return nets.Info{
		Engine: engine, Device: e.card.Name, Precision: precision, Params: e.model.P,
		Numerics: nets.Numerics(engine, precision), Revision: Revision,
	}
}

// Close implements [nets.Engine]. A second Close does nothing.
func (e *Engine) Close() error {
	err := e.do(func() error {
		if e.device == nil {
			return nil
		}
		var first error
		keep := func(err error) {
			first = cmp.Or(first, err)
		}
		if e.stream != nil {
			keep(e.stream.Synchronize())
		}
		keep(e.endProfile())
		keep(e.dropWaves())
		keep(e.ring.free(e.device))
		if e.staging != nil {
			keep(e.device.FreeHost(e.staging))
		}
		for b := range e.banks {
			keep(e.device.Free(b.base))
			b.base, b.rows = 0, 0
		}
		for _, p := range e.parts {
			for _, at := range []uint64{p.images, p.features, p.classes, p.table} {
				keep(e.device.Free(driver.Ptr(at)))
			}
		}
		for _, m := range e.modules {
			keep(m.Unload())
		}
		if e.stream != nil {
			keep(e.stream.Destroy())
		}
		keep(e.device.Close())
		if errors.Is(first, driver.ErrDeviceLost) {
			return nil // it has been reported, and there is nothing left to release
		}
		return first
	})
	e.thread.Close()
	if errors.Is(err, driver.ErrClosed) {
		return nil
	}
	return err
}

// function is a kernel and the dynamic shared memory it may use.
type function struct {
	*driver.Function
	shared int
}

// function returns a kernel, loading its module when it is first asked for.
func (e *Engine) function(name string) (*function, error) {
	if f := e.functions[name]; f != nil {
		return f, nil
	}
	source, ok := kernels.Find(name)
	if !ok {
		return nil, fmt.Errorf("gpu: kernel %s: in none of the modules", name)
	}
	m := e.modules[source.Name]
	if m == nil {
		var err error
		if m, err = e.device.LoadModule(source.Name, source.PTX); err != nil {
			return nil, err
		}
		e.modules[source.Name] = m
	}
	f, err := m.Function(name)
	if err != nil {
		return nil, err
	}
	e.functions[name] = &function{f, defaultShared - f.Attributes().Shared}
	return e.functions[name], nil
}

// defaultShared is the shared memory, static and dynamic, that a block may use without asking.
const defaultShared = 48 << 10

// launch queues a kernel for so many slots; the driver copies args.
func (e *Engine) launch(name string, g kernels.Geometry, slots int, args []byte) error {
	f, err := e.function(name)
	if err != nil {
		return err
	}
	if g.Shared > f.shared {
		if err := f.SetMaxDynamicShared(g.Shared); err != nil {
			return err
		}
		f.shared = g.Shared
	}
	return f.Launch([2]int{g.X, slots}, g.Threads, g.Shared, e.stream, args)
}

// notice tells the user something.
func (e *Engine) notice(key, line string) {
	if e.options.Notice != nil {
		e.options.Notice(key, line)
	}
}
