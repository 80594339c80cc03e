package ab

import (
	"math"
	"math/rand/v2"
	"testing"

	"rollcall/results"
)

// machine is a busy one: the number of a pass errs by 1 %, and one in ten is 6 % larger, where a neighbour disturbed
// all runs of a program. Numbers of two busy virtual cores differed so.
func machine(r *rand.Rand) float64 {
	x := math.Exp(0.01 * r.NormFloat64())
	if r.Float64() < 0.1 {
		x *= 1.06
	}
	return x
}

// simulated are series of passes in which some metrics are slower by a factor.
func simulated(r *rand.Rand, passes int, factors ...float64) (all []Series) {
	names := []string{results.BenchStepLoops, results.BenchStepProcessor, results.BenchStep, results.BenchRoundTime}
	for i, factor := range factors {
		s := Series{Metric: names[i], Unit: "ms"}
		for range passes {
			s.Old = append(s.Old, 20*machine(r))
			s.New = append(s.New, 20*factor*machine(r))
		}
		all = append(all, s)
	}
	return all
}

// Over many comparisons of a program with itself, any metric of four is worse or better in at most 5 %, also without a
// least effect; and the interval misses the truth in at most 5 %.
func TestFalseAlarms(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	rule := Rule{Level: 0.05}
	const comparisons = 2000
	alarms, missed, same := 0, 0, 0
	for range comparisons {
		changes := rule.Changes(simulated(r, 16, 1, 1, 1, 1))
		for _, c := range changes {
			if c.Verdict == Worse || c.Verdict == Better {
				alarms++
				break
			}
		}
		if c := changes[0]; c.Low > 0 || c.High < 0 {
			missed++
		}
		if c := DefaultRule().Changes(simulated(r, 40, 1))[0]; c.Verdict == Same {
			same++
		}
	}
	// Three standard deviations of a share of 5 % in 2000.
	const most = comparisons*0.05 + 3*10
	if alarms > most || missed > most {
		t.Errorf("%d false alarms and %d intervals without 0 in %d comparisons, want at most %g", alarms, missed,
			comparisons, most)
	}
	if same < comparisons/2 {
		t.Errorf("%d of %d times no difference of 2 %% in 40 passes, want half at least", same, comparisons)
	}
}

// A slowdown of 5 % is found, as is its size; an improvement is none; 1 % is no slowdown of 2 %.
func TestPlanted(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	found, covered, better, alarms := 0, 0, 0, 0
	const comparisons = 500
	for range comparisons {
		changes := DefaultRule().Changes(simulated(r, 16, 1.05, 0.95, 1.01, 1))
		if changes[0].Verdict == Worse {
			found++
		}
		if c := changes[0]; c.Low <= 0.05 && 0.05 <= c.High {
			covered++
		}
		if changes[1].Verdict == Better {
			better++
		}
		if changes[2].Verdict == Worse || changes[3].Verdict == Worse {
			alarms++
		}
	}
	if found < comparisons*95/100 || better < comparisons*95/100 || covered < comparisons*92/100 ||
		alarms > comparisons*5/100 {
		t.Errorf("of %d: found %d, better %d, covered %d, false %d, want 95 %%, 95 %%, 92 %% at least and 5 %% at most",
			comparisons, found, better, covered, alarms)
	}
}

func TestVerdicts(t *testing.T) {
	rule := DefaultRule()
	for _, c := range []struct {
		name            string
		change, low, hi float64
		p               float64
		want            Verdict
	}{
		{"slower", 0.051, 0.048, 0.054, 0.001, Worse},
		{"faster", -0.051, -0.054, -0.048, 0.001, Better},
		{"nothing", -0.001, -0.004, 0.003, 0.4, Same},
		{"a little slower for sure", 0.01, 0.005, 0.015, 0.001, Same},
		{"both 0 and the effect", 0.01, -0.005, 0.025, 0.2, Unknown},
		{"perhaps 2 %", 0.015, 0.005, 0.025, 0.001, Unknown},
		{"not after Holm", 0.03, 0.001, 0.06, 0.08, Unknown},
		{"too few passes", 0.05, math.Inf(-1), math.Inf(1), 0.25, Unknown},
	} {
		if got := rule.verdict(Change{Change: c.change, Low: c.low, High: c.hi, P: c.p}); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// The verdict follows processor time against the reference, and wall time where there is none. Instructions that did
// not change are mentioned where the time did.
func TestJudge(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	steady := func(metric string, factor float64) (s Series) {
		s.Metric, s.Unit = metric, "ms"
		for range 10 {
			x := 1 + 0.001*r.Float64()
			s.Old, s.New = append(s.Old, x), append(s.New, factor*x)
		}
		return s
	}
	old, next, memory := Program{Name: "old"}, Program{Name: "new"}, []Series{steady("peak_memory", 1)}
	for name, c := range map[string]struct {
		all     []Series
		verdict Verdict
		text    string
		notes   int
	}{
		"loops before wall time": {
			[]Series{steady("step", 1.3), steady("step_loops", 1)},
			Same,
			"no difference of 2 % or more: step_loops +0.0 % (0.0 … 0.0 %)", 1,
		},
		"a card": {[]Series{steady("step", 1.3)}, Worse, "new is slower: step +30.0 % (30.0 … 30.0 %)", 0},
		"instructions": {
			[]Series{steady("step_loops", 0.9), steady("step_instructions", 1)},
			Better,
			"new is faster: step_loops −10.0 % (−10.0 … −10.0 %)", 1,
		},
	} {
		report, err := DefaultRule().Judge(old, next, c.all, make([]results.BenchReport, 2))
		if err != nil || report.Verdict != c.verdict || report.Text != c.text || len(report.Notes) != c.notes {
			t.Errorf("%s: %+v, %v, want %s, %q and %d notes", name, report, err, c.verdict, c.text, c.notes)
		}
	}
	if _, err := DefaultRule().Judge(old, next, memory, make([]results.BenchReport, 2)); err == nil {
		t.Error("no metric of speed: no error, want one")
	}
}
