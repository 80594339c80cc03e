package gpu

import "rollcall/nets"

// layout says where the parameters of a model start in a row on the device. Trained parameters come first, in the order
// of the model; running statistics follow, so that decay, momentum and clipping can end before them. Each parameter
// starts at a multiple of rowAlign elements. The elements between parameters are 0 and stay 0.
type layout struct {
	model   *nets.Model
	offset  []int // first element of every parameter
	trained int   // elements before the running statistics
	P       int   // elements of a row, a multiple of rowAlign
}

// rowAlign is 256 bytes of float32, so that kernels can copy 16 bytes at a time and read whole cache lines.
const rowAlign = 64

// alignUp rounds n up to a multiple of to.
func alignUp(n, to int) int { return (n + to - 1) / to * to }

// newLayout returns the layout of a model's rows.
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

// The rows of a model in host memory have no gaps, rows on the device do: spread and gather convert between the two.

// spread copies a model's parameters, without gaps, to a row with the gaps of the layout: dst [P].
func (l *layout) spread(dst, row []float32) {
	clear(dst)
	for i, p := range l.model.Params {
		copy(dst[l.offset[i]:], row[p.Offset:][:p.Size])
	}
}

// gather copies a row with the gaps of the layout to a model's parameters without gaps: src [P].
func (l *layout) gather(row, src []float32) {
	for i, p := range l.model.Params {
		copy(row[p.Offset:][:p.Size], src[l.offset[i]:])
	}
}
