package compare

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/judge"
	"rollcall/results/metrics"
)

// BaselineRow compares one method with the baseline in one metric of one cell, seed by seed.
type BaselineRow struct {
	results.CellKey
	Baseline     string         `csv:"baseline"` // with the settings that tell it from others of its method
	Metric       metrics.Metric `csv:"metric"`
	Over         string         `csv:"over"` // which rounds of the runs the metric is about
	N            int            `csv:"n"`    // seeds that both have, and in which both runs have the metric
	Mean         files.Optional `csv:"mean"`
	BaselineMean files.Optional `csv:"baseline_mean"`
	Difference   files.Optional `csv:"difference"` // mean over the seeds of method − baseline
	Std          files.Optional `csv:"std"`        // of the differences; missing if N < 2
	Low          files.Optional `csv:"low"`        // ends of the confidence interval; missing if N < 2
	High         files.Optional `csv:"high"`
	P            files.Optional `csv:"p"`      // of the paired t-test, two-sided; missing if N < 2
	Holm         files.Optional `csv:"p_holm"` // corrected for all methods of the cell
	Verdict      string         `csv:"verdict"`

	place int // its cell, see [Baselining]
}

// Baselining is the comparison of all methods with one.
type Baselining struct {
	Rows    []BaselineRow // cell by cell, in each metric by metric
	Level   float64       // of the confidence intervals; 1 − Level is the significance of the tests
	Metrics []string      // what each metric is
	Without []string      // runs that have no partner of the baseline, by cell and seed
	Differ  []string      // further differences between partners: numerics, data, version, …

	places []string // the names of the cells
}

// The verdicts of a [BaselineRow], of which the first two are by its corrected p-value.
const (
	better     = "better"
	worse      = "worse"
	oneSeed    = "one seed"
	notReached = "not reached"
)

// Against compares the methods of some runs with a baseline: for each cell, a data set under an availability with its
// other settings, every other method that has a seed in common. The learning rates may differ, and so may the settings
// that are named after a method or in o.Own; a method that has several of them in one cell has a row for each. The
// baseline is a method, perhaps with settings, "fedau lr=0.1", and must be the only one of its kind in each cell. order
// has the place of each cell in the result. Differences are paired, as [Diff] does.
func Against(runs []results.Run, baseline string, order func(results.CellKey) int, o DiffOptions) (Baselining, error) {
	unlike := o
	unlike.Ignore = nil
	of, keys, err := bySeed(runs, unlike)
	if err != nil {
		return Baselining{}, err
	}
	slices.SortStableFunc(keys, func(a, b results.CellKey) int { return order(a) - order(b) })
	cells, members := results.Grouped(keys, func(k results.CellKey) results.CellKey { return o.cell(k) })
	d := Baselining{Level: o.Level, places: cellNames(cells)}
	rounds, compared := map[metrics.Metric][]int{}, map[metrics.Metric]int{}
	var pairs []runPair
	for place, cell := range cells {
		var base []results.CellKey
		for _, k := range members[cell] {
			if of.isNamed(k, baseline) {
				base = append(base, k)
			}
		}
		if len(base) > 1 {
			return Baselining{}, fmt.Errorf("results: diff: --baseline %q: %d in %s: %s, want one of these",
				baseline, len(base), d.places[place], strings.Join(of.choices(base), ", "))
		}
		others := slices.DeleteFunc(slices.Clone(members[cell]), func(k results.CellKey) bool {
			return slices.Contains(base, k)
		})
		for _, k := range others {
			var partners map[uint32]*results.Run
			if len(base) > 0 {
				partners = of[base[0]]
			}
			pairs = append(pairs, pairsOf(partners, of[k])...)
			d.Without = append(d.Without, seedRuns{k: of[k]}.without(seedRuns{k: partners})...)
		}
		if len(base) == 0 {
			continue
		}
		for _, m := range o.Metrics {
			var list []BaselineRow
			var differences [][]float64
			for _, k := range others {
				row, of, each := diffCell(k, m, pairsOf(of[base[0]], of[k]), o)
				if row.N == 0 && (len(of) == 0 || !m.IsRound()) { // none reaches the accuracy, which is a result
					continue
				}
				rounds[m], compared[m] = append(rounds[m], of...), compared[m]+row.N
				list, differences = append(list, BaselineRow{
					CellKey: k, Baseline: baseline, Metric: m, Over: row.Over, N: row.N, Mean: row.MeanB,
					BaselineMean: row.MeanA, Difference: row.Difference, Std: row.Std, Low: row.Low, High: row.High,
					place: place,
				}), append(differences, each)
			}
			for i, tested := range judge.Family(differences, 1-o.Level) {
				list[i].judge(tested)
			}
			d.Rows = append(d.Rows, list...)
		}
	}
	for _, m := range o.Metrics {
		if len(rounds[m]) > 0 {
			d.Metrics = append(d.Metrics, about(m, o.Last, rounds[m], compared[m]))
		}
	}
	d.Differ = differences(pairs)
	return d, nil
}

