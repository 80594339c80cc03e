package ops

import (
	"unsafe"

	G "gorgonia.org/gorgonia"

	"rollcall/nets/cpu/kernels"
)

// BufferBytes returns the bytes of the buffers that an op of this package allocates in its first call and keeps: its
// output, and what it computes with. It returns 0 for Gorgonia's own ops. operand is the size of an element of a
// rounded operand in bytes, 0 if operands are not rounded. A run asks before it starts, to say how much memory it will
// take.
func BufferBytes(op G.Op, operand int) int64 {
	if b, ok := op.(interface{ bufferBytes(operand int) int64 }); ok {
		return b.bufferBytes(operand)
	}
	return 0
}

// bytes returns the size of n elements of the op's type.
func (b *base[T]) bytes(n int) int64 { return int64(n) * int64(unsafe.Sizeof(T(0))) }

// layerBytes returns the size of the buffers of a layer.
func (b *base[T]) layerBytes(of kernels.Buffers, operand int) int64 {
	return b.bytes(of.Numbers) + int64(of.Operands)*int64(operand)
}

func (b *base[T]) bufferBytes(int) int64 { return b.bytes(b.to.TotalSize()) }

func (op *Take[T]) bufferBytes(int) int64 { return 0 }

func (op *View[T]) bufferBytes(int) int64 { return 0 }

func (op *Dropout[T]) bufferBytes(int) int64 {
	return op.base.bufferBytes(0) + int64(op.to.TotalSize())
} // the mask

func (op *CrossEntropy[T]) bufferBytes(int) int64 {
	return op.base.bufferBytes(0) + op.bytes(op.logits)
} // the gradient

func (op *ConvReLUPool[T]) bufferBytes(operand int) int64 {
	h, w := op.Shape.Conv()
	arg := int64(op.Shape.K * op.Shape.B * (h / 2) * (w / 2) * op.Shape.O)
	return op.base.bufferBytes(operand) + arg + op.layerBytes(op.Shape.ForwardBuffers(operand > 0), operand)
}

func (op *Conv2D[T]) bufferBytes(operand int) int64 {
	return op.base.bufferBytes(operand) + op.layerBytes(op.Shape.ForwardBuffers(operand > 0), operand)
}

func (op *Linear[T]) bufferBytes(operand int) int64 {
	return op.base.bufferBytes(operand) + op.layerBytes(op.Shape.ForwardBuffers(operand > 0), operand)
}

// bufferBytes of a gradient includes the buffers that the backward pass of its layer computes with.
func (op *Grad[T]) bufferBytes(operand int) int64 {
	var of kernels.Buffers
	switch forward := op.Forward.(type) {
	case *ConvReLUPool[T]:
		of = forward.Shape.BackwardBuffers(forward.InputGrad, operand > 0)
	case *Conv2D[T]:
		of = forward.Shape.BackwardBuffers(forward.InputGrad, operand > 0)
	case *Linear[T]:
		of = forward.Shape.BackwardBuffers(forward.InputGrad, operand > 0)
	}
	return op.base.bufferBytes(operand) + op.layerBytes(of, operand)
}
