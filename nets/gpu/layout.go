package gpu

import "rollcall/nets"

// layout says where the parameters stand in a row on the device: in the order of the model, but running statistics
// behind all that is trained, each from a multiple of rowAlign elements on; the elements between are 0 and stay 0.
type layout struct {
	model   *nets.Model
	offset  []int // of every parameter
	trained int   // elements in front of the running statistics
	P       int   // elements of a row, a multiple of rowAlign
}

// rowAlign is 256 bytes of float32: what 16-byte copies and whole cache lines want.
const rowAlign = 64

func alignUp(n, to int) int { return (n + to - 1) / to * to }

func newLayout(m *nets.Model) layout {
	l := layout{model: m, offset: make([]int, len(m.Params))}
	place := func(buffers bool) {
		for i, p := range m.Params {
			if p.Buffer == buffers {
				l.offset[i] = l.P
				l.P = alignUp(l.P+p.Size, rowAlign)
			}
		}
	}
	place(false)
	l.trained = l.P
	place(true)
	return l
}

// spread writes a row [Params] of the kernels' order with the room between parameters: dst [P].
func (l *layout) spread(dst, row []float32) {
	clear(dst)
	for i, p := range l.model.Params {
		copy(dst[l.offset[i]:], row[p.Offset:][:p.Size])
	}
}

// gather is the way back.
func (l *layout) gather(row, src []float32) {
	for i, p := range l.model.Params {
		copy(row[p.Offset:][:p.Size], src[l.offset[i]:])
	}
}
