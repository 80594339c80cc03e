package papers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/protocol"
	"rollcall/results/stats"
)

// Table is one table of a paper, which has every method in every column.
type Table struct {
	ID      string
	Title   string
	Methods []string
	Columns []Column
	Seeds   []uint32
	Rounds  int // T
	Entries []Entry

	Printed []results.Printed // the paper's numbers in its order; empty if it prints none, and for a table of ours
	Says    []Sentence[[]results.SummaryRow]
	Source  string // the paper and its table or section; empty for a table of ours

	About func(rounds int) string // explains the numbers of runs of so many rounds to people
	// fewest rounds whose second half has a spread, for tables that print it; 0: any number
	MinRounds int
	Reference string // the method with which the others are compared; empty: none
	Preset    string // the default preset; empty: code

	// Of a sweep: what a cell shows in place of its values of the settings in Apart, the user's name for example. The
	// keys are cells; nil: each shows its own settings.
	Labels map[results.CellKey]results.Params
	Apart  []string
}

// Column is one group of columns: a data set under an availability process, with the settings that differ from the
// program's defaults.
type Column struct {
	Data, Availability string

	Set            results.Params                       // distinguish the column from others of the table
	Base           results.Params                       // shared by the experiments of a paper
	ByPreset       map[string]results.Params            // for one preset
	ByMethod       map[string]results.Params            // for one method
	ByPresetMethod map[string]map[string]results.Params // for one method in one preset, by preset

	Readings []Reading // other ways to read the paper, see [Column.Read]
	// by preset that takes a paper otherwise since its printed numbers were known: the [Reading] that it was before
	Late map[string]string
	read results.Params // the settings of the readings that were asked for
}

// OneByRounds is the value of a setting that is 1/T, whatever the number of rounds.
const OneByRounds = "1/T"

// Common returns the column's settings for a method in a preset, without those in Set.
func (c *Column) Common(method, preset string) results.Params {
	return c.Base.And(c.ByPreset[preset], c.ByMethod[method], c.ByPresetMethod[preset][method], c.read)
}

// Settings returns the column's settings for a method in a preset. If a flag occurs twice, the last one counts. A flag
// that a run does not use is ignored.
func (c *Column) Settings(method, preset string) results.Params {
	return c.Common(method, preset).And(c.Set)
}

// TrainsAs returns the settings whose defaults depend on the method: how its own paper trains it on a data set, in a
// preset. net is the default net of the data set. Data sets that are never augmented stay so, whatever the preset says.
// A method of no paper here trains as FedAWE's methods do, with learning rates of its own definition.
func TrainsAs(method, preset, data, net string) results.Params {
	switch {
	case slices.Contains(cafedOwn, method), method == "f3ast" && preset == noMomentum:
		return cafedTrains(method, preset, data, net)
	case slices.Contains(fedarOwn, method):
		return fedarTrains
	}
	if rates, trained := fedaweRates[method]; trained {
		return fedaweLocal[preset].And(rates)
	}
	return fedaweLocal[preset] // a method of no paper
}

// Presets returns the presets in which `rollcall run` trains a method, the default first. All methods have paper. The
// others have code. CA-Fed's own have [noMomentum] in its place: the momentum of their released code has no learning
// rates outside the tables, since ToN's diverge with it. F3AST has all three; in [noMomentum] it trains as in ToN's
// figures.
func Presets(method string) []string {
	switch {
	case slices.Contains(cafedOwn, method):
		return []string{noMomentum, "paper"}
	case method == "f3ast":
		return []string{"code", "paper", noMomentum}
	}
	return []string{"code", "paper"}
}

// Presets returns the presets of the column, code first. Only CA-Fed's columns have [noMomentum].
func (c *Column) Presets() []string {
	presets := []string{"code", "paper"}
	if _, has := c.ByPreset[noMomentum]; has {
		presets = append(presets, noMomentum)
	}
	return presets
}