// cell returns the key that cells of all methods share, if they differ in nothing but what a method chooses for itself.
func (o DiffOptions) cell(k results.CellKey) results.CellKey {
	own := slices.Concat(results.Rates, o.Own)
	for _, name := range k.Params.Names() {
		if strings.HasPrefix(name, k.Method+"-") {
			own = append(own, name)
		}
	}
	k.Method, k.Params = "", k.Params.Without(own...)
	return k.Ignoring(o.Ignore)
}

// isNamed reports whether a cell is of the method and has the settings that a text names: "fedau lr=0.1".
func (a seedRuns) isNamed(k results.CellKey, text string) bool {
	words := strings.Fields(text)
	if len(words) == 0 || words[0] != k.Method {
		return false
	}
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		if has := a.setting(k, name); has != value {
			x, err := strconv.ParseFloat(has, 64)
			y, wrong := strconv.ParseFloat(value, 64)
			if err != nil || wrong != nil || x != y {
				return false
			}
		}
	}
	return true
}

// setting returns the value of a setting of a cell as text, from its params or else from a run.json; "" if it has none.
func (a seedRuns) setting(k results.CellKey, name string) string {
	if value := k.Params.Get(name); value != "" {
		return value
	}
	for _, run := range a[k] {
		if value, has := run.Settings()[name]; has {
			return fmt.Sprint(value)
		}
	}
	return ""
}

// choices returns cells of one method as [Against] takes them, quoted, with the settings in which they differ.
func (a seedRuns) choices(cells []results.CellKey) (texts []string) {
	var names []string
	for _, k := range cells {
		names = append(names, k.Params.Names()...)
	}
	for _, k := range cells {
		words := []string{k.Method}
		for _, name := range files.Unique(names) {
			value := a.setting(k, name)
			if slices.ContainsFunc(cells, func(other results.CellKey) bool { return a.setting(other, name) != value }) {
				words = append(words, name+"="+value)
			}
		}
		texts = append(texts, strconv.Quote(strings.Join(words, " ")))
	}
	return texts
}

// cellNames returns the names of cells without a method: the data set and the availability, and in what cells of one
// data set differ.
func cellNames(cells []results.CellKey) (names []string) {
	parts := []func(results.CellKey) string{
		func(k results.CellKey) string { return k.Net },
		func(k results.CellKey) string { return strings.TrimSuffix("preset "+k.Preset, "preset ") },
		func(k results.CellKey) string { return files.Count(k.Clients, "client") },
		func(k results.CellKey) string { return strings.TrimSuffix("alpha="+k.Alpha.String(), "alpha=") },
	}
	parts = slices.DeleteFunc(parts, func(part func(results.CellKey) string) bool {
		of := map[string]string{}
		for _, k := range cells {
			if text, met := of[k.Data]; met && text != part(k) {
				return false
			}
			of[k.Data] = part(k)
		}
		return true
	})
	common := results.CommonParams(cells, func(k results.CellKey) results.Params { return k.Params })
	for _, k := range cells {
		words := []string{cmp.Or(k.Data, "*"), cmp.Or(k.Availability, "*")} // "*": an ignored column
		for _, part := range parts {
			words = append(words, part(k))
		}
		names = append(names, withCommas(append(words, k.Params.Minus(common).Short(", "))...))
	}
	return names
}

