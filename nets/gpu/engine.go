//go:build gpu && linux && cgo

package gpu

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"

	"rollcall/datasets/plan"
	"rollcall/nets"
	cpu "rollcall/nets/cpu/kernels"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/models"
)

// Engine trains all active clients of a round at once on an NVIDIA card. One thread makes all its calls of the driver,
// and all its work is queued in one stream.
type Engine struct {
	model      *models.Model
	layout     layout
	options    Options
	samples    [2]*plan.Samples // by nets.Part
	parts      [2]partMemory    // the samples on the card
	thread     *driver.Thread
	device     *driver.Device
	card       driver.DeviceInfo
	stream     *driver.Stream
	functions  map[string]*function
	modules    map[string]*driver.Module
	banks      map[*bank]bool
	programs   map[programKey]*program
	waves      map[waveKey]*wave
	uses       int        // of waves, so far
	arena      driver.Ptr // memory that the waves share
	arenaBytes int64
	ring       ring
	staging    []byte   // pinned: the plan of the wave that runs, then its results
	slotLimit  int      // most slots of a wave: halved when memory runs out
	profile    *profile // nil: kernels are not timed
	guard      bool     // every piece of memory is an allocation of its own, for memory checkers
	carveout   int      // percent, of every kernel; driver.DriverCarveout if the user has named none
}

// guardVariable names the environment variable that turns guard mode on with the value "guard": every piece of memory
// is then an allocation of its own, so that memory checkers see every overrun.
const guardVariable = "ROLLCALL_GPU_ARENA"

// carveoutVariable names the environment variable with the carveout of every kernel: the share of shared memory, in
// percent, in the memory that it has in common with L1. If it is empty, the driver chooses one for each kernel.
const carveoutVariable = "ROLLCALL_GPU_CARVEOUT"

// carveoutFrom reads carveoutVariable.
func carveoutFrom(text string) (percent int, err error) {
	if text == "" {
		return driver.DriverCarveout, nil
	}
	percent, err = strconv.Atoi(text)
	if err != nil || percent < 0 || percent > 100 {
		return 0, fmt.Errorf("gpu: %s is %q, want 0 to 100, the percent of shared memory", carveoutVariable, text)
	}
	return percent, nil
}

// Open opens a card for a model, and copies the samples to the card, where they stay. test may be nil if no model is
// evaluated on it. An error says why the card cannot be used.
func Open(m *models.Model, train, test *plan.Samples, o Options) (nets.Engine, error) {
	if o.Batch < 1 {
		return nil, fmt.Errorf("gpu: batch of %d samples, want at least 1", o.Batch)
	}
	if o.EvalBatch < 0 || o.MaxClients < 0 {
		return nil, fmt.Errorf("gpu: %d samples per evaluation, %d clients at once, want none below 0",
			o.EvalBatch, o.MaxClients)
	}
	if o.EvalBatch == 0 {
		o.EvalBatch = defaultEvalBatch
	}
	var err error
	if o.Precision, err = ParsePrecision(string(o.Precision)); err != nil {
		return nil, err
	}
	carveout, err := carveoutFrom(os.Getenv(carveoutVariable))
	if err != nil {
		return nil, err
	}
	e := &Engine{
		model: m, layout: newLayout(m), options: o, samples: [2]*plan.Samples{train, test},
		thread: driver.NewThread(), functions: map[string]*function{}, modules: map[string]*driver.Module{},
		banks: map[*bank]bool{}, programs: map[programKey]*program{}, waves: map[waveKey]*wave{},
		slotLimit: maxSlots, guard: os.Getenv(guardVariable) == "guard", carveout: carveout,
	}
	if o.MaxClients > 0 {
		e.slotLimit = min(e.slotLimit, o.MaxClients)
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

// announce tells the user, before the first round, how much memory the rounds will take. It does so only if the options
// say how many clients to expect.
func (e *Engine) announce() error {
	o := e.options
	if o.Clients == 0 {
		return nil
	}
	clients := min(o.Clients, e.slotLimit)
	samples, waves, err := e.estimate(clients, max(1, o.Steps))
	if err != nil {
		return err
	}
	line := fmt.Sprintf(
		"gpu: takes %s of the card's %s with %d clients at once; methods' rows come on top, %s each",
		driver.Size(samples+waves), driver.Size(e.card.Memory), clients, driver.Size(e.rowBytes()))
	e.notice(line, line)
	return nil
}

// open opens the device, copies the samples to it and loads the kernels of every round.
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

// upload copies samples to the card: images as bytes, and with them the table that normalises each byte value in each
// channel.
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

// do runs f on the thread that opened the card: the driver binds a context to a thread.
func (e *Engine) do(f func() error) error { return e.thread.Do(f) }

// Info implements [nets.Engine].
func (e *Engine) Info() nets.Info {
	engine, precision := engineOn(e.card.Capability()), string(e.options.Precision)
	return nets.Info{
		Engine: engine, Device: e.card.Name, Precision: precision, Params: e.model.P,
		Buffers: e.model.Buffers(), Numerics: nets.Numerics(engine, precision), Revision: Revision,
	}
}

// Close implements [nets.Engine]. It waits for the work under way, releases everything even after an error, and returns
// the first error. A second Close does nothing.
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
		keep(e.dropArena())
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
			return nil // reported by the call that lost it; a lost device has nothing to release
		}
		return first
	})
	e.thread.Close()
	if errors.Is(err, driver.ErrClosed) {
		return nil
	}
	return err
}

// notice tells the user a line, if the options name somebody to tell. Lines with the same key mean the same.
func (e *Engine) notice(key, line string) {
	if e.options.Notice != nil {
		e.options.Notice(key, line)
	}
}

// Cards returns the NVIDIA cards of this machine, usable or not. An error says why there is no driver, or no card.
func Cards() ([]Card, error) {
	devices, err := driver.Devices()
	if err != nil {
		return nil, err
	}
	cards := make([]Card, len(devices))
	for i, d := range devices {
		cards[i] = Card{
			Index: d.Index, Name: d.Name, Memory: d.Memory, Capability: d.Capability(), Driver: d.DriverVersion(),
			Multiprocessors: d.Multiprocessors, Unusable: d.Unusable,
		}
	}
	return cards, nil
}

// OutOfMemory reports whether an error of an engine or of [Open] means that memory ran out: memory of the card, or host
// memory that can be pinned.
func OutOfMemory(err error) bool { return errors.Is(err, driver.ErrOutOfMemory) }

// NoCard reports whether an error of [Cards] means that the machine has no NVIDIA GPU, and not that one cannot be used.
func NoCard(err error) bool { return errors.Is(err, driver.ErrNoCard) }

// DeviceLost reports whether an error of an engine or of [Open] means that the card is lost: every later call on it
// fails, and other cards go on.
func DeviceLost(err error) bool { return errors.Is(err, driver.ErrDeviceLost) }
