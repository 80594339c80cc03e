package nightly

import (
	"cmp"
	"context"
	"fmt"

	"rollcall/nets"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/gpu"
)

// profiled makes one round in which the engine times its own kernels, and records the mean launch of every kernel, in
// µs. That round is not one of the measured rounds, because timing kernels slows it down. Registers and instructions of
// the kernels' machine code are recorded beside, the same numbers with every sample. engine is the name of the engine.
func (b *Bench) profiled(ctx context.Context, e nets.Profiler, engine string, round func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := e.Profile(true); err != nil {
		return fmt.Errorf("track: kernels: %w", err)
	}
	err := round()
	timed := e.Kernels() // before Profile(false), with which the engine forgets the times
	// cmp.Or evaluates both: the timing ends even if the round failed.
	if err := cmp.Or(err, e.Profile(false)); err != nil {
		return fmt.Errorf("track: kernels: %w", err)
	}
	for _, k := range timed {
		if k.Launches > 0 && k.Time > 0 {
			took := units["µs"] * k.Time.Seconds() / float64(k.Launches)
			b.record(metric{name: "kernel/" + k.Kernel, unit: "µs"}, took, 0, 0)
			registers, instructions, _ := gpu.MachineCode(engine, k.Kernel) // 0 of a copy, and not recorded
			b.recordPlain("registers/"+k.Kernel, "registers", float64(registers))
			b.recordPlain("instructions/"+k.Kernel, "instructions", float64(instructions))
		}
	}
	return nil
}

// kernel is a kernel of the CPU engine with its buffers: run calls it once.
type kernel struct {
	name string
	run  func()
}

// cpuKernels returns the kernels in which a client-step of cnn-cifar10 spends its time, for one client on one thread:
// the forward and backward passes of its layers, gathering the images of a batch, loss and update. Dropout is there for
// cnn-cinic10, the only net of the suite that has it.
// They are the variants that the engine uses: those of its precision.
func (b *Bench) cpuKernels() ([]kernel, error) {
	c, err := b.Machine.CPUChoice()
	if err != nil {
		return nil, err
	}
	// Without a pool everything runs on the caller's thread.
	return append(productKernels(c.NewExec(nil), b.Suite.Batch), elementKernels(c, b.Suite.Batch)...), nil
}

// productKernels returns the kernels of the convolutions and of the first linear layer. batch is B.
func productKernels(e *kernels.Exec[float32], batch int) []kernel {
	// H and W include the borders of zeros: 34 = 32 + 2·1 for the image, 18 = 32/2 + 2·1 for the pooled maps.
	conv1 := kernels.ConvShape{K: 1, B: batch, H: 34, W: 34, C: 3, R: 3, S: 3, O: 32, Pad: 1, OutPad: 1}
	conv2 := kernels.ConvShape{K: 1, B: batch, H: 18, W: 18, C: 32, R: 3, S: 3, O: 32, Pad: 1}
	out := []kernel{
		{"conv1_forward", convForward(e, conv1)},
		{"conv2_forward", convForward(e, conv2)},
		{"conv2_backward", convBackward(e, conv2)},
	}

	fc := kernels.LinearShape{K: 1, B: batch, I: 2048, O: 256, ReLU: true} // I = 8·8·32: conv2's maps, pooled
	// x [B,I], w [I,O], bias [O], y [B,O], and the gradients gy of y, dx, dw and db.
	x, w, bias, y := waves(batch*fc.I), waves(fc.I*fc.O), waves(fc.O), make([]float32, batch*fc.O)
	gy, dx, dw, db := waves(batch*fc.O), make([]float32, batch*fc.I), make([]float32, fc.I*fc.O), make([]float32, fc.O)
	forward, backward := new(kernels.LinearForward[float32]), new(kernels.LinearBackward[float32])
	return append(out,
		kernel{"fc1_forward", func() { forward.Run(e, fc, y, x, w, bias) }},
		kernel{"fc1_backward", func() { backward.Run(e, fc, dx, dw, db, x, w, y, gy) }})
}

// convSizes returns the numbers of elements of a convolution's buffers x, w, y and arg, whose shapes cpu.ConvShape and
// cpu.ConvForward state. arg is the place of each pooled maximum in its window of 2×2 pixels.
func convSizes(s kernels.ConvShape) (x, w, y, arg int) {
	h, width := s.Out()
	ch, cw := s.Conv()
	return s.B * s.H * s.W * s.C, s.R * s.S * s.C * s.O, s.B * h * width * s.O, s.B * ch / 2 * cw / 2 * s.O
}

// convForward returns one forward pass of a convolution, with bias, ReLU and pooling, as a function to be timed.
func convForward(e *kernels.Exec[float32], s kernels.ConvShape) func() {
	nx, nw, ny, na := convSizes(s)
	x, w, bias, y, arg := waves(nx), waves(nw), waves(s.O), make([]float32, ny), make([]uint8, na)
	t := new(kernels.ConvForward[float32])
	return func() { t.Run(e, s, y, arg, x, w, bias) }
}

// convBackward returns one backward pass of a convolution: the gradients of input, weights and bias.
func convBackward(e *kernels.Exec[float32], s kernels.ConvShape) func() {
	nx, nw, ny, na := convSizes(s)
	x, w, gy, arg := waves(nx), waves(nw), waves(ny), make([]uint8, na)
	dx, dw, db := make([]float32, nx), make([]float32, nw), make([]float32, s.O)
	t := new(kernels.ConvBackward[float32])
	return func() { t.Run(e, s, dx, dw, db, x, w, gy, arg) }
}

// elementKernels returns the kernels that work element by element, on the sizes of a client-step.
func elementKernels(k kernels.Kernels[float32], batch int) []kernel {
	const (
		params   = 1 << 19 // the weights [2048,256] of the first linear layer, 95 % of all in cnn-cifar10
		features = 512     // of the second dropout layer of cnn-cinic10
		side     = 32      // pixels of a picture
	)
	w, g := waves(params), waves(params)
	x, y, mask := waves(batch*features), make([]float32, batch*features), make([]uint8, batch*features)
	// Gather's vector kernels read 16 bytes at a time. With nothing behind it, plain Go would do a picture's last row.
	picture := make([]uint8, batch*side*side*3+16)
	crop := kernels.Crop{H: side, W: side, C: 3, Border: 1, Pad: 4, Row: 3, Col: 6}
	normal := kernels.NewNormal[float32]([]float32{0.5, 0.5, 0.5}, []float32{0.25, 0.25, 0.25})
	cropped := make([]float32, (side+2)*(side+2)*3)
	exp, prob := make([]float64, 16), make([]float32, 10) // 10 classes; exp has room for a multiple of 8
	return []kernel{
		{"gather", func() {
			for i := range batch {
				k.Gather(cropped, picture[i*side*side*3:], normal, crop)
			}
		}},
		{"dropout", func() { k.Dropout(y, mask, x, 0, kernels.Draw{Seed: 1}, 0, 0.5) }},
		{"softmax", func() {
			for i := range batch {
				k.Softmax(prob, exp, x[i*features:][:10], 1)
			}
		}},
		// With this LR no weight changes in float32: every call does the same, however many there are.
		{"update", func() { k.Step(w, g, nil, nil, kernels.Step[float32]{LR: 1e-9, Scale: 1}) }},
	}
}

// waves returns n small numbers that are not all equal. None is so small (subnormal) that processors slow down.
func waves(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i%13)/8 - 0.7
	}
	return x
}
