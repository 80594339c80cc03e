package nets

import (
	"context"
	"fmt"
	"time"

	"rollcall/datasets/plan"
)

// Engine trains, combines and evaluates rows of parameters in its own memory.
//
// Methods are written against this contract alone: they say which clients train, from which rows, with which learning
// rate, and then combine rows. An engine is used by one goroutine at a time.
type Engine interface {
	// Info says what runs.
	Info() Info
	// NewBank returns rows × P zeros in the engine's memory.
	NewBank(rows int) (Bank, error)
	// Combine sets dst = Σ c_i·src_i, summed in float32 in the order given; dst may be among src. No terms: dst = 0.
	Combine(dst Row, c []float64, src []Row) error
	// Norm returns the Euclidean norm of a row.
	Norm(Row) (float64, error)
	// Load and Store move a row in and out, in PyTorch's state_dict order and layout [P].
	Load(Row, []float32) error
	Store(Row, []float32) error
	// Train runs the local steps of many clients at once and returns the loss of each client's first batch at its
	// start row. A loss that is not finite ends it with a *[DivergedError]; a cancelled context with ctx.Err(). After
	// an error the rows that clients were to write, End and Momentum, hold anything.
	Train(context.Context, LocalWork) (loss []float32, err error)
	// Evaluate runs the jobs, in any order, and returns their results in the order given.
	Evaluate(context.Context, []EvalJob) ([]EvalResult, error)
	// Close releases the engine's memory; its banks are dead afterwards.
	Close() error
}

// Profiler is an engine that can tell where its time goes, kernel by kernel.
type Profiler interface {
	// Profile begins to time kernels, or ends it. It slows training and evaluation down and changes no result.
	Profile(on bool) error
	// Kernels returns the kernels timed so far, the longest first.
	Kernels() []KernelTime
}

// KernelTime is the time of all launches of a kernel. Copies are kernels here, by the names of upload (of batch plans),
// memset and download (of losses).
type KernelTime struct {
	Kernel   string
	Launches int
	Time     time.Duration
	FLOP     float64 // multiplications and additions of its matrix products, as [Model.Train] counts them
	Bytes    float64 // that it moved at the least: every operand once
}

// Info names what an engine runs on.
type Info struct {
	Engine    string // cpu-generic, cpu-avx2, cpu-avx512, cuda-sm90 and the like
	Device    string // the processor's or the card's own name
	Precision string // fp32, tf32, bf16
	Params    int    // P
	// the class of its numbers: engines of one class and Revision compute the same bits; see [Numerics]
	Numerics string
	Revision int // raised by whoever changes the numbers of the engine, so that runs kept from before run again
}

// Bank is a matrix [rows, P] of parameters in an engine's memory.
type Bank interface {
	Rows() int
	Free()
}

// Row names one row of a bank. The zero Row names none.
type Row struct {
	Bank  Bank
	Index int
}

// IsNone reports whether r names no row.
func (r Row) IsNone() bool { return r.Bank == nil }

// LocalWork is the local training of one round.
//
// One step of a client is, with g the gradient of the mean loss over the batch's samples:
//
//	g ← g·min(1, Clip/‖g‖)            if Clip is given
//	g ← g + WeightDecay·w + drift     drift: the client's drift row
//	v ← Momentum·v + g, g ← v         if the client has a momentum row
//	w ← w − LR·g
//
// (PyTorch's order: clip_grad_norm_, then SGD with weight_decay and momentum.)
type LocalWork struct {
	Round       int // names the random streams of dropout
	Seed        uint32
	LR          float64
	WeightDecay float64
	Momentum    float64  // only clients with a momentum row have momentum
	Clip        *float64 // largest gradient norm; nil: no clipping
	Clients     []ClientWork
}

// ClientWork is the local training of one client.
type ClientWork struct {
	Client     int        // names the client's random streams
	Start, End Row        // w before and after; may be the same row
	Momentum   Row        // v, read and updated; none: plain SGD
	Drift      Row        // added to every gradient; none: nothing
	Plan       plan.Local // E steps of B samples; an empty step (all padding) changes nothing, momentum included
}

// ClientRows are the rows of a client's work as an engine finds them in its memory; R's zero value where there is none.
type ClientRows[R any] struct{ Start, End, Momentum, Drift R }

// LocateRows finds a client's rows with the engine's row, whose errors begin with what it was asked for.
func LocateRows[R any](c *ClientWork, row func(what string, r Row) (R, error)) (found ClientRows[R], err error) {
	if found.Start, err = row("train: start", c.Start); err != nil {
		return found, err
	}
	if found.End, err = row("train: end", c.End); err != nil {
		return found, err
	}
	if !c.Momentum.IsNone() {
		if found.Momentum, err = row("train: momentum", c.Momentum); err != nil {
			return found, err
		}
	}
	if !c.Drift.IsNone() {
		found.Drift, err = row("train: drift", c.Drift)
	}
	return found, err
}

// Part names one of the sample sets an engine was opened with.
type Part int

// The parts.
const (
	Train Part = iota
	Test
)

// EvalJob asks for the loss and the accuracy of one row on samples of one part, without augmentation or dropout.
type EvalJob struct {
	Row   Row
	Part  Part
	Index []int32 // which samples; nil: all of the part
}

// EvalResult is the answer to one EvalJob.
type EvalResult struct {
	N       int     // samples looked at
	Correct int     // of them, classified as labelled
	Loss    float64 // mean cross-entropy per sample; 0 without samples
}

// Accuracy returns the fraction classified correctly, 0 without samples.
func (r EvalResult) Accuracy() float64 {
	if r.N == 0 {
		return 0
	}
	return float64(r.Correct) / float64(r.N)
}

// DivergedError reports the first client whose loss is not finite.
type DivergedError struct {
	Round, Client, Step int
	Loss                float64
}

func (e *DivergedError) Error() string {
	return fmt.Sprintf("nets: round %d client %d step %d: loss %g, want a finite number", e.Round, e.Client, e.Step,
		e.Loss)
}
