package compare

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"rollcall/results/protocol"

	"gonum.org/v1/gonum/stat/distuv"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// DiffRow compares one metric of one cell between two sets of runs, A and B, seed by seed.
type DiffRow struct {
	results.CellKey
	Metric     metrics.Metric `csv:"metric"`
	Over       string         `csv:"over"` // which rounds of the runs the metric is about
	N          int            `csv:"n"`    // seeds that both sets have, and in which both runs have the metric
	MeanA      files.Optional `csv:"mean_a"`
	MeanB      files.Optional `csv:"mean_b"`
	Difference files.Optional `csv:"difference"` // mean over the seeds of B − A
	Std        files.Optional `csv:"std"`        // of the differences; missing if N < 2
	Low        files.Optional `csv:"low"`        // ends of the confidence interval; missing if N < 2
	High       files.Optional `csv:"high"`
	Apart      bool           `csv:"apart"` // the interval does not contain 0
}

// DiffOptions say what [Diff] compares, and how.
type DiffOptions struct {
	Metrics []metrics.Metric // of [metrics.OfCurves] or [metrics.Reaching]
	Level   float64          // of the confidence intervals, above 0 and below 1
	Last    int              // of how many last rounds a measured column is the mean, at least 1
	Ignore  []string         // columns of [results.KeyColumns] that may differ between A and B
	Own     []string         // of [Against]: settings that a method chooses for itself
	Mixed   bool             // allows seeds of one cell in one set that are not alike
}

// Diffing is the comparison of two sets of runs.
type Diffing struct {
	Rows         []DiffRow
	Level        float64
	Metrics      []string // what each metric is
	OnlyA, OnlyB []string // runs without a partner in the other set, by cell and seed
	Differ       []string // further differences between partners: numerics, data, version, …
}

// Diff compares the runs of the same cell and seed in two sets, a and b, by the numbers of [protocol.OfRun].
// Only complete runs count. The runs of one cell in one set must be alike, unless o.Mixed is true; differences between
// partners that no column shows are in Differ.
//
// The differences are paired, so that the effect of a seed on both runs cancels. The confidence interval is Student's
// d ± t·s/√n with n−1 degrees of freedom. It assumes normal differences, which three seeds cannot confirm.
func Diff(a, b []results.Run, o DiffOptions) (Diffing, error) {
	runsA, cells, err := bySeed(a, o)
	if err != nil {
		return Diffing{}, err
	}
	runsB, _, err := bySeed(b, o)
	if err != nil {
		return Diffing{}, err
	}
	d := Diffing{
		Level: o.Level, OnlyA: runsA.without(runsB), OnlyB: runsB.without(runsA),
		Differ: differences(runsA.pairs(runsB, cells)),
	}
	rounds, compared := map[metrics.Metric][]int{}, map[metrics.Metric]int{}
	for _, k := range cells {
		for _, m := range o.Metrics {
			row, of, _ := diffCell(k, m, pairsOf(runsA[k], runsB[k]), o)
			if row.N > 0 || len(of) > 0 && m.IsRound() { // none reaches the accuracy, which is a result
				d.Rows, rounds[m] = append(d.Rows, row), append(rounds[m], of...)
				compared[m] += row.N
			}
		}
	}
	for _, m := range o.Metrics {
		if len(rounds[m]) > 0 {
			d.Metrics = append(d.Metrics, about(m, o.Last, rounds[m], compared[m]))
		}
	}
	return d, nil
}

// about says what a metric is: of pairs of runs of so many rounds, of which only those are compared that both have it.
func about(m metrics.Metric, last int, rounds []int, compared int) string {
	text, why := m.Over(last, rounds...)
	words := string(m) + ": " + withCommas(m.Name(), text, why)
	if pairs := len(rounds) / 2; m.IsRound() && compared < pairs {
		words += fmt.Sprintf("; left out: %d of %s, in which a run does not reach it",
			pairs-compared, files.Count(pairs, "pair"))
	}
	return words
}

type seedRuns map[results.CellKey]map[uint32]*results.Run

