package ops

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/nets/cpu/kernels"
)

// DrawWords is the number of words per client in a draw node, which is [K,DrawWords] int32: the seed, the round, the
// client and the step, which together say where in the generator the client draws.
const DrawWords = 4

// Dropout zeroes elements with probability Rate and scales the others by 1/(1−Rate): y = x·mask/(1−Rate).
// x, y [K,B,F]. The mask depends on the draw of the client [K,4] and on Layer alone, see [kernels.DropoutMask].
type Dropout[T kernels.Float] struct {
	base[T]
	Layer int // the number of the dropout layer in the net, from 0
	Rate  float64
	Mask  []uint8 // [K,B,F] the mask of the last forward pass, 1 for a kept element
	draws []kernels.Draw
	task  kernels.Dropout[T]
	back  kernels.Dropout[T]
}

// NewDropout applies the op to x and the draws.
func NewDropout[T kernels.Float](exec *kernels.Exec[T], x, draw *G.Node, layer int, rate float64) (*G.Node, error) {
	const name = "dropout"
	s, err := shapes(name, x, draw)
	if err != nil {
		return nil, err
	}
	if s[0].Dims() != 3 || s[1].Dims() != 2 || s[1][1] != DrawWords {
		return nil, fmt.Errorf("ops: %s: x %v, draw %v, want [K,B,F], [K,%d]", name, s[0], s[1], DrawWords)
	}
	if !(rate >= 0 && rate < 1) {
		return nil, fmt.Errorf("ops: %s: rate %g, want 0 ≤ rate < 1", name, rate)
	}
	op := &Dropout[T]{
		base: newBase(exec, fmt.Sprintf("%s(layer=%d rate=%g)", name, layer, rate), []bool{true, false},
			s[0], x, draw),
		Layer: layer, Rate: rate, draws: make([]kernels.Draw, s[0][0]),
	}
	op.in[1] = G.TensorType{Dims: 2, Of: tensor.Int32}
	return G.ApplyOp(op, x, draw)
}

// SymDiff implements [G.SDOp].
func (op *Dropout[T]) SymDiff(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	dx, err := gradient(op, in[0].Shape(), out, grad)
	return G.Nodes{dx, nil}, err
}

// Do implements [G.Op].
func (op *Dropout[T]) Do(in ...G.Value) (G.Value, error) {
	var x []T
	if err := op.values(in, &x); err != nil {
		return nil, err
	}
	words, err := op.ints(in[1], "draw holds")
	if err != nil {
		return nil, err
	}
	for k := range op.draws {
		w := words[k*DrawWords:]
		op.draws[k] = kernels.Draw{Seed: uint32(w[0]), Round: uint32(w[1]), Client: uint32(w[2]), Step: uint32(w[3])}
	}
	y := op.output()
	if op.Mask == nil {
		op.Mask = make([]uint8, len(y))
	}
	op.task.Forward(op.exec, y, op.Mask, x, op.draws, op.Layer, op.Rate)
	return op.out, nil
}

// Backward computes dx = gy·mask/(1−Rate) from gy, the gradient of y. It also has y as an input, so that it runs after
// the forward pass, which draws the mask.
func (op *Dropout[T]) Backward(g *Grad[T], in []G.Value) error {
	var y, gy []T
	if err := g.values(in, &y, &gy); err != nil {
		return err
	}
	op.back.Backward(op.exec, g.buf, gy, op.Mask, op.Rate)
	return nil
}
