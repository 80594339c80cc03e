package papers

import (
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/resultstest"
	"rollcall/results/stats"
)

// Of four seeds two standard errors of the mean are the standard deviation itself.
func TestIsAhead(t *testing.T) {
	for _, c := range []struct {
		mean, std float64
		want      Answer
	}{
		{0.5, 0.4, Holds}, {-0.5, 0.4, Fails}, {0.4, 0.4, Untold}, {-0.4, 0.4, Untold}, {0.1, 0, Holds}, {0, 0, Untold},
	} {
		if got := isAhead(stats.Estimate{Mean: c.mean, Std: files.Some(c.std), N: 4}); got != c.want {
			t.Errorf("%g ± %g (4): %s, want %s", c.mean, c.std, got, c.want)
		}
	}
	if got := isAhead(stats.Estimate{Mean: 1, N: 1}); got != Untold {
		t.Errorf("one seed: %s, want %s: it has no spread", got, Untold)
	}
	for want, parts := range map[Answer][]Answer{
		Holds: {Holds, Holds}, Fails: {Holds, Untold, Fails}, Untold: {Holds, Untold},
	} {
		if got := allOf(parts); got != want {
			t.Errorf("%q: %s, want %s", parts, got, want)
		}
	}
	if got := allOf(nil); got != Untold {
		t.Errorf("nothing: %s, want %s", got, Untold)
	}
}

// lineOf returns a line on leaf that ends at the given test accuracies, one for each seed.
func lineOf(series string, x float64, ends ...float64) Line {
	l := Line{Training: Training{Column: Column{Data: "leaf"}, Series: series, Method: series, X: x}}
	for _, end := range ends {
		l.Curves = append(l.Curves, resultstest.Accuracies(0.1, end))
	}
	return l
}

func askOf(f Figure, m Measured) (answers []Answer) {
	m.Figure = f
	for _, s := range f.Says {
		answer, _ := s.Ask(m)
		answers = append(answers, answer)
	}
	return answers
}

// Differences are taken seed by seed: 0.1 in every seed is certain, however far apart the seeds are.
func TestLeads(t *testing.T) {
	ahead, level := lineOf("ca-fed", 0, 0.5, 0.7, 0.9), lineOf("f3ast", 0, 0.45, 0.75, 0.87)
	behind, front := lineOf("adafed", 0, 0.4, 0.6, 0.8), lineOf("unbiased", 0, 0.6, 0.8, 1)
	for _, c := range []struct {
		want  Answer
		words string
		lines []Line
	}{
		{Holds, "leaf: +10.00 ± 0.00 points over adafed", []Line{behind, ahead}},
		{Untold, "leaf: +1.00 ± 5.29 points over f3ast", []Line{behind, ahead, level}},
		{Fails, "leaf: -10.00 ± 0.00 points over unbiased", []Line{front, ahead, level}},
		{Untold, "", []Line{ahead}},
		{Untold, "", []Line{behind, level}},
		{Untold, "", []Line{ahead, lineOf("adafed", 0, 0.4, 0.6)}}, // a seed is missing
	} {
		answer, words := cafedF1a.Says[0].Ask(Measured{Figure: cafedF1a, Lines: c.lines})
		if answer != c.want || words != c.words {
			t.Errorf("%d lines: %s, %q, want %s, %q", len(c.lines), answer, words, c.want, c.words)
		}
	}
	// Other seeds are no pairs.
	other := lineOf("adafed", 0, 0.4, 0.6, 0.8)
	other.Curves[0][0].Seed = 9
	if got := askOf(cafedF1a, Measured{Lines: []Line{ahead, other}}); got[0] != Untold {
		t.Errorf("other seeds: %s, want %s", got[0], Untold)
	}
	// Figure 4b asks from t' = 100 on.
	m := Measured{Lines: []Line{
		lineOf("ca-fed", 10, 0.1, 0.1), lineOf("adafed", 10, 0.5, 0.5),
		lineOf("ca-fed", 100, 0.6, 0.6), lineOf("adafed", 100, 0.5, 0.5),
	}}
	for i := range m.Lines {
		m.Lines[i].Set = results.Params("prior=" + files.Some(m.Lines[i].X).String())
	}
	if got := askOf(cafedF4b, m); got[0] != Holds {
		t.Errorf("figure 4b: %s, want %s", got[0], Holds)
	}
}

