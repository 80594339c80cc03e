package ops

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/nets/cpu/kernels"
)

// SumClients adds the losses of the clients [K]. Gorgonia differentiates a scalar, and the sum is one; each client has
// weights of its own, so the sum does not mix their gradients.
type SumClients[T kernels.Float] struct {
	base[T]
	sum G.Value // the output, kept from call to call like the buffers of other ops
}

// NewSumClients applies the op to the losses.
func NewSumClients[T kernels.Float](loss *G.Node) (*G.Node, error) {
	if loss.Shape().Dims() != 1 {
		return nil, fmt.Errorf("ops: sum_clients: loss %v, want [K]", loss.Shape())
	}
	op := &SumClients[T]{base: newBase[T](nil, "sum_clients", []bool{true}, tensor.ScalarShape(), loss)}
	return G.ApplyOp(op, loss)
}

// SymDiff implements [G.SDOp].
func (op *SumClients[T]) SymDiff(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	dx, err := gradient(op, in[0].Shape(), grad)
	return G.Nodes{dx}, err
}

// Do implements [G.Op].
func (op *SumClients[T]) Do(in ...G.Value) (G.Value, error) {
	var loss []T
	if err := op.values(in, &loss); err != nil {
		return nil, err
	}
	sum := T(0)
	for _, l := range loss {
		sum += l
	}
	if op.sum == nil {
		op.sum = newScalar[T]()
	}
	switch v := op.sum.(type) {
	case *G.F32:
		*v = G.F32(sum)
	case *G.F64:
		*v = G.F64(sum)
	}
	return op.sum, nil
}

func newScalar[T kernels.Float]() G.Value {
	if dtypeOf[T]() == tensor.Float32 {
		return G.NewF32(0)
	}
	return G.NewF64(0)
}

// Backward gives every client the gradient of the sum: K copies of a scalar.
func (op *SumClients[T]) Backward(g *Grad[T], in []G.Value) error {
	gy, ok := scalar[T](in[0])
	if !ok {
		return fmt.Errorf("ops: %s: input holds %T, want %T", g.name, in[0].Data(), gy)
	}
	for k := range g.buf {
		g.buf[k] = gy
	}
	return nil
}
