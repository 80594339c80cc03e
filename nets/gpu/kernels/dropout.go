package kernels

// DropoutArgs are the arguments of dropout; dropout.cu says what each field means.
type DropoutArgs struct {
	Work, X, Y                uint64
	N, Layer, Threshold, Step uint32
	Scale                     float32
	_                         uint32
}

// Launch returns the launch of dropout, which reads x and writes y. The mask costs no traffic: every thread draws the
// words it needs.
func (a *DropoutArgs) Launch(p Precision) Launch { return flat(a.N, p.act(2*int64(a.N))) }
