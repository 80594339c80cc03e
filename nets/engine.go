package nets

import (
	"context"
	"fmt"
	"math"
	"time"

	"rollcall/datasets/plan"
)

// Engine trains, combines and evaluates rows of parameters in its own memory.
//
// Methods are written against this contract alone: they say which clients train, from which rows, with which learning
// rate, and then combine rows. An engine is used by one goroutine at a time.
type Engine interface {
	// Info names the engine, the device and the class of its numbers.
	Info() Info
	// NewBank returns rows × P zeros in the engine's memory.
	NewBank(rows int) (Bank, error)
	// Combine sets the weights of dst to Σ c_i·src_i, added in float32 in the order given. dst may be among src. With
	// no src they become 0. The running statistics of dst stay: the means and variances of batch normalisation, which
	// lie in a row beside the weights.
	Combine(dst Row, c []float64, src []Row) error
	// CombineBuffers does to running statistics what Combine does to weights. The weights of dst stay. In a net without
	// batch normalisation it does nothing.
	CombineBuffers(dst Row, c []float64, src []Row) error
	// Dot returns Σ a·b over the weights of two rows, which may be the same. The running statistics are not part of it.
	// The engine adds in float64, in a fixed order, whatever its threads and the size of the device. A product of two
	// float32 is exact in float64, so that Dot(a, b) is Dot(b, a) to the bit, and below 2²⁵⁶, so that no sum overflows:
	// Dot is finite unless a weight is infinite or NaN, and then what IEEE 754 makes of the products.
	Dot(a, b Row) (float64, error)
	// Load copies parameters [P] into a row, and Store copies a row out. The copies are in the order and layout of
	// PyTorch's state_dict.
	Load(Row, []float32) error
	Store(Row, []float32) error
	// Train runs the local steps of many clients at once, and returns the loss of each client's first batch at its
	// start row. A loss that is not finite ends the training with a *[DivergedError], a cancelled context with
	// ctx.Err(). After an error the contents of the rows End and Momentum of all clients are undefined.
	Train(context.Context, LocalWork) (loss []float32, err error)
	// Evaluate runs the jobs, in any order, and returns their results in the order given.
	Evaluate(context.Context, []EvalJob) ([]EvalResult, error)
	// Close releases the engine's memory. Its banks must not be used afterwards.
	Close() error
}

// Profiler is an engine that can measure how much time each kernel takes.
type Profiler interface {
	// Profile switches the timing of kernels on or off. Timing slows training and evaluation down, and changes no
	// result.
	Profile(on bool) error
	// Kernels returns the kernels timed so far, the longest first.
	Kernels() []KernelTime
}

// KernelTime is the time of all launches of a kernel. Copies count as kernels, with the names upload (of batch plans),
// memset and download (of losses).
type KernelTime struct {
	Kernel   string
	Launches int
	Time     time.Duration
	FLOP     float64 // floating-point operations of the matrix products, a multiply-add counts two
	Bytes    float64 // the least number of bytes it had to move: every operand once
}

// Info names what an engine runs on.
type Info struct {
	Engine    string // cpu-generic, cpu-avx2, cpu-avx512, cpu-avx512bf16, cpu-amx, cuda-sm90 and the like
	Device    string // the processor's or the card's own name
	Precision string // of matrix products: fp32, bf16, bf16x3 on the CPU, tf32, fp32, bf16 on CUDA
	Params    int    // P
	// Buffers has the running statistics of batch normalisation, in the order of Load and Store: ascending, none
	// adjacent to the next. It is nil in a net without batch normalisation.
	Buffers []Span
	// Numerics is the class of the engine's numbers: engines with the same Numerics and Revision compute the same bits.
	// See the function [Numerics].
	Numerics string
	// Revision is raised by whoever changes the numbers of the engine, so that older runs are not taken for equal ones.
	Revision int
}

// Span is the range From … To−1 of the parameters of a row.
type Span struct{ From, To int }

// Norm returns the Euclidean norm of the weights of a row, the root of [Engine]'s Dot of the row with itself.
func Norm(e Engine, r Row) (float64, error) {
	square, err := e.Dot(r, r)
	return math.Sqrt(square), err
}

// Bank is a matrix [rows, P] of parameters in an engine's memory.
type Bank interface {
	Rows() int
	Free()
}

// Row names one row of a bank. The zero Row means no row.
type Row struct {
	Bank  Bank
	Index int
}

// IsNone reports whether r names no row.
func (r Row) IsNone() bool { return r.Bank == nil }

// LocalWork is the local training of one round, for all of its clients.
//
// In one step of a client, g is the gradient of the mean loss over the samples of the batch:
//
//	g ← g·min(1, Clip/‖g‖)            if Clip is given
//	g ← g + WeightDecay·w + drift     drift: the client's drift row
//	v ← Momentum·v + g, g ← v         if the client has a momentum row
//	w ← w − LR·g
//
// The order is PyTorch's: clip_grad_norm_, then SGD with weight_decay and momentum. Only weights follow these formulas:
// the running statistics of batch normalisation move towards the statistics of the batch.
type LocalWork struct {
	Round       int     // selects the random numbers of dropout, together with Seed
	Seed        uint32  // of the run
	LR          float64 // the learning rate of this round, decay already applied
	WeightDecay float64
	Momentum    float64  // for the clients that have a momentum row; the others have no momentum
	Clip        *float64 // the largest norm of a gradient; nil: no clipping
	Clients     []ClientWork
}

// ClientWork is the local training of one client.
type ClientWork struct {
	Client     int        // selects the random numbers of the client
	Start, End Row        // w before and after; may be the same row
	Momentum   Row        // v, read and updated; no row: plain SGD
	Drift      Row        // added to every gradient; no row: nothing is added
	Plan       plan.Local // E steps of B samples; a step whose samples are all padding changes nothing, not even v
}

// ClientRows holds the rows of a client's work. R is the type in which an engine accesses a row, for example []float32;
// it is zero for a row that the client does not have.
type ClientRows[R any] struct{ Start, End, Momentum, Drift R }

// LocateRows looks up the rows of a client. row is the engine's lookup function; it puts what in front of its errors.
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

// EvalJob asks for the loss and the accuracy of one row on samples of one part, without augmentation and dropout.
type EvalJob struct {
	Row   Row
	Part  Part
	Index []int32 // which samples; nil: all of the part
}

// EvalResult is the result of one [EvalJob].
type EvalResult struct {
	N       int     // samples evaluated
	Correct int     // samples among them whose class was predicted right
	Loss    float64 // mean cross-entropy per sample; 0 without samples
}

// Accuracy returns the fraction of samples whose class was predicted right, 0 without samples.
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
	return fmt.Sprintf("nets: round %d client %d step %d: loss %g, want a finite number",
		e.Round, e.Client, e.Step, e.Loss)
}
