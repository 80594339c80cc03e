package gpu

import (
	"slices"

	"rollcall/nets/models"
)

// layout says where the parameters of a model start in a row on the device. The weights and biases of convolutions and
// fully connected layers come first; the kernels that compute their gradients can update them at once. The weights and
// biases of batch normalisations follow, and behind them the running statistics, which decay, momentum and clipping
// leave alone. So kernel sgd always has one range. Each of the three has the order of the model, and each parameter
// starts at a multiple of rowAlign elements. The elements between parameters are 0 and stay 0.
type layout struct {
	model   *models.Model
	offset  []int // first element of every parameter
	norms   int   // elements before the batch normalisations
	trained int   // elements before the running statistics
	P       int   // elements of a row, a multiple of rowAlign
}

// rowAlign is 256 bytes of float32, so that kernels can copy 16 bytes at a time and read whole cache lines.
const rowAlign = 64

func alignUp(n, to int) int { return (n + to - 1) / to * to }

func newLayout(m *models.Model) layout {
	l := layout{model: m, offset: make([]int, len(m.Params))}
	place := func(norm, buffer bool) int {
		for i, p := range m.Params {
			if p.Buffer == buffer && (buffer || ofNorm(m, i) == norm) {
				l.offset[i] = l.P
				l.P = alignUp(l.P+p.Size, rowAlign)
			}
		}
		return l.P
	}
	l.norms = place(false, false)
	l.trained = place(true, false)
	place(true, true)
	return l
}

// ofNorm returns whether a parameter is the weight or the bias of a batch normalisation: running statistics follow it.
func ofNorm(m *models.Model, param int) bool {
	behind := m.Params[param+1 : min(param+3, len(m.Params))]
	return !m.Params[param].Buffer && slices.ContainsFunc(behind, func(p models.Param) bool { return p.Buffer })
}

// The rows of a model in host memory have no gaps, rows on the device do: spread and gather convert between the two.

// spread copies a model's parameters, without gaps, to a row with the gaps of the layout: dst [P].
func (l *layout) spread(dst, row []float32) {
	clear(dst)
	for i, p := range l.model.Params {
		copy(dst[l.offset[i]:], row[p.At:][:p.Size])
	}
}

// gather copies a row with the gaps of the layout to a model's parameters without gaps: src [P].
func (l *layout) gather(row, src []float32) {
	for i, p := range l.model.Params {
		copy(row[p.At:][:p.Size], src[l.offset[i]:])
	}
}
