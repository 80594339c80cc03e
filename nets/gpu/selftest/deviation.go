//go:build gpu && linux && cgo

package selftest

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"rollcall/nets/models"
)

// deviation says how far something is from what the CPU engine computes, as a fraction, and how far it may be.
type deviation struct {
	off, most float64
	where     string // what deviates, for an error
}

// wrong reports whether a deviation is larger than it may be. A number that is not finite is wrong.
func (d deviation) wrong() bool { return !(d.off <= d.most) }

// String returns both numbers of a deviation that is not wrong, always in as many columns.
func (d deviation) String() string {
	return fmt.Sprintf("%.1e ≤ %.1e", d.off, d.most)
}

// worst returns the deviation that is nearest to its limit, or farthest beyond it. Limits are above 0.
func worst(all []deviation) deviation {
	return slices.MaxFunc(all, func(a, b deviation) int { return cmp.Compare(a.off/a.most, b.off/b.most) })
}

// finite returns a deviation, or +Inf for a deviation that is not a number.
func finite(v float64) float64 {
	if math.IsNaN(v) {
		return math.Inf(1)
	}
	return v
}

// lossesOff returns the largest difference between losses, as a fraction of the loss in want. The loss of a client
// without samples is 0, and must be 0.
func lossesOff(got, want []float64) (share float64) {
	for i, w := range want {
		if got[i] != w {
			share = max(share, finite(math.Abs(got[i]-w)/w))
		}
	}
	return share
}

// parts calls f for the weights of a net and then, if it has any, for its running statistics. mine says which
// parameters belong to them.
func parts(m *models.Model, f func(what string, mine func(models.Param) bool)) {
	f("weights", func(p models.Param) bool { return !p.Buffer })
	if hasStatistics(m) {
		f("running statistics", func(p models.Param) bool { return p.Buffer })
	}
}

func hasStatistics(m *models.Model) bool {
	return slices.ContainsFunc(m.Params, func(p models.Param) bool { return p.Buffer })
}

// apart returns the largest difference between some parameters of two rows, as a fraction of the largest of want, and
// the parameter that has it.
func apart(m *models.Model, got, want []float32, mine func(models.Param) bool) (share float64, name string) {
	largest, diff := 0.0, -1.0
	for _, p := range m.Params {
		if !mine(p) {
			continue
		}
		for i := p.Offset; i < p.Offset+p.Size; i++ {
			largest = max(largest, math.Abs(float64(want[i])))
			if d := finite(math.Abs(float64(got[i]) - float64(want[i]))); d > diff {
				diff, name = d, p.Name
			}
		}
	}
	if largest == 0 {
		return diff, name
	}
	return diff / largest, name
}

// distance returns the norm of the difference between some parameters of all rows of two results, as a fraction of the
// norm of want, and the parameter that contributes most.
func distance(m *models.Model, got, want result, mine func(models.Param) bool) (share float64, name string) {
	diff, norm, most := 0.0, 0.0, -1.0
	for _, p := range m.Params {
		if !mine(p) {
			continue
		}
		of := 0.0
		for i, row := range want.rows {
			for j := p.Offset; j < p.Offset+p.Size; j++ {
				d := float64(got.rows[i][j]) - float64(row[j])
				of += d * d
				norm += float64(row[j]) * float64(row[j])
			}
		}
		if of = finite(of); of > most {
			most, name = of, p.Name
		}
		diff += of
	}
	return finite(math.Sqrt(diff / norm)), name
}