// FedAR, figure 5: the accuracy falls from the smallest to the largest N, whatever the order of the lines.
func TestChanges(t *testing.T) {
	lines := []Line{lineOf("fedar", 120, 0.4, 0.42), lineOf("fedar", 80, 0.5, 0.52), lineOf("fedar", 100, 0.1, 0.1)}
	for i := range lines {
		lines[i].Set = results.Params("clients=" + files.Some(lines[i].X).String())
	}
	answer, words := fedarF5.Says[0].Ask(Measured{Lines: lines})
	if answer != Holds || words != "fedar: -10.00 ± 0.00 points from 80 to 120" {
		t.Errorf("%s, %q, want it to hold by 10 points", answer, words)
	}
	if answer, _ := fedarF4.Says[1].Ask(Measured{Lines: lines}); answer != Fails { // it asks whether it rises
		t.Errorf("%s, want %s", answer, Fails)
	}
}

// ToN, figures 5a to 5c: ten clusters of one client each, and those that are left out in two rounds of three.
func TestLeavesOut(t *testing.T) {
	run := func(out ...int) Measured {
		line := Line{Training: Training{Column: inClusters("even")}}
		var rows []results.DecisionRow
		for round := range 3 {
			for client := range 10 {
				d := results.DecisionRow{Round: round + 1, Client: client, Included: 1}
				for _, o := range out {
					if o == client && round > 0 {
						d.Included = 0
					}
				}
				rows = append(rows, d)
			}
		}
		line.Decisions = [][]results.DecisionRow{rows}
		return Measured{Lines: []Line{line}}
	}
	for _, c := range []struct {
		out        []int
		f5a, b, c5 Answer
	}{
		{[]int{6, 7, 8, 9}, Holds, Fails, Fails},
		{[]int{6, 7, 9}, Fails, Holds, Holds},
		{[]int{0, 6, 7, 8, 9}, Fails, Fails, Fails},
		{nil, Fails, Fails, Fails},
	} {
		m := run(c.out...)
		for i, f := range []Figure{cafedF5a, cafedF5b, cafedF5c} {
			if got, want := askOf(f, m)[0], []Answer{c.f5a, c.b, c.c5}[i]; got != want {
				t.Errorf("%s, left out %v: %s, want %s", f.ID, c.out, got, want)
			}
		}
	}
	if got := askOf(cafedF5a, Measured{}); got[0] != Untold {
		t.Errorf("no runs: %s, want %s", got[0], Untold)
	}
}

// ToN, figure 1d, and INFOCOM's figures 1 and 2, with the decisions of [resultstest.Decisions]: the more available
// client is left out in one of two rounds and has a larger mean weight, 1 for a target of 0.75, than the correlated
// one, 0.75 for 0.25.
func TestGroups(t *testing.T) {
	line := func(method string) Line {
		d := resultstest.Decisions()
		return Line{Training{Method: method, Series: method}, Runs{Decisions: [][]results.DecisionRow{d, d}}}
	}
	m := Measured{Lines: []Line{line("f3ast"), line("ca-fed"), line("unbiased"), line("more-available")}}
	for group, want := range map[string]float64{moreAvailable: 1 / 0.75, lessCorrelated: 3} {
		if got := groupRatios(m, "f3ast", group); len(got) != 2 || got[0] != want || got[1] != want {
			t.Errorf("%s: %v, want %g twice", group, got, want)
		}
	}
	// Nobody is weakly correlated here: 0 of 0 tells nothing.
	if got, _ := favours(lessCorrelated, "f3ast")(m); got != Untold {
		t.Errorf("F3AST: %s, want %s", got, Untold)
	}
	if got, _ := favours(moreAvailable, "ca-fed")(m); got != Fails {
		t.Errorf("CA-Fed: %s, want %s: 1.33 of the target to 3", got, Fails)
	}
	if got, _ := groupsEqual(m); got != Fails {
		t.Errorf("Unbiased: %s, want %s", got, Fails)
	}
	if got, words := groupExcluded(m); got != Fails || words != "more-available 1.33, NaN, 3.00 of the target" {
		t.Errorf("More-available: %s, %q, want %s", got, words, Fails)
	}
	if got := askOf(cafedI1, m); got[0] != Fails {
		t.Errorf("INFOCOM, figure 1: %s, want %s: the more available is left out, the other never", got[0], Fails)
	}
	if got, words := favoursAvailable(m); got != Fails || words != "share 0.571, target 0.750" { // 4/7
		t.Errorf("INFOCOM, figure 2: %s, %q, want 4/7 of 0.75", got, words)
	}
	m.Lines = append(m.Lines, line("adafed"))
	if got, _ := departs(m); got != Untold {
		t.Errorf("INFOCOM, figure 2: %s, want %s: all methods are alike", got, Untold)
	}
}

