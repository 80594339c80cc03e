package kernels

// What the kernels with matrix products cost. A product of two matrices is 2 × rows × columns × the length of the sums.

// sizes are the elements of x, w, y (as many as arg and gy) and the multiply-adds of a convolution with pooling.
func (a *ConvArgs) sizes() (x, w, y, macs int64) {
	rows, columns := a.pooled()
	w = volume(a.R, a.S, a.C, a.O)
	windows := int64(a.B) * int64(rows) * int64(columns)
	return volume(a.B, a.H, a.W, a.C), w, windows * int64(a.O), 4 * windows * w
}

// ForwardCost is that of conv_forward: x, w, y, and arg in bytes.
func (a *ConvArgs) ForwardCost(p Precision) Cost {
	x, w, y, macs := a.sizes()
	return Cost{FLOP: 2 * macs, Bytes: p.act(x+w+y) + y}
}

// BackwardDataCost is that of conv_backward_data: gy, w, dx, and arg in bytes.
func (a *ConvArgs) BackwardDataCost(p Precision) Cost {
	x, w, y, macs := a.sizes()
	return Cost{FLOP: 2 * macs, Bytes: p.act(y+w+x) + y}
}

// BackwardFilterCost is that of conv_backward_filter: x, gy, arg in bytes, and the partial sums of dw and db; Images must be set.
func (a *ConvArgs) BackwardFilterCost(p Precision) Cost {
	x, w, y, macs := a.sizes()
	chunks := int64(blocks(a.B, int(a.Images)))
	return Cost{FLOP: 2 * macs, Bytes: p.act(x+y) + y + 4*chunks*(w+int64(a.O))}
}

// sizes are the elements of x, w, y (as many as gy) and the multiply-adds of a convolution without pooling.
func (a *Conv2DArgs) sizes() (x, w, y, macs int64) {
	rows, columns := a.Out()
	w = volume(a.R, a.S, a.C, a.O)
	return volume(a.B, a.H, a.W, a.C), w, volume(a.B, rows, columns, a.O), volume(a.B, rows, columns) * w
}

// ForwardCost is that of conv2d_forward: x, w, y.
func (a *Conv2DArgs) ForwardCost(p Precision) Cost {
	x, w, y, macs := a.sizes()
	return Cost{FLOP: 2 * macs, Bytes: p.act(x + w + y)}
}

// BackwardDataCost is that of conv2d_backward_data: gy, w, dx.
func (a *Conv2DArgs) BackwardDataCost(p Precision) Cost { return a.ForwardCost(p) }

// BackwardFilterCost is that of conv2d_backward_filter: x, gy, and dw of every chunk in float; Images must be set.
func (a *Conv2DArgs) BackwardFilterCost(p Precision) Cost {
	x, w, y, macs := a.sizes()
	return Cost{FLOP: 2 * macs, Bytes: p.act(x+y) + 4*int64(blocks(a.B, int(a.Images)))*w}
}

// sizes are the elements of x, w, y and the multiply-adds of a fully connected layer.
func (a *LinearArgs) sizes() (x, w, y, macs int64) {
	return volume(a.B, a.I), volume(a.I, a.O), volume(a.B, a.O), volume(a.B, a.I, a.O)
}

// ForwardCost is that of linear_forward: x, w, y, the latter in float if YFloat.
func (a *LinearArgs) ForwardCost(p Precision) Cost {
	x, w, y, macs := a.sizes()
	bytes := p.act(x + w)
	if a.YFloat != 0 {
		return Cost{FLOP: 2 * macs, Bytes: bytes + 4*y}
	}
	return Cost{FLOP: 2 * macs, Bytes: bytes + p.act(y)}
}

// BackwardDataCost is that of linear_backward_data: gy, w, dx.
func (a *LinearArgs) BackwardDataCost(p Precision) Cost {
	x, w, y, macs := a.sizes()
	return Cost{FLOP: 2 * macs, Bytes: p.act(y + w + x)}
}

// BackwardFilterCost is that of linear_backward_filter: x, gy, and dw in float.
func (a *LinearArgs) BackwardFilterCost(p Precision) Cost {
	x, w, y, macs := a.sizes()
	return Cost{FLOP: 2 * macs, Bytes: p.act(x+y) + 4*w}
}