// without returns the names of the runs in a that have no partner in b, sorted.
func (a seedRuns) without(b seedRuns) (names []string) {
	for k, seeds := range a {
		for seed, run := range seeds {
			if b[k][seed] == nil {
				names = append(names, fmt.Sprintf("%s seed %d", run.Key(), seed))
			}
		}
	}
	slices.Sort(names)
	return names
}

// pairs returns the partners of the cells, in the order of the cells.
func (a seedRuns) pairs(b seedRuns, cells []results.CellKey) (pairs []runPair) {
	for _, k := range cells {
		pairs = append(pairs, pairsOf(a[k], b[k])...)
	}
	return pairs
}

// runPair are two runs of one seed.
type runPair struct{ a, b *results.Run }

// pairsOf returns the runs of the seeds that two cells share, by ascending seed.
func pairsOf(a, b map[uint32]*results.Run) (pairs []runPair) {
	for _, seed := range slices.Sorted(maps.Keys(a)) {
		if b[seed] != nil {
			pairs = append(pairs, runPair{a[seed], b[seed]})
		}
	}
	return pairs
}

// differences lists in what partners differ besides the columns of their cell, with the number of such pairs.
func differences(pairs []runPair) (differ []string) {
	counts := map[string]int{}
	for _, pair := range pairs {
		x, y := pair.a, pair.b
		like, other := x.Likeness(), y.Likeness()
		like.Settings, other.Settings = "", "" // the columns show different settings, or they are ignored
		// A likeness has no checksum of data that were generated from the seed. Partners have the same seed, and so
		// must have the same data.
		like.Checksum, other.Checksum = x.Info.DataChecksum, y.Info.DataChecksum
		if x.Method != y.Method { // their revisions count apart
			like.Revisions.Method, other.Revisions.Method = 0, 0
		}
		words := like.Unlike(other)
		for _, v := range []struct{ what, a, b string }{
			{"engine", x.Info.Engine, y.Info.Engine},
			{"precision", x.Info.Precision, y.Info.Precision},
			{"device", x.Info.Device, y.Info.Device},
			{"version", x.Info.Version, y.Info.Version},
		} {
			if v.a != v.b {
				words = append(words, fmt.Sprintf("%s %s and %s", v.what, v.a, v.b))
			}
		}
		for _, w := range words {
			counts[w]++
		}
	}
	for _, words := range slices.Sorted(maps.Keys(counts)) {
		differ = append(differ, fmt.Sprintf("%s (%s)", words, files.Count(counts[words], "pair")))
	}
	return differ
}

// bySeed groups the complete runs by cell and seed; keys are the cells in the order of the runs. It is an error if two
// runs share cell and seed, or if the runs of a cell are not alike.
func bySeed(runs []results.Run, o DiffOptions) (sorted seedRuns, keys []results.CellKey, err error) {
	sorted = seedRuns{}
	first := map[results.CellKey]*results.Run{}
	for i := range runs {
		r := &runs[i]
		if r.Status() != results.RunComplete {
			continue
		}
		k := r.Key().Ignoring(o.Ignore)
		if sorted[k] == nil {
			sorted[k], first[k] = map[uint32]*results.Run{}, r
			keys = append(keys, k)
		}
		if other := sorted[k][r.Seed]; other != nil {
			return nil, nil, fmt.Errorf("results: diff: %s and %s are the same run but for what is ignored, "+
				"want one of them", other.Dir, r.Dir)
		}
		like, other := first[k].Likeness(), r.Likeness()
		// Settings that are ignored may differ between the seeds of a cell too.
		if len(o.Ignore) > 0 {
			like.Settings, other.Settings = "", ""
		}
		if differ := like.Unlike(other); differ != nil && !o.Mixed {
			return nil, nil, fmt.Errorf("results: diff: %s and %s are seeds of one cell, but differ: %s: "+
				"want seeds that are alike, or --mixed", first[k].Dir, r.Dir, strings.Join(differ, "; "))
		}
		sorted[k][r.Seed] = r
	}
	return sorted, keys, nil
}