// judge sets the outcome of a test.
func (r *BaselineRow) judge(t judge.Tested) {
	r.P, r.Holm = t.P, t.Holm
	switch {
	case t.Verdict == judge.Untold:
		r.Verdict = string(judge.Untold)
	case t.Verdict == judge.Differs && (r.Difference.Value > 0) == r.Metric.Info().More:
		r.Verdict = better
	case t.Verdict == judge.Differs:
		r.Verdict = worse
	case r.N == 0:
		r.Verdict = notReached
	default:
		r.Verdict = oneSeed
	}
}

// Write writes what the metrics are, a table for each cell and metric with a line for each method, accuracies in
// percent, and then a summary.
func (d Baselining) Write(w io.Writer, m Markup) error {
	var b strings.Builder
	for _, words := range d.Metrics {
		fmt.Fprintf(&b, "%s\n%s", m.escape(words), m.after)
	}
	if m.after == "" {
		b.WriteString("\n")
	}
	common := results.CommonParams(d.Rows, func(r BaselineRow) results.Params { return r.Params })
	var all []results.Params // among which labels differ
	for _, r := range d.Rows {
		all = append(all, r.Params)
	}
	type block struct {
		place  int
		metric metrics.Metric
	}
	blocks, of := results.Grouped(d.Rows, func(r BaselineRow) block { return block{r.place, r.Metric} })
	counts := map[string]int{}
	for _, at := range blocks {
		fmt.Fprintf(&b, m.title, m.escape(fmt.Sprintf("%s: %s", d.places[at.place], at.metric)))
		table := newTable("lrrrrrrl", "method", "n", "mean", "baseline", "difference",
			fmt.Sprintf("%g %% interval", 100*d.Level), "p Holm", "verdict")
		for _, r := range of[at] {
			counts[r.Verdict]++
			interval := metrics.NoNumber
			if r.Low.Valid {
				interval = r.Metric.Difference(r.Low) + " … " + r.Metric.Difference(r.High)
			}
			label := strings.TrimSpace(r.Method + " " + r.Params.Minus(common).Short(" ", all...))
			table.Lines = append(table.Lines, []string{
				m.escape(label), fmt.Sprint(r.N), r.Metric.Words(r.Mean, files.Optional{}, r.N),
				r.Metric.Words(r.BaselineMean, files.Optional{}, r.N), r.Metric.Difference(r.Difference), interval,
				strings.TrimSpace(metrics.PHolm.Number(r.Holm, files.Optional{})), r.Verdict,
			})
		}
		m.table(table, &b)
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s against %s:", files.Count(len(d.Rows), "row"), m.escape(strconv.Quote(d.Rows[0].Baseline)))
	verdicts := []string{better, worse, string(judge.Untold), oneSeed, notReached}
	for i, verdict := range verdicts {
		if i < 3 || counts[verdict] > 0 {
			fmt.Fprintf(&b, "%s %d %s", strings.Repeat(",", min(i, 1)), counts[verdict], verdict)
		}
	}
	fmt.Fprintf(&b, "\n%sverdicts by paired t-tests over the seeds: p below %.3g, by Holm for the methods of a cell\n",
		m.after, 1-d.Level)
	for _, words := range d.Differ {
		fmt.Fprintf(&b, "partners differ: %s\n", m.escape(words))
	}
	for _, r := range d.Without {
		fmt.Fprintf(&b, "without a partner of the baseline: %s\n", m.escape(r))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
