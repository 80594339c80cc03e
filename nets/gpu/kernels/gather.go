package kernels

// GatherArgs are the arguments of gather; gather.cu says what each field means.
type GatherArgs struct {
	Work, Images, Features, Classes, Table, Y, Labels uint64
	Step, E, B, H, W, C                               uint32
	Pixel, _                                          uint32 // 0 stands for C
	StrideB, StrideI, StrideJ, StrideC                uint32 // set by Launch
}

const (
	gatherBlock  = 4096 // elements of a block: 16 per thread
	gatherStaged = 32   // STAGED of gather.cu: the most channels whose table fits shared memory
)

// Launch returns the launch of gather. Sources of pixels are bytes, sources of features are floats; which of the two it
// is follows from Images, so that Images must be set, or 0, before the call.
func (a *GatherArgs) Launch(p Precision) Launch {
	a.Pixel = max(a.C, a.Pixel)
	const stride = 4 * flatThreads
	a.StrideC, a.StrideJ = stride%a.Pixel, stride/a.Pixel%a.W
	a.StrideI, a.StrideB = stride/a.Pixel/a.W%a.H, stride/a.Pixel/a.W/a.H
	n, y := volume(a.B, a.H, a.W, a.C), volume(a.B, a.H, a.W, a.Pixel)
	l := Launch{Geometry{X: ceil(uint32(y), gatherBlock), Threads: flatThreads}, Cost{Bytes: n + p.act(y)}}
	if a.Images == 0 {
		l.Bytes = 4*n + p.act(y)
	} else if a.C <= gatherStaged {
		l.Shared = int(a.C) * 256 * 4
	}
	return l
}
