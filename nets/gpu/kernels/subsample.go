package kernels

// SubsampleArgs are the arguments of subsample and subsample_backward; subsample.cu says what each field means.
type SubsampleArgs struct {
	Work, X, Y, GY, DX    uint64
	B, H, W, C, O, Stride uint32
}

// Out returns the height and the width of y: ⌈H/Stride⌉ and ⌈W/Stride⌉.
func (a *SubsampleArgs) Out() (h, w uint32) {
	return (a.H + a.Stride - 1) / a.Stride, (a.W + a.Stride - 1) / a.Stride
}

// Forward returns the launch of subsample, which writes all of y and reads the pixels of x that it keeps.
func (a *SubsampleArgs) Forward(p Precision) Launch {
	h, w := a.Out()
	return flat(a.B*h*w*a.O, p.act(volume(a.B, h, w, a.O)+volume(a.B, h, w, a.C)))
}

// Backward returns the launch of subsample_backward, which writes all of dx and reads the first C channels of gy.
func (a *SubsampleArgs) Backward(p Precision) Launch {
	h, w := a.Out()
	return flat(a.B*a.H*a.W*a.C, p.act(volume(a.B, a.H, a.W, a.C)+volume(a.B, h, w, a.C)))
}
