package ops

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/nets/cpu/kernels"
)

// Conv2D is a convolution without bias. With U = Stride, and the pixels of x counted from the first that a window
// reads:
//
//	y[k,b,i,j,o] = Σ_r Σ_s Σ_c w[k,r,s,c,o]·x[k,b,U·i+r,U·j+s,c]
//
// x [K,B,H,W,C] includes a border of zeros, Border pixels wide, and the windows reach Pad ≤ Border pixels into it. The
// border is constant: its gradient is 0 by definition. w [K,R,S,C,O]. y has no border:
// [K,B,(H−2·Border+2·Pad−R)/U+1,(W−2·Border+2·Pad−S)/U+1,O].
type Conv2D[T kernels.Float] struct {
	base[T]
	Shape     kernels.Conv2DShape
	InputGrad bool // whether the gradient of x is wanted
	task      kernels.Conv2DForward[T]
	back      kernels.Conv2DBackward[T]
	norm      *BatchNorm[T] // behind it; its only reader, if there is one

	// Plus is added to the gradient of x unless it is nil: the other gradient of an x that two ops read.
	Plus []T
}

// NewConv2D applies the op to x and w.
func NewConv2D[T kernels.Float](
	exec *kernels.Exec[T], x, w *G.Node, stride, border, pad int, inputGrad bool,
) (*G.Node, error) {
	const name = "conv2d"
	s, err := shapes(name, x, w)
	if err != nil {
		return nil, err
	}
	xs, ws := s[0], s[1]
	if xs.Dims() != 5 || ws.Dims() != 5 || xs[4] != ws[3] {
		return nil, fmt.Errorf("ops: %s: x %v, w %v, want [K,B,H,W,C], [K,R,S,C,O]", name, xs, ws)
	}
	shape := kernels.Conv2DShape{
		K: xs[0], B: xs[1], H: xs[2], W: xs[3], C: xs[4], R: ws[1], S: ws[2], O: ws[4],
		Stride: stride, Border: border, Pad: pad,
	}
	if stride < 1 || pad < 0 || border < pad || pad >= shape.R || pad >= shape.S {
		return nil, fmt.Errorf("ops: %s: stride %d, border %d and padding %d around a %d×%d window, want stride ≥ 1, "+
			"0 ≤ padding ≤ border, padding below the window", name, stride, border, pad, shape.R, shape.S)
	}
	if grow := 2 * (pad - border); shape.H+grow < shape.R || shape.W+grow < shape.S || shape.H <= 2*border ||
		shape.W <= 2*border {
		return nil, fmt.Errorf("ops: %s: x %v with a border of %d, padded by %d, is smaller than the %d×%d window",
			name, xs, border, pad, shape.R, shape.S)
	}
	h, wd := shape.Out()
	op := &Conv2D[T]{
		base: newBase(exec, fmt.Sprintf("%s(stride=%d border=%d pad=%d dx=%t)", name, stride, border, pad, inputGrad),
			[]bool{inputGrad, true}, tensor.Shape{shape.K, shape.B, h, wd, shape.O}, x, w),
		Shape: shape, InputGrad: inputGrad,
	}
	return G.ApplyOp(op, x, w)
}

// SymDiff implements [G.SDOp].
func (op *Conv2D[T]) SymDiff(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	if op.norm != nil && InputGradient[T](grad) != G.Op(op.norm) {
		return nil, fmt.Errorf("ops: %s: the output has other readers than its batch_norm, want none", op.name)
	}
	return gradients(op, in, op.InputGrad, in[0], in[1], grad)
}

// Do implements [G.Op].
func (op *Conv2D[T]) Do(in ...G.Value) (G.Value, error) {
	var x, w []T
	if err := op.values(in, &x, &w); err != nil {
		return nil, err
	}
	op.task.Run(op.exec, op.Shape, op.output(), x, w)
	return op.out, nil
}

// Backward reads x, w and the gradient of y, and computes one vector [dx|dw]; dx is there only if InputGrad. Behind
// the op may be a batch normalisation: then it computes the gradient of y itself, and may overwrite y with it.
func (op *Conv2D[T]) Backward(g *Grad[T], in []G.Value) error {
	var x, w, gy []T
	if err := g.values(in, &x, &w, &gy); err != nil {
		return err
	}
	dx, dw, _ := split(g.buf, len(x), len(w), op.InputGrad)
	var norm *kernels.NormBackward[T]
	if op.norm != nil { // gy is nowhere yet, and y no longer needed
		norm, gy = &op.norm.back, op.buf
	}
	op.back.Run(op.exec, op.Shape, dx, dw, x, w, gy, op.Plus, norm)
	return nil
}
