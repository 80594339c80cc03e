package gpu

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"unsafe"

	"rollcall/nets"
	"rollcall/nets/gpu/kernels"
)

// Precision says how activations are stored and how matrices are multiplied. Weights are always float32.
type Precision = kernels.Precision

// The precisions.
const (
	TF32 = kernels.TF32 // activations rounded to 11 significant bits, sums in float32
	FP32 = kernels.FP32 // activations and sums in float32
	BF16 = kernels.BF16 // activations in 16 bits, sums in float32
)

// ParsePrecision returns the precision with a name. The empty name means TF32.
func ParsePrecision(name string) (Precision, error) {
	switch p := Precision(name); p {
	case "":
		return TF32, nil
	case TF32, FP32, BF16:
		return p, nil
	}
	return "", fmt.Errorf("gpu: precision %q, want tf32, fp32 or bf16", name)
}

// programKey identifies a program of an engine: an engine has at most one program for each key. clip asks for the
// kernels that clip gradients; evaluation never has them.
type programKey struct{ train, clip bool }

// program is a net's graph as a list of kernel launches. The same program serves any number of slots: a slot is an
// active client in training, and a share of one model's samples in evaluation.
type program struct {
	B        int       // samples in a batch of one slot
	weights  launch    // fills the weights that the other launches read; runs once, before the first step
	launches []launch  // one step, in order
	order    order     // of the launches of two steps in turn, or of the only step of an evaluation
	buffers  []*buffer // activations, gradients and partial sums of a step
	rows     buffers   // the parts of the rows of weights, which lie in no arena
	// gradients is the range of a row that has a place in the rows of gradients. It is empty if all gradients update
	// the weights at once.
	gradients span
	logits    *buffer
}

// settle sets the order, when the program has all its launches: of so many steps in turn.
func (p *program) settle(steps int) {
	var uses []access
	for range steps {
		for _, l := range p.launches {
			uses = append(uses, l.access)
		}
	}
	p.order = orderOf(uses)
}

// share reports whether two buffers may lie over each other.
func (p *program) share(a, b *buffer) bool { return p.apart(a, b) || p.apart(b, a) }

// apart reports whether all launches that use a have ended when the first one that uses b begins, and all that use b
// when the next step begins to use a.
func (p *program) apart(a, b *buffer) bool {
	next := a.uses[0] + len(p.launches)
	return p.order.followsAll(b.uses[0], a.uses) &&
		(next >= len(p.order.ended) || p.order.followsAll(next, b.uses))
}

// span is the elements from .. to-1 of a row.
type span struct{ from, to int }

// gradientsOf returns the elements of a row for which a program keeps gradients: all with clip, whose factor follows
// from all of them; else those of batch normalisations, and behind them the statistics of the batch.
func gradientsOf(lay layout, train, clip bool) span {
	switch {
	case !train:
		return span{}
	case clip:
		return span{0, lay.P}
	}
	return span{lay.norms, lay.P}
}

func (s span) size() int { return s.to - s.from }

func (p *program) all() []launch { return append([]launch{p.weights}, p.launches...) }

// launch is one kernel of a program, before the addresses and the number of slots are known.
type launch struct {
	kernel   string // with the suffix of its precision
	layer    string // of the net, for messages and benchmarks
	access   access // what it reads and writes
	geometry func(slots int) kernels.Geometry
	args     func(*frame) []byte
	cost     func(*frame) kernels.Cost // of one slot
}

// access is what a launch reads and what it writes: buffers of the program, and parts of the rows of weights and of
// gradients. Samples, the plan, losses and scores are not among them: no launch of a step both writes and reads them.
type access struct{ reads, writes buffers }

// frame holds what the arguments of a launch depend on: the device addresses of a wave's memory, and the step that is
// being queued.
type frame struct {
	buffers  map[*buffer]uint64 // of this wave: waves of other capacities place the same buffers elsewhere
	capacity int                // slots that the memory is for
	work     uint64             // of the plan, which begins with a kernels.Work
	rowWork  uint64             // of the plan's second kernels.Work, about the rows to be rounded
	E        uint32             // steps that the wave takes
	step     uint32             // 0 … E-1
	parts    [2]partMemory      // the samples, by nets.Part
	part     nets.Part
	grad     uint64 // [capacity,gradients]; 0 if the program keeps none
	loss     uint64 // [E,capacity]
	scale    uint64 // [capacity] factors that clip the gradients, with clip
	norms    uint64 // [capacity,⌈P/4096⌉] double, partial sums of squared gradients, with clip
	score    uint64 // [capacity] double, then [capacity,2] int32
}

func (f *frame) at(b *buffer) uint64 { return f.buffers[b] }

// partMemory holds the device addresses of the samples of a part; 0 where a data set has no such array.
type partMemory struct{ images, features, classes, table uint64 }

// weightsLaunch returns the launch that fills the weights of a program. In training it copies the row of parameters
// where a client starts to the row where the client ends. With BF16 it also writes the copy that matrix products read;
// in evaluation it writes nothing else. In other precisions matrix products read the rows themselves.
func weightsLaunch(key programKey, rows buffers, P int, p Precision) launch {
	a := kernels.RowsArgs{P: uint32(P)}
	kernel, how := "begin", a.Begin(p)
	if !key.train {
		kernel, how = "round_weights", a.Round()
	}
	return launch{
		kernel: kernel, layer: "weights", access: access{writes: rows}, geometry: always(how.Geometry),
		args: func(f *frame) []byte {
			a.Work = f.work
			if !key.train {
				a.Work = f.rowWork
			}
			return argBytes(a)
		},
		cost: func(*frame) kernels.Cost { return how.Cost },
	}
}

