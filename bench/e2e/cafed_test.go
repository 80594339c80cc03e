package e2e

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
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

// What a run says of its clients: everybody has a row in every round, the absent and the excluded have no weight,
// unbiased's is α/π, and the activity is that of the availability command.
func TestDecisions(t *testing.T) {
	out := t.TempDir()
	run := func(method string, more ...string) []results.DecisionRow {
		pass(t, small(out, append([]string{
			"--method", method, "--availability", "markov", "--rounds", "5", "--weights", "equal", "--decisions",
		}, more...)...)...)
		rows := must.Get(results.ReadDecisions(only(t, out, "run/"+method+"_*/seed-3/"+results.DecisionsFile)))(t)
		return rows
	}
	_, trace := table(t,
		pass(t, "availability", "--kind", "markov", "--clients", "6", "--rounds", "5", "--train-size", "300").stdout)
	for _, method := range []string{"unbiased", "ca-fed"} {
		rows := run(method)
		if len(rows) != 30 {
			t.Fatalf("%s: %d rows, want six clients in five rounds", method, len(rows))
		}
		for i, r := range rows {
			if r.Round != i/6+1 || r.Client != i%6 || r.Active != int(number(t, trace[i]["active"])) ||
				r.Target != 1./6 {
				t.Errorf("%s: row %d: %+v, want round %d, client %d, activity %s, α 1/6",
					method, i, r, i/6+1, i%6, trace[i]["active"])
			}
			want := 0.0
			if r.Active == 1 && r.Included == 1 {
				want = 1. / 6 / r.Pi // the same division: exact
			}
			if r.Weight != want || method == "unbiased" && r.Included != 1 {
				t.Errorf("%s: round %d client %d: weight %g, included %d, want %g and unbiased to include everybody",
					method, r.Round, r.Client, r.Weight, r.Included, want)
			}
		}
	}
	// A finished run without the file runs again when it is asked for.
	other := t.TempDir()
	args := small(other, "--method", "adafed", "--availability", "markov")
	pass(t, args...)
	if o := pass(t, append(args, "--decisions")...); strings.Contains(o.stdout, "kept") {
		t.Errorf("stdout %q, want the run anew", o.stdout)
	}
	if o := pass(t, append(args, "--decisions")...); !strings.Contains(o.stdout, "kept") {
		t.Errorf("stdout %q, want the run kept", o.stdout)
	}
}

// Under interleaved-sine unbiased is told the mean over a cycle, as the availability command prints it. Its expected
// step over a cycle is α, and who is never there has none of it, which is said once.
func TestUnbiasedUnderInterleavedSine(t *testing.T) {
	out := t.TempDir()
	common := []string{
		"--alpha", "0.5", "--cutoff", "0.25", "--gamma", "0.2", "--period", "8", "--rounds", "8", "--seed", "4",
	}
	o := pass(t, small(out, slices.Concat([]string{
		"--method", "unbiased", "--availability", "interleaved-sine", "--decisions", "--weights", "equal",
		"--split", "clients", "--local-steps", "1", // the availability command has FedAWE's split
	}, common)...)...)
	rows := must.Get(results.ReadDecisions(only(t, out, "run/unbiased_*/seed-4/"+results.DecisionsFile)))(t)
	_, trace := table(t, pass(t, append([]string{
		"availability", "--kind", "interleaved-sine", "--clients", "6", "--train-size", "300",
	}, common...)...).stdout)
	var mean, alpha [6]float64
	there := 0
	for i, r := range rows {
		mean[i%6] += number(t, trace[i]["probability"]) / 8
		if i < 6 && r.Pi > 0 {
			there++
		}
	}
	for i, r := range rows {
		// Eight roundings of numbers below 1.
		if math.Abs(r.Pi-mean[i%6]) > 1e-15*8 || r.Pi != number(t, trace[i]["pi"]) {
			t.Errorf("row %d: π %g, want the mean of the printed p_i^t, %g", i, r.Pi, mean[i%6])
		}
		if r.Pi > 0 {
			alpha[i%6] += number(t, trace[i]["probability"]) * r.Target / r.Pi / 8
		}
		if want := r.Target / r.Pi; r.Active == 1 && r.Weight != want {
			t.Errorf("row %d: weight %g, want α/π = %g", i, r.Weight, want)
		}
	}
	for i, a := range alpha {
		want := 0.0
		if mean[i] > 0 {
			want = 1 / float64(there)
		}
		if math.Abs(a-want) > 1e-14 { // some roundings
			t.Errorf("client %d: expected weight over a cycle %g, want %g", i, a, want)
		}
	}
	said := fmt.Sprintf("availability: interleaved-sine, seed 4: %d of 6 clients never available, left out", 6-there)
	if there == 0 || there == 6 || strings.Count(o.stderr, said) != 1 {
		t.Errorf("%d of 6 clients ever there, stderr %q, want some and %q once", there, o.stderr, said)
	}
	// fedawe weighs nobody by π, and there is nothing to say.
	if o := pass(t, small(out, append([]string{"--availability", "interleaved-sine", "--local-steps", "1"},
		common...)...)...); strings.Contains(o.stderr, "never there") {
		t.Errorf("stderr %q, want no word of the absent", o.stderr)
	}
}