// Sweep returns a table of ours with the accuracies of methods. The caller sets its columns and rounds. A sweep that is
// read from its folder has neither methods nor seeds.
func Sweep(id, title string, methods []string, seeds []uint32) Table {
	return Table{ID: id, Title: title, Methods: methods, Seeds: seeds, Entries: accuracies(), About: aboutAccuracies}
}

// With returns the table with further numbers behind its own, those of the metrics that follow from curves. It ignores
// other metrics.
func (t *Table) With(further ...metrics.Metric) Table {
	more := *t
	more.Entries = slices.Clone(t.Entries)
	for _, m := range further {
		if m.IsOfCurves() && !slices.ContainsFunc(more.Entries, func(e Entry) bool { return e.Metric == m }) {
			more.Entries = append(more.Entries, fromCurves(m)...)
		}
	}
	return more
}

// Only returns the table with the numbers of these metrics alone, in their order; with its own if there are none.
func (t *Table) Only(chosen ...metrics.Metric) Table {
	only := *t
	if len(chosen) > 0 {
		only.Entries, only.About = fromCurves(chosen...), func(int) string { return aboutSeeds }
	}
	return only
}

// Metrics returns the metrics of the table.
func (t *Table) Metrics() (list []metrics.Metric) {
	for _, e := range t.Entries {
		list = append(list, e.Metric)
	}
	return list
}

var tables = withExperiments(slices.Concat(fedaweTables, cafedTables, fedarTables))

// usualClients is N if a column does not set it; it is the default of the program.
const usualClients = 100

// withExperiments sets the rounds and the clients of every printed number, from its table and column.
func withExperiments(list []Table) []Table {
	for _, t := range list {
		for i := range t.Printed {
			p := &t.Printed[i]
			p.Rounds, p.Clients = t.Rounds, usualClients
			for _, c := range t.columnsOf(p.Data, p.Availability) {
				if set := c.Settings(p.Method, cmp.Or(t.Preset, "code")).Get("clients"); set != "" {
					p.Clients, _ = strconv.Atoi(set) // every experiment has a number
				}
			}
		}
	}
	return list
}

// columnsOf returns the columns of a data set under an availability process.
func (t *Table) columnsOf(data, availability string) (columns []Column) {
	for _, c := range t.Columns {
		if c.Data == data && c.Availability == availability {
			columns = append(columns, c)
		}
	}
	return columns
}

// Has reports whether the method is one of the table's own. The user may have added rows of others to a paper's table.
// A sweep that is read from its folder lists no methods, and has all of its rows.
func (t *Table) Has(method string) bool {
	return t.Methods == nil || slices.Contains(t.Methods, method)
}

// Own returns the settings of a row that the table does not prescribe for its method and column: the settings that
// distinguish columns, and those that the user chose.
func (t *Table) Own(r *results.SummaryRow) results.Params {
	var given []string
	label, labelled := t.Labels[r.CellKey()]
	if labelled {
		given = slices.Clone(t.Apart)
	}
	for _, c := range t.columnsOf(r.Data, r.Availability) {
		// A method that the table does not have trains as the first of its methods, whatever its own paper has.
		if !t.Has(r.Method) {
			for _, method := range []string{r.Method, t.Methods[0]} {
				trains := TrainsAs(method, r.Preset, r.Data, r.Net).Without(results.Rates...)
				given = append(given, trains.Without(c.Set.Names()...).Names()...)
			}
		}
		common := c.Common(r.Method, r.Preset).And(results.Params(fmt.Sprintf("rounds=%d", t.Rounds)))
		for name, value := range r.Params.All() {
			// A row has a number in place of OneByRounds, which cannot be compared.
			if wanted := common.Get(name); wanted == value || wanted == OneByRounds {
				given = append(given, name)
			}
		}
	}
	return label.And(r.Params.Without(given...))
}

