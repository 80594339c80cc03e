package ops

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/nets/cpu/kernels"
)

// ConvReLUPool is a convolution with bias, ReLU and 2×2 max pooling, fused:
//
//	y[k,b,i,j,o] = max(0, bias[k,o] + max over the window {2i,2i+1}×{2j,2j+1} of
//	                      Σ_r Σ_s Σ_c w[k,r,s,c,o]·x[k,b,·+r,·+s,c])
//
// x [K,B,H,W,C] includes a border of zeros, Pad pixels wide. The border is constant: its gradient is 0 by definition.
// w [K,R,S,C,O], bias [K,O]. y [K,B,(H−R+1)/2+2·OutPad,(W−S+1)/2+2·OutPad,O] includes the border that the next
// convolution needs.
type ConvReLUPool[T kernels.Float] struct {
	base[T]
	Shape     kernels.ConvShape
	InputGrad bool    // whether the gradient of x is wanted
	Arg       []uint8 // [K,B,(H−R+1)/2,(W−S+1)/2,O] which pixel of its window the maximum is, see [kernels.Kernels]
	task      kernels.ConvForward[T]
	back      kernels.ConvBackward[T]
}

// NewConvReLUPool applies the op to x, w and bias.
func NewConvReLUPool[T kernels.Float](
	exec *kernels.Exec[T], x, w, bias *G.Node, pad, outPad int, inputGrad bool,
) (*G.Node, error) {
	const name = "conv_relu_pool"
	s, err := shapes(name, x, w, bias)
	if err != nil {
		return nil, err
	}
	xs, ws, bs := s[0], s[1], s[2]
	if xs.Dims() != 5 || ws.Dims() != 5 || bs.Dims() != 2 || xs[4] != ws[3] || ws[4] != bs[1] {
		return nil, fmt.Errorf("ops: %s: x %v, w %v, bias %v, want [K,B,H,W,C], [K,R,S,C,O], [K,O]", name, xs, ws, bs)
	}
	shape := kernels.ConvShape{
		K: xs[0], B: xs[1], H: xs[2], W: xs[3], C: xs[4], R: ws[1], S: ws[2], O: ws[4], Pad: pad, OutPad: outPad,
	}
	if h, w := shape.Conv(); h < 2 || w < 2 || h%2 != 0 || w%2 != 0 {
		return nil, fmt.Errorf("ops: %s: the convolution of %v with %v is %d×%d, want even and at least 2×2 to pool",
			name, xs, ws, h, w)
	}
	if pad < 0 || outPad < 0 || pad >= shape.R || pad >= shape.S {
		return nil, fmt.Errorf("ops: %s: border %d around a %d×%d window, want 0 … %d",
			name, pad, shape.R, shape.S, min(shape.R, shape.S)-1)
	}
	oh, ow := shape.Out()
	op := &ConvReLUPool[T]{
		base: newBase(exec, fmt.Sprintf("%s(pad=%d outpad=%d dx=%t)", name, pad, outPad, inputGrad),
			[]bool{inputGrad, true, true}, tensor.Shape{shape.K, shape.B, oh, ow, shape.O}, x, w, bias),
		Shape: shape, InputGrad: inputGrad,
	}
	return G.ApplyOp(op, x, w, bias)
}

// SymDiff implements [G.SDOp].
func (op *ConvReLUPool[T]) SymDiff(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	return gradients(op, in, op.InputGrad, in[0], in[1], out, grad)
}

// Do implements [G.Op].
func (op *ConvReLUPool[T]) Do(in ...G.Value) (G.Value, error) {
	var x, w, b []T
	if err := op.values(in, &x, &w, &b); err != nil {
		return nil, err
	}
	y := op.output()
	if op.Arg == nil {
		h, w := op.Shape.Conv()
		op.Arg = make([]uint8, op.Shape.K*op.Shape.B*(h/2)*(w/2)*op.Shape.O)
	}
	op.task.Run(op.exec, op.Shape, y, op.Arg, x, w, b)
	return op.out, nil
}

// Backward reads x, w, y, the gradient of y and Arg, and computes one vector [dx|dw|db]; dx is there only if InputGrad.
func (op *ConvReLUPool[T]) Backward(g *Grad[T], in []G.Value) error {
	var x, w, y, gy []T
	if err := g.values(in, &x, &w, &y, &gy); err != nil {
		return err
	}
	dx, dw, db := split(g.buf, len(x), len(w), op.InputGrad)
	op.back.Run(op.exec, op.Shape, dx, dw, db, x, w, gy, op.Arg)
	return nil
}
