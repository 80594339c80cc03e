package predict

import (
	"math"
	"testing"
)

// The card `round` takes half a second to start a launch.
func TestEnds(t *testing.T) {
	work := func(seconds, share float64, after ...int) Work {
		return Work{Times{Total: seconds + round.Launch}, share, after}
	}
	for name, c := range map[string]struct {
		step []Work
		want []float64
	}{
		"one after the other": {[]Work{work(2, 1), work(3, 0.1, 0)}, []float64{2.5, 6}},
		"both find room":      {[]Work{work(2, 0.5), work(3, 0.25)}, []float64{2.5, 3.5}},
		"the first fills the card": {
			[]Work{work(2, 1), work(3, 0.25)},
			[]float64{2.5, 5.5},
		},
		// The second has 0.4 of the card and wants 0.8: after 2 seconds it has done 1 of its 3.
		"the second is squeezed": {[]Work{work(2, 0.6), work(3, 0.8)}, []float64{2.5, 4.5}},
		// 2 begins at 1.5, beside 1, which lasts to 4.5; 3 waits for both.
		"a branch": {
			[]Work{work(0.5, 0.5), work(3, 0.5, 0), work(1, 0.5, 0), work(1, 1, 1, 2)},
			[]float64{1, 4.5, 2.5, 6},
		},
		"nothing to do": {[]Work{work(0, 0.5), work(1, 1, 0)}, []float64{0.5, 2}},
	} {
		for i, got := range round.Ends(c.step) {
			if math.Abs(got-c.want[i]) > 1e-12 {
				t.Errorf("%s: launch %d ends after %g s, want %g", name, i, got, c.want[i])
			}
		}
	}
}

// Five blocks on two multiprocessors: one has three, the other two and then nothing to do.
func TestShare(t *testing.T) {
	k, counts := run(t)
	l := Launch{Blocks: 5, Threads: 64, Counted: counts, PTX: k, Code: machine(plain("MOV", 12), plain("EXIT", 20))}
	for clients, want := range map[int]float64{1: 5.0 / 6, 2: 1} {
		if w := round.Work(l, clients, []int{0}); w.Share != want || w.Times != round.Predict(l, clients) {
			t.Errorf("%d clients: %+v, want a share of %g", clients, w, want)
		}
	}
}
