package ops

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/nets/cpu/kernels"
)

// BatchNormMomentum is the weight of a new batch in the running statistics. It is the default of PyTorch's BatchNorm2d.
const BatchNormMomentum = 0.1

// BatchNorm normalises every channel. If asked, it then adds the maps of a shortcut (add) and clamps at 0:
//
//	y[k,b,i,j,c] = max(0, weight[k,c]·(x[k,b,i,j,c] − m[k,c])/√(v[k,c] + 10⁻⁵) + bias[k,c] + add[k,b,i,j,c])
//
// In training, m and v are the mean and the biased variance of x[k,·,·,·,c] over the samples with a label ≥ 0. The
// other samples are padding: their y and their gradients are 0. In evaluation, m and v are the running statistics,
// every sample counts, and there is no gradient. Maps of one pixel cannot be trained: a batch of one sample would have
// no variance. (PyTorch refuses only when the batch does have one sample.)
//
// Inputs: x [K,B,H,W,C] without a border; add, if Add, in the shape of y with its border; weight, bias, running mean
// and running variance [K,C]; labels [K,B] int32, in training only. y [K,B,H+2·OutPad,W+2·OutPad,C], its border 0.
//
// The op does not update the running statistics: the engines do, when they update the weights (updateStatistics in
// nets/cpu/train.go). They find what they need in the place of the two gradients of the running statistics, where
// Backward writes the mean and the unbiased variance of the batch:
//
//	running ← running − BatchNormMomentum·(running − batch)
//
// A client whose batch is all padding has zeros there and in all gradients; its running statistics must not move.
type BatchNorm[T kernels.Float] struct {
	base[T]
	Shape kernels.NormShape
	Add   bool
	Train bool
	stats *kernels.NormStats[T]
	task  kernels.NormForward[T]
	back  kernels.NormBackward[T]
}

// NewBatchNorm applies the op. If add is nil, nothing is added; if labels is nil, the op is one of evaluation.
func NewBatchNorm[T kernels.Float](
	exec *kernels.Exec[T], x, add, weight, bias, mean, variance, labels *G.Node, outPad int, relu bool,
) (*G.Node, error) {
	const name = "batch_norm"
	in := G.Nodes{x, weight, bias, mean, variance}
	if add != nil {
		in = G.Nodes{x, add, weight, bias, mean, variance}
	}
	if labels != nil {
		in = append(in, labels)
	}
	s, err := shapes(name, in...)
	if err != nil {
		return nil, err
	}
	xs := s[0]
	if xs.Dims() != 5 || outPad < 0 {
		return nil, fmt.Errorf("ops: %s: x %v, border %d, want [K,B,H,W,C], at least 0", name, xs, outPad)
	}
	y := tensor.Shape{xs[0], xs[1], xs[2] + 2*outPad, xs[3] + 2*outPad, xs[4]}
	if add != nil && !add.Shape().Eq(y) {
		return nil, fmt.Errorf("ops: %s: maps to add %v, want %v", name, add.Shape(), y)
	}
	for _, p := range (G.Nodes{weight, bias, mean, variance}) {
		if ps := p.Shape(); ps.Dims() != 2 || ps[1] != xs[4] {
			return nil, fmt.Errorf("ops: %s: %s %v, want [%d,%d]", name, p.Name(), ps, xs[0], xs[4])
		}
	}
	if labels != nil {
		if ls := labels.Shape(); ls.Dims() != 2 || ls[1] != xs[1] {
			return nil, fmt.Errorf("ops: %s: labels %v, want [%d,%d]", name, ls, xs[0], xs[1])
		}
		if xs[2]*xs[3] < 2 {
			return nil, fmt.Errorf("ops: %s: maps of one pixel: a batch of one sample has no variance, "+
				"want at least 2 pixels", name)
		}
	}
	wrt := make([]bool, len(in)) // the labels, which are the last input, have none
	for i := range wrt {
		wrt[i] = labels != nil && i < len(in)-1
	}
	op := &BatchNorm[T]{
		base: newBase(exec, fmt.Sprintf("%s(outpad=%d relu=%t add=%t train=%t)",
			name, outPad, relu, add != nil, labels != nil), wrt, y, in...),
		Shape: kernels.NormShape{K: xs[0], B: xs[1], H: xs[2], W: xs[3], C: xs[4], OutPad: outPad, ReLU: relu},
		Add:   add != nil, Train: labels != nil,
	}
	return G.ApplyOp(op, in...)
}

// SymDiff implements [G.SDOp]. If x is the output of a [Conv2D], whose only reader the op must be, its gradient is not
// in the vector: the gradient of the convolution, which is the only reader of that, computes it piece by piece.
func (op *BatchNorm[T]) SymDiff(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	if !op.Train {
		return nil, fmt.Errorf("ops: %s: no gradient in evaluation", op.name)
	}
	last := len(in) - 1
	of := in[:last]
	weight := of[len(of)-4]
	grads, err := gradients(op, of, true, in[0], weight, in[last], out, grad)
	if err != nil {
		return nil, err
	}
	if conv, ok := in[0].Op().(*Conv2D[T]); ok {
		conv.norm = op
		grads[0].Op().(*Take[T]).of.absent = in[0].Shape().TotalSize()
	}
	return append(grads, nil), nil
}

// Do implements [G.Op].
func (op *BatchNorm[T]) Do(in ...G.Value) (G.Value, error) {
	var x, add, weight, bias, mean, variance []T
	floats := in
	var labels []int32
	if op.Train {
		last := len(in) - 1
		var err error
		if labels, err = op.ints(in[last], "labels hold"); err != nil {
			return nil, err
		}
		floats = in[:last]
	}
	if op.Add {
		if err := op.values(floats[:2], &x, &add); err != nil {
			return nil, err
		}
	} else if err := op.values(floats[:1], &x); err != nil {
		return nil, err
	}
	if err := op.values(floats[len(floats)-4:], &weight, &bias, &mean, &variance); err != nil {
		return nil, err
	}
	if op.Train {
		op.stats = op.task.Train(op.exec, op.Shape, op.output(), x, add, weight, bias, labels)
	} else {
		op.task.Evaluate(op.exec, op.Shape, op.output(), x, add, weight, bias, mean, variance)
	}
	return op.out, nil
}

// Backward reads x, weight, labels, y and the gradient of y, and computes one vector
// [dx|dadd|dweight|dbias|mean|variance]. dx is not there behind a convolution, and dadd only if Add. mean and variance
// are the mean and the unbiased variance of the batch.
func (op *BatchNorm[T]) Backward(g *Grad[T], in []G.Value) error {
	var x, weight, y, gy []T
	if err := g.values(in[:2], &x, &weight); err != nil {
		return err
	}
	labels, err := g.ints(in[2], "labels hold")
	if err != nil {
		return err
	}
	if err := g.values(in[3:], &y, &gy); err != nil {
		return err
	}
	rest := g.buf
	cut := func(n int) (head []T) {
		head, rest = rest[:n], rest[n:]
		return head
	}
	var dx, dadd []T
	if g.absent == 0 {
		dx = cut(len(x))
	}
	if op.Add {
		dadd = cut(len(y))
	}
	n := len(weight)
	dw, db := cut(n), cut(n)
	op.back.Run(op.exec, op.Shape, dadd, dw, db, x, weight, y, gy, labels, op.stats)
	if dx != nil {
		op.back.All(op.exec, dx)
	}
	copy(cut(n), op.stats.Mean)
	copy(cut(n), op.stats.Unbiased)
	return nil
}
