package ops

import (
	G "gorgonia.org/gorgonia"

	"rollcall/nets/cpu/kernels"
)

// BufferBytes returns the bytes of the buffers that an op of this package allocates in its first call and keeps: its
// output, and what it computes with, all in float32; and the bytes that its executor and each thread compute with,
// which they keep for all ops. All are 0 for Gorgonia's own ops. operand is the size of an element of a rounded operand
// in bytes, 0 if operands are not rounded. A run asks before it starts, to say how much memory it will take.
func BufferBytes(op G.Op, operand int) (kept, ofExec, ofThread int64) {
	sized, ok := op.(interface{ size() int })
	if !ok {
		return 0, 0, 0
	}
	var buffers kernels.Buffers
	bytes, rounded := 4*int64(sized.size()), operand > 0
	switch op := op.(type) {
	case *Take[float32], *View[float32]:
		return 0, 0, 0
	case *Dropout[float32]:
		bytes += int64(op.size()) // the mask
	case *CrossEntropy[float32]:
		bytes += 4 * int64(op.logits) // the gradient
	case *ConvReLUPool[float32]:
		h, w := op.Shape.Conv()
		bytes += int64(op.Shape.K * op.Shape.B * (h / 2) * (w / 2) * op.Shape.O) // Arg
		buffers = op.Shape.ForwardBuffers(rounded)
	case *BiasReLU[float32]:
		bytes += int64(op.Shape.ArgLen())
	case *Conv2D[float32]:
		buffers = op.Shape.ForwardBuffers(rounded)
	case *Linear[float32]:
		buffers = op.Shape.ForwardBuffers(rounded)
	case *Grad[float32]: // and what the backward pass of its layer computes with
		switch of := op.Forward.(type) {
		case *ConvReLUPool[float32]:
			buffers = of.Shape.BackwardBuffers(of.InputGrad, rounded)
		case *Conv2D[float32]:
			buffers = of.Shape.BackwardBuffers(of.InputGrad, rounded)
		case *Linear[float32]:
			buffers = of.Shape.BackwardBuffers(of.InputGrad, rounded)
		}
	}
	kept = bytes + 4*int64(buffers.Numbers) + int64(operand)*int64(buffers.Operands)
	return kept, 4 * int64(buffers.Shared), 4 * int64(buffers.Scratch)
}

// size returns the number of elements of the output.
func (b *base[T]) size() int { return b.to.TotalSize() - b.absent }
