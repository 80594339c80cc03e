package kernels

// AverageArgs are the arguments of average_pool and average_pool_backward; average_pool.cu says what each field means.
type AverageArgs struct {
	Work, X, Y, GY, DX uint64
	B, Pixels, C       uint32
	_                  uint32
}

// Launch returns the launch of average_pool and of average_pool_backward. One reads maps [B,Pixels,C] and writes their
// averages [B,C]; the other reads the gradient of the averages and writes the gradient of the maps. The traffic is the
// same.
func (a *AverageArgs) Launch(p Precision) Launch {
	return flat(a.B*a.C, p.act(volume(a.B, a.Pixels, a.C)+volume(a.B, a.C)))
}
