package optimum

import (
	"fmt"
	"math"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/internal/must"
)

// Each client's smallest loss is the smallest loss of its problem alone; a client without samples has 0.
func TestLocal(t *testing.T) {
	s, i := drawn(90, 4, 3), all(90)
	parts := [][]int32{i[:20], nil, i[20:60], i[60:]}
	local := must.Get(Local(t.Context(), s, parts, 0.05))(t)
	last := solved(t, s, parts[3], 0.05, false).place
	for k, part := range parts {
		if len(part) == 0 {
			near(t, fmt.Sprintf("client %d without samples", k), local[k], 0, 0)
			continue
		}
		alone := solved(t, s, part, 0.05, false)
		near(t, fmt.Sprintf("client %d: loss", k), local[k], alone.loss, 0)
		if here := value(s, part, 0.05, false, last); k < 3 && !(alone.value < here) {
			t.Errorf("client %d: its minimum %g, want below its objective %g at another client's", k, alone.value, here)
		}
	}
}

// By hand: three labels of a constant feature have their entropy, whatever numbers they have; one class alone has 0, as
// no samples; and two classes of x = ±1 have the weight u of σ(−u) = u/(2n), n = 2: the ridge of two opposite outputs.
func TestReleasedCode(t *testing.T) {
	s := &plan.Samples{
		Name: "hand", H: 1, W: 1, C: 1, Classes: 10,
		Features: []float32{0, 0, 0, 0, 5, -5, 1, -1}, Labels: []uint8{2, 2, 5, 9, 4, 4, 7, 3},
	}
	got := must.Get(ReleasedCode(t.Context(), s, [][]int32{{0, 1, 2, 3}, {4, 5}, nil, {6, 7}}))(t)
	u := 1.0
	for range 200 { // Newton's steps of σ(−u) − u/4
		f := 1 / (1 + math.Exp(u))
		u -= (f - u/4) / (-f*(1-f) - 0.25)
	}
	for k, want := range []float64{0.5*math.Log(2) + 0.5*math.Log(4), 0, 0, math.Log1p(math.Exp(-u))} {
		near(t, fmt.Sprintf("client %d", k), got[k], want, 1e-6)
	}
}
