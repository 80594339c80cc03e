package ops

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/nets/cpu/kernels"
)

// CrossEntropy is the loss of each client: loss[k] is the mean of −log softmax(logits[k,b])[label[k,b]] over the
// samples b with a label ≥ 0. logits [K,B,O], labels [K,B] int32, loss [K]. Label −1 marks padding; a batch that is all
// padding has loss 0.
type CrossEntropy[T kernels.Float] struct {
	base[T]
	logits  int // number of logits
	dlogits []T // [K,B,O] the gradient of Σ_k loss[k], which is computed with the loss
}

// NewCrossEntropy applies the op to logits and labels.
func NewCrossEntropy[T kernels.Float](exec *kernels.Exec[T], logits, labels *G.Node) (*G.Node, error) {
	const name = "cross_entropy"
	s, err := shapes(name, logits, labels)
	if err != nil {
		return nil, err
	}
	if s[0].Dims() != 3 || s[1].Dims() != 2 || s[0][1] != s[1][1] {
		return nil, fmt.Errorf("ops: %s: logits %v, labels %v, want [K,B,O], [K,B]", name, s[0], s[1])
	}
	op := &CrossEntropy[T]{
		base:   newBase(exec, name, []bool{true, false}, tensor.Shape{s[0][0]}, logits, labels),
		logits: s[0].TotalSize(),
	}
	return G.ApplyOp(op, logits, labels)
}

// SymDiff implements [G.SDOp].
func (op *CrossEntropy[T]) SymDiff(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	dx, err := gradient(op, in[0].Shape(), in[0], in[1], out, grad)
	return G.Nodes{dx, nil}, err
}

// Do implements [G.Op].
func (op *CrossEntropy[T]) Do(in ...G.Value) (G.Value, error) {
	var logits []T
	if err := op.values(in, &logits); err != nil {
		return nil, err
	}
	labels, err := op.ints(in[1], "labels hold")
	if err != nil {
		return nil, err
	}
	loss := op.output()
	if op.dlogits == nil {
		op.dlogits = make([]T, op.logits)
	}
	for k := range loss {
		loss[k] = kernels.CrossEntropy(op.exec, part(logits, k, len(loss)), part(labels, k, len(loss)),
			part(op.dlogits, k, len(loss)))
	}
	return op.out, nil
}

// Backward computes the gradient of the logits [K,B,O] from the last input, the gradient of the loss [K]. The forward
// pass has read the others: logits and labels are there for engines that compute loss and gradient here, and the loss
// so that the forward pass comes first.
func (op *CrossEntropy[T]) Backward(g *Grad[T], in []G.Value) error {
	var gloss []T
	if err := g.values(in[3:], &gloss); err != nil {
		return err
	}
	for k, c := range gloss {
		op.exec.Scale(part(g.buf, k, len(gloss)), c, part(op.dlogits, k, len(gloss)))
	}
	return nil
}

func part[E any](x []E, k, clients int) []E {
	n := len(x) / clients
	return x[k*n : (k+1)*n]
}
