package papers

import (
	"slices"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/judge"
	"rollcall/results/metrics"
	"rollcall/results/resultstest"
)

// lineOf returns a line on leaf that ends at the given test accuracies, one for each seed.
func lineOf(series string, x float64, ends ...float64) Line {
	l := Line{Training: Training{Column: Column{Data: "leaf"}, Series: series, Method: series, X: x}}
	for _, end := range ends {
		l.Curves = append(l.Curves, resultstest.Accuracies(0.1, end))
	}
	return l
}

func askOf(f Figure, m Measured) (verdicts []judge.Verdict) {
	m.Figure = f
	for _, s := range f.Says {
		verdicts = append(verdicts, s.Ask(m).Verdict)
	}
	return verdicts
}

// Differences are taken seed by seed: 0.1 in every seed is certain, however far apart the seeds are.
func TestLeads(t *testing.T) {
	ahead, level := lineOf("ca-fed", 0, 0.5, 0.7, 0.9), lineOf("f3ast", 0, 0.45, 0.75, 0.87)
	behind, front := lineOf("adafed", 0, 0.4, 0.6, 0.8), lineOf("unbiased", 0, 0.6, 0.8, 1)
	for _, c := range []struct {
		want  judge.Verdict
		words string
		lines []Line
	}{
		{judge.Agrees, "leaf: +10.00 ± 0.00 points over adafed", []Line{behind, ahead}},
		{judge.Untold, "leaf: +1.00 ± 5.29 points over f3ast", []Line{behind, ahead, level}},
		{judge.Differs, "leaf: -10.00 ± 0.00 points over unbiased", []Line{front, ahead, level}},
		{judge.Untold, "", []Line{ahead}},
		{judge.Untold, "", []Line{behind, level}},
		{judge.Untold, "", []Line{ahead, lineOf("adafed", 0, 0.4, 0.6)}}, // a seed is missing
	} {
		got := cafedF1a.Says[0].Ask(Measured{Figure: cafedF1a, Lines: c.lines})
		if got.Verdict != c.want || got.Ours != c.words {
			t.Errorf("%d lines: %+v, want %s, %q", len(c.lines), got, c.want, c.words)
		}
	}
	// Other seeds are no pairs.
	other := lineOf("adafed", 0, 0.4, 0.6, 0.8)
	other.Curves[0][0].Seed = 9
	if got := askOf(cafedF1a, Measured{Lines: []Line{ahead, other}}); got[0] != judge.Untold {
		t.Errorf("other seeds: %s, want %s", got[0], judge.Untold)
	}
	// Figure 4b asks from t' = 100 on.
	m := Measured{Lines: []Line{
		lineOf("ca-fed", 10, 0.1, 0.1), lineOf("adafed", 10, 0.5, 0.5),
		lineOf("ca-fed", 100, 0.6, 0.6), lineOf("adafed", 100, 0.5, 0.5),
	}}
	for i := range m.Lines {
		m.Lines[i].Set = results.Params("prior=" + files.Some(m.Lines[i].X).String())
	}
	if got := askOf(cafedF4b, m); got[0] != judge.Agrees {
		t.Errorf("figure 4b: %s, want %s", got[0], judge.Agrees)
	}
}

// FedAR, figure 5: the accuracy falls from the smallest to the largest N, whatever the order of the lines.
func TestChanges(t *testing.T) {
	lines := []Line{lineOf("fedar", 120, 0.4, 0.42), lineOf("fedar", 80, 0.5, 0.52), lineOf("fedar", 100, 0.1, 0.1)}
	for i := range lines {
		lines[i].Set = results.Params("clients=" + files.Some(lines[i].X).String())
	}
	got := fedarF5.Says[0].Ask(Measured{Lines: lines})
	if got.Verdict != judge.Agrees || got.Ours != "fedar: -10.00 ± 0.00 points from 80 to 120" {
		t.Errorf("%+v, want it to hold by 10 points", got)
	}
	if got := fedarF4.Says[1].Ask(Measured{Lines: lines}); got.Verdict != judge.Differs { // it asks whether it rises
		t.Errorf("%+v, want %s", got, judge.Differs)
	}
}