// diffCell compares one metric of a cell over the pairs in which both runs have it. rounds are those of all runs, and
// differences has B − A of each pair in the row.
func diffCell(
	k results.CellKey, m metrics.Metric, pairs []runPair, o DiffOptions,
) (row DiffRow, rounds []int, differences []float64) {
	row = DiffRow{CellKey: k, Metric: m}
	var x, y []float64
	for _, pair := range pairs {
		rounds = append(rounds, pair.a.Rounds(), pair.b.Rounds())
		va, vb := protocol.OfRun(pair.a.Curve, o.Last, m), protocol.OfRun(pair.b.Curve, o.Last, m)
		if va.Valid && vb.Valid {
			x, y, differences = append(x, va.Value), append(y, vb.Value), append(differences, vb.Value-va.Value)
		}
	}
	row.Over, _ = m.Over(o.Last, rounds...)
	row.N, row.MeanA, row.MeanB = len(differences), stats.Mean(x), stats.Mean(y)
	row.Difference, row.Std = stats.Mean(differences), stats.SampleStd(differences)
	// The interval has two sides, each of which misses the true difference with probability (1 − o.Level)/2.
	if row.Std.Valid && stats.Finite(row.Std.Value) {
		n := float64(row.N)
		half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.5+o.Level/2) * row.Std.Value / math.Sqrt(n)
		row.Low, row.High = files.Some(row.Difference.Value-half), files.Some(row.Difference.Value+half)
		row.Apart = row.Low.Value > 0 || row.High.Value < 0
	}
	return row, rounds, differences
}

// words returns the cells of a row's line in the printed table, without the params in common.
func (r DiffRow) words(common results.Params, all []results.Params) []string {
	params := r.Params.Minus(common).Short(" ", all...)
	interval, verdict := metrics.NoNumber, "one seed"
	if r.N == 0 {
		verdict = "not reached"
	}
	if r.Low.Valid {
		interval = r.Metric.Difference(r.Low) + " … " + r.Metric.Difference(r.High)
		verdict = "not apart"
		if r.Apart {
			verdict = "apart"
		}
	}
	return []string{
		cmp.Or(r.Method, "*"), cmp.Or(r.Data, "*"), cmp.Or(r.Availability, "*"), // "*": an ignored column
		params, string(r.Metric), fmt.Sprint(r.N),
		r.Metric.Words(r.MeanA, files.Optional{}, r.N), r.Metric.Words(r.MeanB, files.Optional{}, r.N),
		r.Metric.Difference(r.Difference), interval, verdict,
	}
}

// Write writes what the metrics are, a table with a line for each row, accuracies in percent, and then a summary.
func (d Diffing) Write(w io.Writer, m Markup) error {
	params := func(r DiffRow) results.Params { return r.Params }
	common, all := results.CommonParams(d.Rows, params), results.AllParams(d.Rows, params)
	table := newTable("lllllrrrrrl", "method", "data", "availability", "params", "metric", "n", "A", "B", "B − A",
		fmt.Sprintf("%g %% interval", 100*d.Level), "verdict")
	apart := 0
	for _, r := range d.Rows {
		table.Lines = append(table.Lines, r.words(common, all))
		if r.Apart {
			apart++
		}
	}
	var b strings.Builder
	for _, words := range d.Metrics {
		fmt.Fprintf(&b, "%s\n%s", m.escape(words), m.after)
	}
	if m.after == "" {
		b.WriteString("\n")
	}
	m.table(table, &b)
	// 1 − level of all intervals miss 0 by chance, even if A and B do not differ at all.
	fmt.Fprintf(&b, "\n%d rows, %d apart: by chance alone about %.1f would be; without a partner: %d in A, %d in B\n",
		len(d.Rows), apart, (1-d.Level)*float64(len(d.Rows)), len(d.OnlyA), len(d.OnlyB))
	for _, words := range d.Differ {
		fmt.Fprintf(&b, "A and B differ: %s\n", m.escape(words))
	}
	for _, r := range d.OnlyA {
		fmt.Fprintf(&b, "only in A: %s\n", m.escape(r))
	}
	for _, r := range d.OnlyB {
		fmt.Fprintf(&b, "only in B: %s\n", m.escape(r))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
