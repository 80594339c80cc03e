package optimum

import (
	"fmt"
	"math"
	"testing"

	"rollcall/datasets/plan"
)

// Each client's minimum is that of its problem alone, below its objective where the last client's is smallest.
func TestLocal(t *testing.T) {
	s := drawn(90, 4, 3)
	i := all(90)
	p := Problem{Samples: s, Parts: [][]int32{i[:20], nil, i[20:60], i[60:]}, Ridge: 0.05, Tolerance: Tolerance}
	local, err := Local(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	for k, part := range p.Parts {
		if len(part) == 0 {
			if local[k].W != nil || local[k].Loss != 0 {
				t.Errorf("client %d without samples: %+v, want the zero Solution", k, local[k])
			}
			continue
		}
		own := Problem{Samples: s, Parts: p.Parts[k : k+1], Ridge: p.Ridge, Tolerance: Tolerance}
		alone := solve(t, own)
		near(t, fmt.Sprintf("client %d: objective", k), local[k].Objective, alone.Objective, 0)
		if here := value(&own, local[3].W); k < 3 && !(local[k].Objective < here) {
			t.Errorf("client %d: its minimum %g, want below its objective %g at another client's", k, local[k].Objective, here)
		}
	}
}

// By hand: three labels of a constant feature have their entropy, whatever numbers they have; one class alone has 0, as no
// samples; and two classes of x = ±1 have the weight u of σ(−u) = u/(2n), n = 2: the ridge of two opposite outputs.
func TestReleasedCode(t *testing.T) {
	s := &plan.Samples{
		Name: "hand", H: 1, W: 1, C: 1, Classes: 10, Features: []float32{0, 0, 0, 0, 5, -5, 1, -1},
		Labels: []uint8{2, 2, 5, 9, 4, 4, 7, 3},
	}
	got, err := ReleasedCode(t.Context(), s, [][]int32{{0, 1, 2, 3}, {4, 5}, nil, {6, 7}})
	if err != nil {
		t.Fatal(err)
	}
	u := 1.0
	for range 200 { // Newton's steps of σ(−u) − u/4
		f := 1 / (1 + math.Exp(u))
		u -= (f - u/4) / (-f*(1-f) - 0.25)
	}
	for k, want := range []float64{0.5*math.Log(2) + 0.5*math.Log(4), 0, 0, math.Log1p(math.Exp(-u))} {
		near(t, fmt.Sprintf("client %d", k), got[k], want, 1e-6)
	}
}

func TestReleasedCodeErrors(t *testing.T) {
	s := drawn(20, 3, 3)
	if _, err := ReleasedCode(t.Context(), s, [][]int32{all(10), {3, 20}}); fmt.Sprint(err) != "optimum: client 1: sample 20, want 0 … 19" {
		t.Errorf("got %v", err)
	}
}