// CellLabels returns the labels of the table's cells, by key; nil without any.
func (t *Table) CellLabels() (labels []results.Label) {
	apart := results.NewParams(files.Unique(t.Apart)...)
	for key, label := range t.Labels {
		labels = append(labels, results.Label{CellKey: key, Label: label, Apart: apart})
	}
	slices.SortFunc(labels, func(a, b results.Label) int {
		return cmp.Or(strings.Compare(a.String(), b.String()), strings.Compare(a.Net, b.Net))
	})
	return labels
}

// Label gives cells of the table labels.
func (t *Table) Label(labels []results.Label) {
	t.Labels = map[results.CellKey]results.Params{}
	for _, l := range labels {
		t.Labels[l.CellKey] = l.Label
		t.Apart = append(t.Apart, l.Apart.Names()...)
	}
	t.Apart = files.Unique(t.Apart)
}

// TableNames returns the ids of all tables: fedawe-2, …
func TableNames() []string { return ids(tables, tableID) }

// WithSeed returns the ids of the tables and figures that have a seed among theirs.
func WithSeed(seed uint32) (ids []string) {
	for _, t := range tables {
		if slices.Contains(t.Seeds, seed) {
			ids = append(ids, t.ID)
		}
	}
	for _, f := range figures {
		if slices.Contains(f.Seeds, seed) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// TableByID returns the table with an id. The error lists the known ids.
func TableByID(id string) (Table, error) { return byID("table", id, tables, tableID) }

// tableID returns the id of a table, for [ids] and [byID].
func tableID(t Table) string { return t.ID }

func ids[T any](list []T, idOf func(T) string) []string {
	names, _ := results.Grouped(list, idOf)
	return names
}

// byID returns the table or figure with an id; what says in the error which of the two it is.
func byID[T any](what, id string, list []T, idOf func(T) string) (found T, err error) {
	i := slices.IndexFunc(list, func(x T) bool { return idOf(x) == id })
	if i < 0 {
		return found, fmt.Errorf("papers: %s %q: unknown, want one of %s",
			what, id, strings.Join(ids(list, idOf), ", "))
	}
	return list[i], nil
}

// printedTable describes the layout of a printed table, so that its numbers can be typed as they are printed.
type printedTable struct {
	id, availability string
	n                int               // seeds behind each number
	columns          []results.Printed // with data, alpha and params only
	metrics          []metrics.Metric  // the numbers of each column
}

// numbers parses the lines of the table. A line has a method, and its numbers column by column: 85.6, 85.6±0.9, or a
// dash for a missing number. Accuracies are in percent.
func (t printedTable) numbers(lines string) (rows []results.Printed) {
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		words := strings.Fields(line)
		for i, word := range words[1:] {
			row := t.columns[i/len(t.metrics)]
			row.Table, row.Method, row.Availability, row.N = t.id, words[0], t.availability, t.n
			row.Metric = t.metrics[i%len(t.metrics)]
			mean, std, _ := strings.Cut(word, "±")
			row.Mean, row.Std = printedNumber(row.Metric, mean), printedNumber(row.Metric, std)
			rows = append(rows, row)
		}
	}
	return rows
}

// printedNumber parses a printed number and converts it to the unit of our numbers: percentages become fractions.
func printedNumber(m metrics.Metric, text string) files.Optional {
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil: // a dash or nothing
		return files.Optional{}
	case m.IsRound(), m == metrics.PRounds:
		return files.Some(x)
	case m == metrics.ClientAccVar:
		return files.Some(math.Round(100*x) / 1e6)
	}
	return files.Some(math.Round(100*x) / 1e4) // the nearest float64; x/100 would print 86.1 % as 0.8609999999999999
}

// Entry is one number that a table has for every cell.
type Entry struct {
	Metric metrics.Metric

	// Fill computes the number from the finished runs of a cell, at least one, and stores it in the row, whose metric
	// is set. reference has the runs of the table's reference method in the same column; it is empty if there are none.
	Fill func(row *results.SummaryRow, runs, reference Runs) error
}

// accuracies returns the entries of FedAWE's tables: test and train accuracy, means over the last 50 rounds.
func accuracies() []Entry { return fromCurves(metrics.TestAcc, metrics.TrainAcc) }