// ToN, figures 5a to 5c: ten clusters of ten clients each, of ten seeds, and the clients that are left out in the last
// round of three. A seed counts if one round is as printed.
func TestLeavesOut(t *testing.T) {
	run := func(seeds int, out ...int) Measured {
		line := Line{Training: Training{Column: inClusters("even")}}
		for seed := range 10 {
			var rows []results.DecisionRow
			for round := range 3 {
				for client := range 100 {
					d := results.DecisionRow{Round: round + 1, Client: client, Included: 1}
					if seed < seeds && round == 2 && slices.Contains(out, client) {
						d.Included = 0
					}
					rows = append(rows, d)
				}
			}
			line.Decisions = append(line.Decisions, rows)
		}
		return Measured{Lines: []Line{line}}
	}
	var clusters []int // 6 … 9
	for client := 60; client < 100; client++ {
		clusters = append(clusters, client)
	}
	without8 := slices.Concat(clusters[:20], clusters[30:])
	for _, c := range []struct {
		seeds      int
		out        []int
		f5a, b, c5 judge.Verdict
	}{
		{10, clusters, judge.Agrees, judge.Differs, judge.Differs},
		{9, clusters, judge.Agrees, judge.Differs, judge.Differs},
		{8, clusters, judge.Untold, judge.Differs, judge.Differs}, // Wilson's interval of 8 in 10 begins at 0.49
		{10, without8, judge.Differs, judge.Agrees, judge.Differs},
		{10, append([]int{0}, clusters...), judge.Agrees, judge.Differs, judge.Differs}, // not all of cluster 0
		{10, append([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, clusters...), judge.Differs, judge.Differs, judge.Differs},
		{10, []int{60, 61, 70}, judge.Differs, judge.Differs, judge.Agrees}, // parts of two clusters
		{0, nil, judge.Differs, judge.Differs, judge.Differs},
	} {
		m := run(c.seeds, c.out...)
		for i, f := range []Figure{cafedF5a, cafedF5b, cafedF5c} {
			if got, want := askOf(f, m)[0], []judge.Verdict{c.f5a, c.b, c.c5}[i]; got != want {
				t.Errorf("%s, %d seeds leave out %v: %s, want %s", f.ID, c.seeds, c.out, got, want)
			}
		}
	}
	if got := askOf(cafedF5a, Measured{}); got[0] != judge.Untold {
		t.Errorf("no runs: %s, want %s", got[0], judge.Untold)
	}
	one := run(1, clusters...)
	one.Lines[0].Decisions = one.Lines[0].Decisions[:1]
	if got := askOf(cafedF5a, one); got[0] != judge.Untold {
		t.Errorf("one run: %s, want %s", got[0], judge.Untold)
	}
}

// ToN, figure 1d, and INFOCOM's figures 1 and 2, with the decisions of [resultstest.Decisions]: the more available
// client is left out in one of two rounds and has a larger mean weight, 1 for a target of 0.75, than the correlated
// one, 0.75 for 0.25.
func TestGroups(t *testing.T) {
	line := func(method string) Line {
		l := Line{Training: Training{Method: method, Series: method}}
		for range 10 {
			l.Decisions = append(l.Decisions, resultstest.Decisions())
		}
		return l
	}
	m := Measured{
		Figure: cafedI2, Lines: []Line{line("f3ast"), line("ca-fed"), line("unbiased"), line("more-available")},
	}
	for group, want := range map[string]float64{moreAvailable: 1 / 0.75, lessCorrelated: 3} {
		if got := groupRatios(m, "f3ast", group); len(got) != 10 || got[0] != want || got[1] != want {
			t.Errorf("%s: %v, want %g ten times", group, got, want)
		}
	}
	for _, c := range []struct {
		name string
		ask  func(Measured) Answer
		want judge.Verdict
		ours string
	}{
		// Nobody is weakly correlated here: 0 of 0 tells nothing.
		{"F3AST", favours(lessCorrelated, "f3ast"), judge.Untold, "f3ast 1.33, NaN, 3.00 of the target"},
		{"Unbiased: 1.33 of the target and 3", groupsEqual, judge.Differs, "unbiased 1.33, NaN, 3.00 of the target"},
		{
			"More-available", groupExcluded, judge.Differs,
			"0 of 10 seeds (0 … 28 % of all runs); more-available 1.33, NaN, 3.00 of the target",
		},
		{
			"INFOCOM, figure 1: the more available is left out, the other never", leavesOutTheWorseOf(m.Lines[1]),
			judge.Differs,
			"0 of 10 seeds (0 … 28 % of all runs); left out in 0 % of the rounds, the more available in 50 %",
		},
		{
			"INFOCOM, figure 2: 4/7 of 0.75", favoursAvailable, judge.Differs,
			"0 of 10 seeds (0 … 28 % of all runs); share 0.571, target 0.750 on average",
		},
		{"INFOCOM, figure 2: AdaFed is missing", departs, judge.Untold, ""},
	} {
		if got := c.ask(m); got.Verdict != c.want || got.Ours != c.ours {
			t.Errorf("%s: %+v, want %s, %q", c.name, got, c.want, c.ours)
		}
	}
	m.Lines = append(m.Lines, line("adafed"))
	if got := departs(m); got.Verdict != judge.Differs {
		t.Errorf("INFOCOM, figure 2: %+v, want %s: all methods are alike", got, judge.Differs)
	}
}

func leavesOutTheWorseOf(line Line) func(Measured) Answer {
	return func(Measured) Answer { return leavesOutTheWorse(Measured{Lines: []Line{line}}) }
}

// ToN, figures 2 and 4a, and FedAR, figure 1.
func TestOtherSentences(t *testing.T) {
	errors := []EstimatorError{
		{X: 100, Pi: []float64{0.01, 0.02, 0.01}, Lambda: []float64{0.2, 0.21, 0.2}},
		{X: 10, Pi: []float64{0.1, 0.11, 0.1}, Lambda: []float64{0.4, 0.41, 0.4}},
		{X: 10, Round: 50, Pi: []float64{9, 9, 9}, Lambda: []float64{9, 9, 9}},
	}
	if got := askOf(cafedF4a, Measured{Errors: errors}); got[0] != judge.Agrees || got[1] != judge.Agrees {
		t.Errorf("figure 4a: %q, want both to hold", got)
	}
	errors[0].Lambda = []float64{0.4, 0.41, 0.4}
	if got := askOf(cafedF4a, Measured{Errors: errors}); got[0] != judge.Untold {
		t.Errorf("figure 4a: %s, want %s: the error of λ does not change", got[0], judge.Untold)
	}
	curves := func(unbiased ...float64) Measured {
		return Measured{Lines: []Line{lineOf(kappa("100"), 0, 0.5, 0.6, 0.7), lineOf("unbiased", 0, unbiased...)}}
	}
	for _, c := range []struct {
		m    Measured
		want judge.Verdict
	}{
		{curves(0.503, 0.599, 0.701), judge.Agrees},
		{curves(0.53, 0.59, 0.7), judge.Untold},
		{curves(0.6, 0.7, 0.8), judge.Differs},
	} {
		if got := askOf(cafedF2a, c.m); got[2] != c.want {
			t.Errorf("figure 2a, overlap: %s, want %s", got[2], c.want)
		}
	}
	// Two clients: the Shapley value of client 0 is half of its own, and so is the other's. Their sum is above 0.
	coalition := func(stale int, seed uint32, own float64) Coalition {
		return Coalition{stale, seed, []float64{0.1, 0.1 + own, 0.3, 0.3 + own}}
	}
	for step, want := range map[float64]judge.Verdict{0.02: judge.Agrees, 0.018: judge.Differs} { // −0.01, 0.002 at 6
		var all []Coalition
		for stale := range 7 {
			for _, seed := range fedarSeeds {
				all = append(all, coalition(stale, seed, 0.11-step*float64(stale)+0.0001*float64(seed)))
			}
		}
		if got := askOf(fedarF1, Measured{Coalitions: all}); got[0] != judge.Agrees || got[1] != judge.Agrees ||
			got[2] != want {
			t.Errorf("FedAR, figure 1, steps of %g: %q, want the last one %s", step, got, want)
		}
	}
	// The best κ̄² is asked of every seed: here it grows in 9 of 10.
	small, large := Line{Training: overKappa(ton("leaf"))[2]}, Line{Training: overKappa(ton("leaf"))[6]}
	for seed := range 10 {
		early, late := make([]float64, 21), make([]float64, 21)
		for i := range early {
			early[i], late[i] = 0.5, 0.4+0.01*float64(i)
		}
		if seed == 0 {
			late[20], late[19] = 0, 0
		}
		small.Curves = append(small.Curves, resultstest.Accuracies(early...))
		large.Curves = append(large.Curves, resultstest.Accuracies(late...))
	}
	f := cafedF2b
	if got := askOf(f, Measured{Lines: []Line{small, large}}); got[0] != judge.Agrees {
		t.Errorf("figure 2b: %s, want it to hold in 9 of 10", got[0])
	}
}

// A table is asked column by column, here of means that are not in pairs: 0.02 apart is more than t(3) = 2.353 standard
// errors of √2·0.01/√4, and 10 seeds tell of 0.01.
func TestLeadsIn(t *testing.T) {
	row := func(method, data string, mean float64) results.SummaryRow {
		r := resultstest.SineRow(method, data, 0.1, "lr=0.1", metrics.TestAcc)
		r.N, r.Mean, r.Std = 4, files.Some(mean), files.Some(0.01)
		return r
	}
	q := leadsIn{method: "fedawe", over: []string{"fedau", "f3ast"}, metric: metrics.TestAcc}
	rows := []results.SummaryRow{row("fedawe", "svhn", 0.8), row("fedau", "svhn", 0.78), row("f3ast", "svhn", 0.7)}
	if got := q.ask(rows); got.Verdict != judge.Agrees || got.Ours != "sine, svhn, alpha=0.1: +2.0 ahead of fedau" {
		t.Errorf("%+v, want it to hold", got)
	}
	if got := q.ask(append(rows, row("fedawe", "cifar10", 0.6))); got.Verdict != judge.Untold {
		t.Errorf("a column without the others: %+v, want %s", got, judge.Untold)
	}
	q.lower = true
	const higher = "sine, svhn, alpha=0.1: higher by 10.0 than f3ast"
	if got := q.ask(rows); got.Verdict != judge.Differs || got.Ours != higher {
		t.Errorf("%+v, want it to fail, and %q", got, higher)
	}
	first := func(method string, round files.Optional) results.SummaryRow {
		r := resultstest.SineRow(method, "svhn", 0.1, "", metrics.RoundsTo100)
		r.N, r.Mean = 3, round
		return r
	}
	ask := before("fedawe", "fedavg-active", []string{"svhn"}, metrics.RoundsTo100)
	for _, c := range []struct {
		a, b files.Optional
		want string
	}{
		{files.Some(820), files.Some(900), "1 of 1"},
		{files.Some(900), files.Some(820), "0 of 1"},
		{files.Optional{}, files.Some(820), "0 of 1"}, // never
		{files.Optional{}, files.Optional{}, ""},      // nothing to ask
	} {
		got := ask([]results.SummaryRow{first("fedawe", c.a), first("fedavg-active", c.b)})
		if got.Verdict != judge.NotJudged || got.Shown == "" || !strings.HasPrefix(got.Ours, c.want) ||
			(got.Ours == "") != (c.want == "") {
			t.Errorf("rounds %q and %q: %+v, want it shown: %s", c.a, c.b, got, c.want)
		}
	}
	p := func(value float64) results.SummaryRow {
		return results.SummaryRow{Metric: metrics.PRounds, N: 3, Mean: files.Some(value)}
	}
	got := allBelow(metrics.PRounds, 0.001)([]results.SummaryRow{p(0), p(0.001)})
	if got.Verdict != judge.NotJudged || got.Shown == "" || got.Ours != "1 of 2" {
		t.Errorf("%+v, want one of two, shown", got)
	}
}
