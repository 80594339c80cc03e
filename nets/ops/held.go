package ops

import (
	"unsafe"

	G "gorgonia.org/gorgonia"
)

// Held returns the bytes of the buffers that an op of this package keeps from its first call on: its output, and what
// it computes with. Ops of Gorgonia's own return 0.
func Held(op G.Op) int64 {
	if h, ok := op.(interface{ held() int64 }); ok {
		return h.held()
	}
	return 0
}

// bytes returns the size of n elements.
func (b *base[T]) bytes(n int) int64 { return int64(n) * int64(unsafe.Sizeof(T(0))) }

func (b *base[T]) held() int64 { return b.bytes(b.to.TotalSize()) }

func (op *Take[T]) held() int64 { return 0 }

func (op *View[T]) held() int64 { return 0 }

func (op *Dropout[T]) held() int64 { return op.base.held() + int64(op.to.TotalSize()) } // the mask

func (op *ConvReLUPool[T]) held() int64 {
	h, w := op.Shape.Conv()
	return op.base.held() + int64(op.Shape.K*op.Shape.B*(h/2)*(w/2)*op.Shape.O) // Arg
}

func (op *Conv2D[T]) held() int64 { return op.base.held() + op.bytes(op.Shape.ForwardBuffers()) }

// held of a gradient has the buffers of its layer's way back, too.
func (op *Grad[T]) held() int64 {
	n := op.base.held()
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