// fromCurves returns an entry for each metric that follows from curves: the number of each run as [protocol.OfRun] has
// it, and then mean ± standard deviation over the seeds. A first round has a mean only if all seeds reach the accuracy.
func fromCurves(list ...metrics.Metric) []Entry {
	return entries(func(row *results.SummaryRow, runs, _ Runs) error {
		if _, is := row.Metric.Reaches(); is {
			reached := protocol.Reached(runs.Curves, row.Metric)
			if row.Reached = files.Some(float64(len(reached))); len(reached) == row.N {
				runs.mean(row, reached)
			}
			return nil
		}
		values, err := protocol.EachSeed(runs.Curves, results.ProtocolRounds, row.Metric)
		if err == nil {
			runs.mean(row, values)
		}
		return err
	}, list...)
}

// aboutSeeds explains [fromCurves] to people. Which rounds the numbers are about is said with each metric.
const aboutSeeds = "mean ± sample standard deviation over the seeds"

// aboutAccuracies explains [accuracies] to people.
func aboutAccuracies(rounds int) string {
	if rounds <= results.ProtocolRounds {
		return aboutSeeds
	}
	return fmt.Sprintf("%s; the training set is evaluated in the last %d rounds alone (--eval-train-rounds all: at "+
		"every evaluation)", aboutSeeds, results.ProtocolRounds)
}

// overTime returns the entries of INFOCOM's Table I: the largest test accuracy of a run, its mean over the rounds, and
// its standard deviation over the second half of the rounds, each averaged over the seeds.
func overTime() []Entry {
	return fromCurves(metrics.TestAccMax, metrics.TestAccMean, metrics.TestAccStd)
}

// aboutOverTime explains [overTime] to people.
func aboutOverTime(int) string {
	return "largest test accuracy of a run, mean over its rounds, and standard deviation over their second half; " +
		"each mean ± sample standard deviation over the seeds"
}

// clientAccuracies returns the entries of FedAR's Table 3: mean, spread, worst and best tenth of the accuracies of the
// clients.
func clientAccuracies() []Entry {
	return entries(func(row *results.SummaryRow, runs, _ Runs) error {
		values, err := protocol.ClientsEachSeed(runs.Clients, row.Metric)
		if err == nil {
			runs.mean(row, values)
		}
		return err
	}, metrics.OfClients...)
}

// aboutClientAccuracies explains [clientAccuracies] to people.
func aboutClientAccuracies(int) string {
	return "of the accuracies of the clients after the last round, each on the test samples of its own two classes; " +
		"mean ± sample standard deviation over the seeds"
}

// firstRounds returns the entries of FedAWE's Table 8: the first round in which the mean over the seeds reaches each
// quarter of a target test accuracy; targets has the target of each data set. It looks at the rounds that are multiples
// of every. If the runs were evaluated less often, it looks at the multiples of [evaluatedEvery] instead.
func firstRounds(every int, targets map[string]float64) []Entry {
	return entries(func(row *results.SummaryRow, runs, _ Runs) error {
		all, ok := targets[row.Data]
		if !ok {
			return fmt.Errorf("table %s: no target accuracy for %s", row.Table, row.Data)
		}
		every, err := evaluatedEvery(every, runs.Curves)
		if err != nil {
			return err
		}
		quarters := 4 * row.Metric.Info().Target
		row.N = len(runs.Curves)
		row.Mean, err = protocol.FirstRound(runs.Curves, every, all*quarters/4, metrics.TestAcc)
		return err
	}, metrics.RoundsTo25, metrics.RoundsTo50, metrics.RoundsTo75, metrics.RoundsTo100)
}

// aboutFirstRounds explains [firstRounds] of FedAWE's Table 8 to people.
func aboutFirstRounds(int) string {
	return fmt.Sprintf("first round, of every %d, at which the mean over the seeds reaches a quarter, half, "+
		"three quarters and all of the target", fedawe8Every)
}

