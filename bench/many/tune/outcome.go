package tune

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"rollcall/bench/many"
	"rollcall/bench/run"
	"rollcall/bench/run/progress"
	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
)

// Names of files in the folder of a tuning.
const (
	TrialsFile = "trials.csv" // every pair in every rung
	RatesFile  = "rates.csv"  // the winners, for --rates
)

// Fate is what became of a pair of rates after a rung.
type Fate string

// The fates.
const (
	FateKept    Fate = "kept"    // it goes on to the next rung
	FateDropped Fate = "dropped" // others were better, or it diverged
	FateWinner  Fate = "winner"  // the best of the last rung
)

// TrialRow is a pair of rates in a rung.
type TrialRow struct {
	many.RatesKey
	LR       float64        `csv:"lr"`
	ServerLR float64        `csv:"server_lr"`
	Rung     int            `csv:"rung"`   // from 1
	Rounds   int            `csv:"rounds"` // after which the pairs were compared
	N        int            `csv:"n"`      // seeds
	Acc      files.Optional `csv:"acc"`    // fraction of the held-out samples; missing: diverged
	Std      files.Optional `csv:"std"`    // sample standard deviation over the seeds
	Loss     files.Optional `csv:"loss"`   // mean per held-out sample
	Status   string         `csv:"status"` // ok or diverged
	Fate     Fate           `csv:"fate"`
	Params   results.Params `csv:"params"` // every other setting that differs from the preset
	Version  string         `csv:"version"`
}

// row returns the row of a trial in a rung, without its fate.
func (c *cell) row(t *trial, rung int) TrialRow {
	row := TrialRow{
		RatesKey: many.RatesKeyOf(&c.settings), LR: t.lr, ServerLR: t.serverLR, Rung: rung + 1, Rounds: c.rungs[rung],
		Status: "diverged", Params: c.params(), Version: run.Version(),
	}
	if !t.diverged {
		row.Status, row.N = "ok", t.acc.N
		row.Acc, row.Std, row.Loss = files.Some(t.acc.Mean), t.acc.Std, files.Some(t.loss)
	}
	return row
}

// params returns the settings of all trials that differ from the preset.
func (c *cell) params() results.Params { return c.settings.Params().Without(results.Rates...) }

// rates returns the row of a winner in the file of rates.
func (t *Tuning) rates(c *cell, best *trial) *many.RatesRow {
	edges := []string{edge("lr", t.LRs, best.lr), edge("server-lr", t.ServerLRs, best.serverLR)}
	edges = slices.DeleteFunc(edges, func(e string) bool { return e == "" })
	return &many.RatesRow{
		RatesKey: many.RatesKeyOf(&c.settings), LR: best.lr, ServerLR: best.serverLR,
		Rounds: c.settings.Rounds, Seeds: strings.Trim(fmt.Sprint(t.Seeds), "[]"), HoldOut: c.settings.HoldOut,
		Acc: files.Some(best.acc.Mean), Std: best.acc.Std, Loss: files.Some(best.loss),
		Edge: strings.Join(edges, ", "), Params: c.params(), Version: run.Version(),
	}
}

// writeTrials writes the rows of all cells up to now.
func (t *Tuning) writeTrials(p *many.Pool, cells []*cell) error {
	var rows []TrialRow
	for _, c := range cells {
		rows = append(rows, c.rows...)
	}
	_, err := merge(p, t.Name, TrialsFile, rows, func(r TrialRow) many.RatesKey { return r.RatesKey })
	return err
}

// writeRates writes the rates of the cells that have some, and returns the path of the file.
func (t *Tuning) writeRates(p *many.Pool, rows []many.RatesRow) (string, error) {
	return merge(p, t.Name, RatesFile, rows, func(r many.RatesRow) many.RatesKey { return r.RatesKey })
}

// merge writes rows to a file in the folder of a tuning, and returns its path. Rows that the file has for other cells
// stay, so that a command for some methods does not lose what another found for others.
func merge[T any](p *many.Pool, folder, name string, rows []T, key func(T) many.RatesKey) (path string, err error) {
	path = filepath.Join(p.Sessions[0].Machine.Out, folder, name)
	if len(rows) == 0 {
		return path, nil
	}
	before, err := files.ReadCSVFile[T](path, files.MostTable)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return path, fmt.Errorf("%w: want it whole, or gone", err)
	}
	all := slices.DeleteFunc(before, func(old T) bool {
		return slices.ContainsFunc(rows, func(r T) bool { return key(r) == key(old) })
	})
	return path, files.WriteCSVFile(path, append(all, rows...))
}

// rungWords says how many pairs were compared after which rounds: "9 pairs after round 10, 5 after 20, 3 after 40". A
// cell whose trace is shorter than the others' has other rungs, which are not named.
func rungWords(cells []*cell) string {
	var words []string
	longest := cells[0]
	for _, c := range cells {
		if c.settings.Rounds > longest.settings.Rounds {
			longest = c
		}
	}
	n := len(longest.trials)
	for i, round := range longest.rungs {
		if i == 0 {
			words = append(words, fmt.Sprintf("%s after round %d", files.Count(n, "pair"), round))
		} else {
			n = half(n)
			words = append(words, fmt.Sprintf("%d after %d", n, round))
		}
	}
	return strings.Join(words, ", ")
}

// Write prints the rates that were found, and where they stand.
func (o *Outcome) Write(w io.Writer) error {
	var b strings.Builder // fmt cannot fail on it: only the one write at the end can
	t := o.tuning
	fmt.Fprintf(&b, "Tuning %s: %s; %s\n", t.Name, o.rungs, files.Count(len(t.Seeds), "seed"))
	fmt.Fprintf(&b, "accuracy on held-out training samples, the mean over the last %d evaluations and the seeds\n\n",
		evaluations)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "method\tdata\tnet\tavailability\tlr\tserver lr\taccuracy %\tloss\t")
	for _, r := range o.Rates {
		edge := ""
		if r.Edge != "" {
			edge = "at the edge of the grid: " + r.Edge
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%g\t%g\t%s\t%s\t%s\n", r.Method, r.Data, r.Net, r.Availability,
			r.LR, r.ServerLR, metrics.TestAcc.Words(r.Acc, r.Std, len(t.Seeds)), progress.Loss(r.Loss.Value), edge)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\n%s\n", o.path)
	_, err := io.WriteString(w, b.String())
	return err
}
