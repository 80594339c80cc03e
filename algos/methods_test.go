package algos

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"rollcall/internal/must"
)

// Every method says what it is, in lines that a window holds.
func TestDescriptions(t *testing.T) {
	for _, d := range methods {
		for what, text := range map[string]string{
			"brief": d.Brief, "idea": d.Idea, "formula": d.Formula, "paper": d.Paper,
		} {
			if strings.TrimSpace(text) == "" {
				t.Errorf("%s: no %s", d.Name, what)
			}
		}
		if n := utf8.RuneCountInString(d.Formula); n > 110 || strings.Contains(d.Formula, "\n") {
			t.Errorf("%s: a formula of %d letters, want one line of at most 110", d.Name, n)
		}
		if !strings.HasSuffix(d.Idea, ".") || strings.HasSuffix(d.Brief, ".") {
			t.Errorf("%s: want sentences for an idea, and a part of one for brief: %q, %q", d.Name, d.Idea, d.Brief)
		}
		if !regexp.MustCompile(`\b(19|20)\d\d\b`).MatchString(d.Paper) {
			t.Errorf("%s: no year in %q", d.Name, d.Paper)
		}
	}
}

// FedAR, eq. (6), with ρ = 0.1 and g(t) = 50 + t/4, at the ends of g and of ψ: an update of age g is not too old.
// TestFormulas has the rest. 1e-6: the powers are written to seven digits.
func TestFedARPsi(t *testing.T) {
	t0 := 50.0
	printed := fedAR{rho: 0.1, t0: &t0, b: 4}
	for _, c := range []struct {
		tau, t int
		want   float64
	}{
		{50, 1, 1.4816889}, // g = 50.25
		{51, 3, 0},         // g = 50.75
		{51, 4, 1.4845688}, // g = 51
		{1022, 4000, 1.9998046},
		{1023, 4000, 2},
	} {
		if got := printed.psi(c.tau, c.t); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("τ = %d, t = %d: ψ = %.7f, want %.7f ± 1e-6", c.tau, c.t, got, c.want)
		}
	}
}

// FedAvg(S): S of the active clients train, each as often as any other, and the step is their plain mean; all train if
// there are no more than S.
func TestFedAvgS(t *testing.T) {
	f, e := toyFederation(8, 16, -8, 0, 3)
	s := 2
	m := start(t, "fedavg-s", f, withValues(Paper, "fedavg-s-limit", "2"))
	times := make([]int, f.N)
	const rounds = 3000
	for r := range rounds {
		e.work = nil
		before := model(t, m, f)
		must.Get(m.Round(t.Context(), at(r, f, 1, 0, 1, 3, 4)))(t)
		if n := len(e.work[0].Clients); n != s {
			t.Fatalf("round %d: %d clients trained, want %d", r, n, s)
		}
		want := 0.0
		for _, c := range e.work[0].Clients {
			times[c.Client]++
			want += (float64(before[0]) + e.u[c.Client][0]) / 2 / float64(s)
		}
		if got := model(t, m, f)[0]; math.Abs(float64(got)-want) > 1e-4 { // float32 at up to 48
			t.Fatalf("round %d: %g, want the mean %g ± 1e-4 of the two", r, got, want)
		}
	}
	for i, n := range times {
		want := rounds / 2.0
		if i == 2 {
			want = 0
		}
		if math.Abs(float64(n)-want) > 110 { // four standard deviations, sqrt(3000)/2 = 27 each
			t.Errorf("client %d trained %d times of %d, want %g ± 110", i, n, rounds, want)
		}
	}
	e.work = nil
	if _, err := m.Round(t.Context(), at(rounds, f, 1, 2, 4)); err != nil || len(e.work[0].Clients) != 2 {
		t.Errorf("two active: %v, %v, want both trained", e.work, err)
	}
}

// An update that overflows float32 has an infinite norm; clipping it to 0 would hide it.
func TestFedAWEInfiniteUpdate(t *testing.T) {
	f, _ := toyFederation(1e38)
	r := at(0, f, 1, 0)
	r.LR = 10
	_, err := start(t, "fedawe", f, Options{Preset: Code}).Round(t.Context(), r)
	const want = "algos: fedawe: round 0: norm of the update is +Inf, want a finite number"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

// The local models are x_i of Algorithm 1: an inactive client keeps the old model, and their mean is what is evaluated.
func TestFedAWELocalModels(t *testing.T) {
	f, e := toyFederation(8, 16, -8, 2)
	m := start(t, "fedawe", f, withValues(Paper, "fedawe-clip", "none"))
	for i, c := range []struct {
		active []int
		want   string
	}{
		{nil, "[[0 1 2 3]]"},
		{[]int{1, 3}, "[[0 2] [1 3]]"},
		{[]int{3}, "[[0 2] [1] [3]]"},
		{[]int{0, 1}, "[[0 1] [2] [3]]"},
		{[]int{0, 1, 2, 3}, "[[0 1 2 3]]"},
	} {
		must.Get(m.Round(t.Context(), at(i, f, 1, c.active...)))(t)
		rows, of := LocalModels(m)
		if got := fmt.Sprint(of); got != c.want {
			t.Errorf("round %d, active %v: models of %v, want %v", i, c.active, got, c.want)
		}
		mean := 0.0
		for j, row := range rows {
			mean += float64(len(of[j])) / 4 * float64(e.at(row)[0]) / 3 // in units of (3, 4)
		}
		if got := model(t, m, f); !near(got, mean, 1e-5*(1+math.Abs(mean))) { // float32 sums of four terms
			t.Errorf("round %d: model %v, want %v, the mean of the local models", i, got, scaled(mean))
		}
	}
}
