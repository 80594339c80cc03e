package e2e

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
)

// LEAF by availability: 4 of 8 clients are more available, so s = 7000/44 = 159.09, and 1590 and 159 samples, of which
// nine tenths are for training: 1431 and 143. The importance by size says so.
func TestLEAFByAvailability(t *testing.T) {
	for _, preset := range []string{"code-no-momentum", "paper"} {
		out := t.TempDir()
		pass(t, strings.Fields("run --method unbiased --data leaf --leaf-augmentation --leaf-iid --weights size "+
			"--availability markov --clients 8 --rounds 1 --decisions --preset "+preset+" --out "+out)...)
		decisions := must.Get(results.ReadDecisions(only(t, out, "run/*/seed-*/"+results.DecisionsFile)))(t)
		more := 0
		for _, d := range decisions {
			want := 143. / (4 * (1431 + 143))
			if d.Pi > 0.5 {
				want = 1431. / (4 * (1431 + 143))
				more++
			}
			if math.Abs(d.Target-want) > 1e-9 { // decisions.csv has ten digits or more
				t.Errorf("%s: client %d of π %g: importance %g, want %g", preset, d.Client, d.Pi, d.Target, want)
			}
		}
		if more != 4 || len(decisions) != 8 {
			t.Errorf("%s: %d of %d clients more available, want 4 of 8", preset, more, len(decisions))
		}
	}
}

// The estimators' errors fall with the history, and λ's are larger (ToN, figure 4a), here with 20 clients and ten
// seeds.
func TestEstimatorErrors(t *testing.T) {
	out := t.TempDir()
	pass(t, "figure", "cafed-f4a", "--clients", "20", "--out", out)
	_, rows := table(t, contents(t, filepath.Join(out, "cafed-f4a", "cafed-f4a.csv")))
	mean := map[string]float64{}
	for _, r := range rows {
		mean[r["what"]+" "+r["round"]+" "+r["x"]] = number(t, r["mean"])
	}
	// After t' independent rounds π̂ is off by about √(π(1−π)/t')·√(2/π'), that is 0.24/√t' on average over π = 0.1 and
	// 0.9; correlated clients have (1+λ)/(1−λ) = 19 times the variance. So the mean lies between 0.24/√t' and 4.4 times
	// as much, and another half for ten seeds.
	for _, x := range []string{"100", "1000", "10000"} {
		least := 0.24 / math.Sqrt(number(t, x))
		if got := mean["pi_error 0 "+x]; got < 0.5*least || got > 6*least {
			t.Errorf("π̂ after a history of %s rounds: mean error %.4f, want %.4f … %.4f", x, got, 0.5*least, 6*least)
		}
		if mean["lambda_error 0 "+x] <= mean["pi_error 0 "+x] {
			t.Errorf("after a history of %s rounds: errors %.4f of λ̂, %.4f of π̂, want the first larger",
				x, mean["lambda_error 0 "+x], mean["pi_error 0 "+x])
		}
	}
	if mean["lambda_error 0 10000"] >= mean["lambda_error 0 100"] {
		t.Errorf("errors of λ̂ %.4f after 10000 rounds, %.4f after 100, want them to fall",
			mean["lambda_error 0 10000"], mean["lambda_error 0 100"])
	}
}