// always returns a geometry that is the same for any number of slots.
func always(g kernels.Geometry) func(int) kernels.Geometry {
	return func(int) kernels.Geometry { return g }
}

// argBytes returns the bytes of a kernel's arguments, as the kernel reads them.
func argBytes[A any](a A) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(&a)), unsafe.Sizeof(a)) }

// launcher returns the launch of a kernel with arguments A. It may complete the arguments with what follows from their
// sizes, such as the tile of a convolution.
type launcher[A any] func(*A, Precision) kernels.Launch

// slotLauncher is a launcher of a kernel that is cut in other blocks for few slots than for many.
type slotLauncher[A any] func(a *A, p Precision, slots int) kernels.Launch

// queue appends a launch of a kernel to the program. The arguments have their sizes; fill sets what depends on the
// frame, the addresses above all, in a copy of them. use is all that the kernel reads and writes: it tells from which
// launch to which one a buffer needs its memory, and which launches must wait for which.
func queue[A any](l *lowerer, kernel string, plan launcher[A], a A, fill func(*frame, *A), use access) {
	queueBySlots(l, kernel, func(a *A, p Precision, _ int) kernels.Launch { return plan(a, p) }, a, fill, use)
}

// queueBySlots does what queue does, for a kernel whose launch depends on the number of slots.
func queueBySlots[A any](l *lowerer, kernel string, plan slotLauncher[A], a A, fill func(*frame, *A), use access) {
	now := len(l.program.launches)
	for _, b := range slices.Concat(use.reads, use.writes) {
		b.uses = append(b.uses, now)
	}
	planned := func(f *frame, a A) (A, kernels.Launch) {
		fill(f, &a)
		how := plan(&a, l.precision, f.capacity)
		return a, how
	}
	l.program.launches = append(l.program.launches, launch{
		kernel: kernel, layer: l.layer, access: use,
		geometry: func(slots int) kernels.Geometry { a := a; return plan(&a, l.precision, slots).Geometry },
		args:     func(f *frame) []byte { a, _ := planned(f, a); return argBytes(a) },
		cost:     func(f *frame) kernels.Cost { _, how := planned(f, a); return how.Cost },
	})
}

// buffer is an array of a program: n elements for every slot. Buffers that are not in use at the same time share
// memory.
type buffer struct {
	name   string // of the node of the net's graph, for messages
	n      int    // elements per slot
	size   int    // bytes of an element
	uses   []int  // launches of a step that read or write it, in order; the first one writes
	offset int64  // bytes from the start of the buffers' part of the arena
}

type buffers []*buffer

// bytes returns the bytes that a buffer takes for so many slots.
func (b *buffer) bytes(slots int) int64 {
	return int64(alignUp(b.n*b.size*slots, bufferAlign))
}

// bufferAlign is the alignment of cuMemAlloc, in bytes. Every piece of an arena has it too.
const bufferAlign = 256

// arrange gives every buffer its offset, such that buffers overlap only if they may share memory, and returns the bytes
// that all take together. The largest buffers come first, each at the lowest offset that is free: greedy by size, which
// wastes little and needs no search.
func arrange(buffers []*buffer, slots int, share func(a, b *buffer) bool) int64 {
	order := slices.Clone(buffers)
	slices.SortStableFunc(order, func(a, b *buffer) int { return cmp.Compare(b.bytes(slots), a.bytes(slots)) })
	var placed []*buffer // by offset
	var total int64
	for _, b := range order {
		b.offset = 0
		for _, other := range placed {
			if share(b, other) {
				continue
			}
			if b.offset+b.bytes(slots) <= other.offset {
				break
			}
			b.offset = max(b.offset, other.offset+other.bytes(slots))
		}
		at, _ := slices.BinarySearchFunc(placed, b, func(x, y *buffer) int { return cmp.Compare(x.offset, y.offset) })
		placed = slices.Insert(placed, at, b)
		total = max(total, b.offset+b.bytes(slots))
	}
	return total
}

// order says which launches of a list wait for which. A launch waits for the launches before it that wrote what it
// reads, and for those that read or wrote what it writes. Launches that do not wait for each other, not even by way of
// others, may run at the same time.
type order struct {
	waits [][]int    // of each launch: those that it waits for, but for those that these wait for
	ended []*big.Int // of each launch: the set of all launches that have ended when it begins
}

// orderOf returns the order of launches, given what each reads and writes.
func orderOf(uses []access) order {
	o := order{make([][]int, len(uses)), make([]*big.Int, len(uses))}
	writer, readers := map[*buffer]int{}, map[*buffer][]int{} // the last writer, and who has read since
	for i, use := range uses {
		var needs []int
		for _, b := range slices.Concat(use.reads, use.writes) {
			if w, ok := writer[b]; ok {
				needs = append(needs, w)
			}
		}
		for _, b := range use.writes {
			needs = append(needs, readers[b]...)
		}
		o.add(i, needs)
		for _, b := range use.reads {
			readers[b] = append(readers[b], i)
		}
		for _, b := range use.writes {
			writer[b], readers[b] = i, nil
		}
	}
	return o
}

// add says for launch i which launches before it must have ended.
func (o *order) add(i int, needs []int) {
	ended := new(big.Int)
	slices.Sort(needs)
	for _, n := range slices.Backward(needs) { // the latest first: the others may have ended when it begins
		if ended.Bit(n) == 0 {
			o.waits[i] = append(o.waits[i], n)
			ended.Or(ended, o.ended[n])
			ended.SetBit(ended, n, 1)
		}
	}
	o.ended[i] = ended
}

// followsAll reports whether some launches have all ended when launch i begins.
func (o *order) followsAll(i int, some []int) bool {
	return !slices.ContainsFunc(some, func(n int) bool { return o.ended[i].Bit(n) == 0 })
}
