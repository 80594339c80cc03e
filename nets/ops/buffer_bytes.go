package ops

import (
	"unsafe"

	G "gorgonia.org/gorgonia"
)

// BufferBytes returns the bytes of the buffers that an op of this package allocates in its first call and keeps: its
// output, and what it computes with. It returns 0 for Gorgonia's own ops. A run asks before it starts, to say how much
// memory it will take.
func BufferBytes(op G.Op) int64 {
	if b, ok := op.(interface{ bufferBytes() int64 }); ok {
		return b.bufferBytes()
	}
	return 0
}

// bytes returns the size of n elements of the op's type.
func (b *base[T]) bytes(n int) int64 { return int64(n) * int64(unsafe.Sizeof(T(0))) }

func (b *base[T]) bufferBytes() int64 { return b.bytes(b.to.TotalSize()) }

func (op *Take[T]) bufferBytes() int64 { return 0 }

func (op *View[T]) bufferBytes() int64 { return 0 }

func (op *Dropout[T]) bufferBytes() int64 { return op.base.bufferBytes() + int64(op.to.TotalSize()) } // the mask

func (op *ConvReLUPool[T]) bufferBytes() int64 {
	h, w := op.Shape.Conv()
	return op.base.bufferBytes() + int64(op.Shape.K*op.Shape.B*(h/2)*(w/2)*op.Shape.O) // Arg
}

func (op *Conv2D[T]) bufferBytes() int64 {
	return op.base.bufferBytes() + op.bytes(op.Shape.ForwardBuffers())
}

// bufferBytes of a gradient includes the buffers that the backward pass of its layer computes with.
func (op *Grad[T]) bufferBytes() int64 {
	n := op.base.bufferBytes()
	switch of := op.Forward.(type) {
	case *ConvReLUPool[T]:
		n += op.bytes(of.Shape.BackwardBuffers(of.InputGrad))
	case *Conv2D[T]:
		n += op.bytes(of.Shape.BackwardBuffers(of.InputGrad))
	case *Linear[T]:
		n += op.bytes(of.Shape.BackwardBuffers())
	}
	return n
}