// ToN, figures 2 and 4a, and FedAR, figure 1.
func TestOtherSentences(t *testing.T) {
	errors := []EstimatorError{
		{X: 100, Pi: []float64{0.01, 0.02}, Lambda: []float64{0.2, 0.21}},
		{X: 10, Pi: []float64{0.1, 0.11}, Lambda: []float64{0.4, 0.41}},
		{X: 10, Round: 50, Pi: []float64{9, 9}, Lambda: []float64{9, 9}},
	}
	if got := askOf(cafedF4a, Measured{Errors: errors}); got[0] != Holds || got[1] != Holds {
		t.Errorf("figure 4a: %q, want both to hold", got)
	}
	errors[0].Lambda = []float64{0.4, 0.41}
	if got := askOf(cafedF4a, Measured{Errors: errors}); got[0] != Untold {
		t.Errorf("figure 4a: %s, want %s: the error of λ does not change", got[0], Untold)
	}
	m := Measured{Figure: cafedF2a, Lines: []Line{lineOf(kappa("100"), 0, 0.5, 0.6), lineOf("unbiased", 0, 0.51, 0.59)}}
	if got := askOf(cafedF2a, m); got[2] != Holds {
		t.Errorf("figure 2a: %s, want the curves to overlap", got[2])
	}
	m.Lines[1] = lineOf("unbiased", 0, 0.6, 0.7)
	if got := askOf(cafedF2a, m); got[2] != Fails {
		t.Errorf("figure 2a: %s, want the curves apart", got[2])
	}
	// Two clients: the Shapley value of client 0 is half of the sum, and of its own beside nobody's less the other's.
	coalition := func(stale int, seed uint32, own float64) Coalition {
		return Coalition{stale, seed, []float64{0.1, 0.1 + own, 0.3, 0.3 + own}}
	}
	for step, want := range map[float64]Answer{0.02: Holds, 0.018: Fails} { // −0.01 and 0.002 at stale 6
		var all []Coalition
		for stale := range 7 {
			for seed := range uint32(2) {
				all = append(all, coalition(stale, seed, 0.11-step*float64(stale)+0.0001*float64(seed)))
			}
		}
		if got := askOf(fedarF1, Measured{Coalitions: all}); got[0] != Holds || got[1] != Holds || got[2] != want {
			t.Errorf("FedAR, figure 1, steps of %g: %q, want the last one %s", step, got, want)
		}
	}
}

// A table is asked column by column: 0.02 apart is more than 2·√(2·0.01²/4) = 0.0141.
func TestLeadsIn(t *testing.T) {
	row := func(method, data string, mean float64) results.SummaryRow {
		r := resultstest.SineRow(method, data, 0.1, "lr=0.1", metrics.TestAcc)
		r.N, r.Mean, r.Std = 4, files.Some(mean), files.Some(0.01)
		return r
	}
	q := leadsIn{method: "fedawe", over: []string{"fedau", "f3ast"}, metric: metrics.TestAcc}
	rows := []results.SummaryRow{row("fedawe", "svhn", 0.8), row("fedau", "svhn", 0.78), row("f3ast", "svhn", 0.7)}
	if got, words := q.ask(rows); got != Holds || words != "sine, svhn, alpha=0.1: +2.0 ahead of fedau" {
		t.Errorf("%s, %q, want it to hold", got, words)
	}
	if got, _ := q.ask(append(rows, row("fedawe", "cifar10", 0.6))); got != Untold {
		t.Errorf("a column without the others: %s, want %s", got, Untold)
	}
	q.lower = true
	if got, words := q.ask(rows); got != Fails || words != "sine, svhn, alpha=0.1: -10.0 ahead of f3ast" {
		t.Errorf("%s, %q, want it to fail", got, words)
	}
	first := func(method string, round files.Optional) results.SummaryRow {
		r := resultstest.SineRow(method, "svhn", 0.1, "", metrics.RoundsTo100)
		r.N, r.Mean = 3, round
		return r
	}
	ask := before("fedawe", "fedavg-active", []string{"svhn"}, metrics.RoundsTo100)
	for _, c := range []struct {
		a, b files.Optional
		want Answer
	}{
		{files.Some(820), files.Some(900), Holds},
		{files.Some(900), files.Some(820), Fails},
		{files.Optional{}, files.Some(820), Fails}, // never
		{files.Optional{}, files.Optional{}, Untold},
	} {
		got, _ := ask([]results.SummaryRow{first("fedawe", c.a), first("fedavg-active", c.b)})
		if got != c.want {
			t.Errorf("rounds %q and %q: %s, want %s", c.a, c.b, got, c.want)
		}
	}
	p := func(value float64) results.SummaryRow {
		return results.SummaryRow{Metric: metrics.PRounds, N: 3, Mean: files.Some(value)}
	}
	if got, words := allBelow(metrics.PRounds, 0.001)([]results.SummaryRow{p(0), p(0.001)}); got != Fails ||
		!strings.HasPrefix(words, "1 of 2") {
		t.Errorf("%s, %q, want one of two", got, words)
	}
}
