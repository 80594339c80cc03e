package ops

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/nets/cpu"
)

// CrossEntropy is the loss of each client: loss[k] is the mean of −log softmax(logits[k,b])[label[k,b]] over the
// samples b with a label ≥ 0. logits [K,B,O], labels [K,B] int32, loss [K]. Label −1 marks padding; a batch that is all
// padding has loss 0.
type CrossEntropy[T cpu.Float] struct{ base[T] }

// NewCrossEntropy applies the op to logits and labels.
func NewCrossEntropy[T cpu.Float](exec *cpu.Exec[T], logits, labels *G.Node) (*G.Node, error) {
	const name = "cross_entropy"
	s, err := shapes(name, logits, labels)
	if err != nil {
		return nil, err
	}
	if s[0].Dims() != 3 || s[1].Dims() != 2 || s[0][1] != s[1][1] {
		return nil, fmt.Errorf("ops: %s: logits %v, labels %v, want [K,B,O], [K,B]", name, s[0], s[1])
	}
	op := &CrossEntropy[T]{newBase(exec, name, tensor.Shape{s[0][0]}, logits, labels)}
	return G.ApplyOp(op, logits, labels)
}

// DiffWRT implements [G.SDOp].
func (op *CrossEntropy[T]) DiffWRT(int) []bool { return []bool{true, false} }

// SymDiff implements [G.SDOp].
func (op *CrossEntropy[T]) SymDiff(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	dx, err := gradient(op, in[0].Shape(), in[0], in[1], grad)
	return G.Nodes{dx, nil}, err
}

// Do implements [G.Op].
func (op *CrossEntropy[T]) Do(in ...G.Value) (G.Value, error) {
	logits, labels, err := op.inputs(in)
	if err != nil {
		return nil, err
	}
	loss := op.output()
	for k := range loss {
		loss[k] = cpu.CrossEntropy(op.exec, part(logits, k, len(loss)), part(labels, k, len(loss)), nil, 1)
	}
	return op.out, nil
}

// Backward reads the logits, the labels and the gradient of the loss [K], and computes the gradient of the logits
// [K,B,O].
func (op *CrossEntropy[T]) Backward(g *Grad[T], in []G.Value) error {
	logits, labels, err := g.inputs(in)
	if err != nil {
		return err
	}
	scale, ok := elements[T](in[2])
	if !ok {
		return fmt.Errorf("ops: %s: gradient holds %T, want %T", g.name, in[2].Data(), scale)
	}
	for k, s := range scale {
		cpu.CrossEntropy(op.exec, part(logits, k, len(scale)), part(labels, k, len(scale)),
			part(g.buf, k, len(scale)), s)
	}
	return nil
}

// inputs returns the elements of logits and labels, the first two inputs of CrossEntropy and of its gradient.
func (b *base[T]) inputs(in []G.Value) (logits []T, labels []int32, err error) {
	if err := b.values(in, &logits); err != nil {
		return nil, nil, err
	}
	labels, err = b.ints(in[1], "labels hold")
	return logits, labels, err
}

// part returns the elements of client k in a buffer of all clients.
func part[E any](x []E, k, clients int) []E {
	n := len(x) / clients
	return x[k*n : (k+1)*n]
}