// evaluatedEvery returns the smallest multiple of step such that all curves were evaluated at all its multiples. If
// there is none, the error says which evaluation is missing.
func evaluatedEvery(step int, curves [][]results.CurveRow) (every int, err error) {
	for _, r := range curves[0] { // the first curve must have it as a round
		if every = r.Round; every > 0 && every%step == 0 {
			if _, err = protocol.FirstRound(curves, every, 1, metrics.TestAcc); err == nil {
				return every, nil
			}
		}
	}
	every = (curves[0][len(curves[0])-1].Round/step + 1) * step // beyond the last round: only the initial model counts
	_, err = protocol.FirstRound(curves, every, 1, metrics.TestAcc)
	return every, err
}

// pairedT returns the entries of FedAR's Table 2: the p-values of a paired t-test between the test accuracies of the
// reference and of the runs, by rounds, by seeds, and by seeds with Holm's correction, which Correct fills in. Behind
// the p-value by rounds are the lead of the reference, and how many of its pairs are independent. The reference itself
// and a column without one have none of them.
func pairedT() []Entry {
	return entries(func(row *results.SummaryRow, runs, reference Runs) (err error) {
		row.N = len(runs.Curves)
		// no reference, or a seed of the reference failed, which its own rows say
		if len(reference.Curves) != len(runs.Curves) {
			return nil
		}
		switch row.Metric {
		case metrics.PRounds:
			row.Mean, err = protocol.RoundsTTest(reference.Curves, runs.Curves)
		case metrics.PRoundsLead:
			row.Mean, _ = protocol.RoundsLead(reference.Curves, runs.Curves)
		case metrics.PRoundsN:
			_, row.Mean = protocol.RoundsLead(reference.Curves, runs.Curves)
		case metrics.PSeeds:
			row.Mean, err = protocol.SeedsTTest(reference.Curves, runs.Curves, results.ProtocolRounds)
		}
		return err
	}, metrics.OfPairs...)
}

// Correct fills in the rows of p_holm, once all rows of a table are there: Holm's correction of p_seeds. The family is
// every p_seeds of the table's own methods that is not missing, whatever its column; a row of another method has no
// p_holm, so that it changes none of the others. A cell's row of p_holm comes behind its row of p_seeds.
func (t *Table) Correct(rows []results.SummaryRow) {
	var p []float64
	inFamily := func(r *results.SummaryRow) bool {
		return r.Metric == metrics.PSeeds && r.Mean.Valid && t.Has(r.Method)
	}
	for i := range rows {
		if inFamily(&rows[i]) {
			p = append(p, rows[i].Mean.Value)
		}
	}
	adjusted, next := stats.Holm(p), files.Optional{} // next: of the cell at hand
	for i := range rows {
		switch r := &rows[i]; {
		case inFamily(r):
			next, adjusted = files.Some(adjusted[0]), adjusted[1:]
		case r.Metric == metrics.PSeeds:
			next = files.Optional{}
		case r.Metric == metrics.PHolm:
			r.Mean = next
		}
	}
}

// aboutPairedT explains [pairedT] and [accuracies] of FedAR's Table 2 to people.
func aboutPairedT(rounds int) string {
	return aboutAccuracies(rounds) + "; p_rounds: " +
		"two-sided paired t-test against fedar's of the test accuracies after every evaluated round, of all seeds, " +
		"as the paper has it, though they are not independent; p_rounds_lead: by how much fedar is ahead in the mean " +
		"of these rounds, negative where it is behind; p_rounds_n: how many independent pairs these rounds are " +
		"worth, from the correlation of each difference with the next; p_seeds: the same test of the means of the " +
		"seeds; p_holm: p_seeds with Holm's correction for all comparisons of the table"
}

// entries returns an entry for each metric, all with the same Fill.
func entries(fill func(row *results.SummaryRow, runs, reference Runs) error, list ...metrics.Metric) []Entry {
	all := make([]Entry, len(list))
	for i, m := range list {
		all[i] = Entry{m, fill}
	}
	return all
}
