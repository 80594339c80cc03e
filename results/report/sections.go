package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/papers"
	"rollcall/results/plot"
)

// availability adds the figures that show how often clients are available, and when (FedAWE, figures 5 and 6).
func (b *builder) availability() {
	if len(b.Base) > 0 {
		b.add(figure{
			ID: "availability-base", section: "availability", Title: "How often clients are available",
			drawn: papers.FedAWEF5Figure(b.Base), csv: csvWriter(b.Base),
			Caption: "The clients' base availabilities p_i, as in FedAWE's figure 5. " + b.BaseOf,
		})
	}
	processes, paths := results.Grouped(b.Paths, func(r papers.FedAWEF6Row) string { return r.Availability })
	for _, process := range processes {
		rows := paths[process]
		drawn := papers.FedAWEF6Figure(rows)
		drawn.PanelHeight = 240
		b.add(figure{
			ID: "availability-" + process, section: "availability", Title: "When clients are available: " + process,
			Availability: process, drawn: drawn, csv: csvWriter(rows),
			Caption: "Left the probability p_i^t of three kinds of clients, right the active clients " +
				"in a draw of it, " +
				"as in FedAWE's figure 6. " + b.PathsOf,
		})
	}
}

// mapRounds is the largest number of rounds in an inclusion map; more would not be readable.
const mapRounds = 200

// decisions adds the importance of clients (CA-Fed) for runs with decisions, and an inclusion map for each method that
// excluded an active client.
func (b *builder) decisions() {
	for _, f := range families(withFile(results.Cells(b.Runs, b.Mixed), results.DecisionsFile)) {
		slices.SortStableFunc(f.cells, func(x, y results.Cell) int { return b.place(x.Method) - b.place(y.Method) })
		title := f.title()
		var (
			used   []*results.Run
			shares []papers.CAFedImportanceRow
			groups []papers.CAFedGroupRow
		)
		for _, c := range f.cells {
			runs, _ := drawable(c)
			// Read the decisions of every run; a bad file is reported and left out, and the other runs are drawn.
			var seeds [][]results.DecisionRow
			var read []*results.Run
			for _, r := range runs {
				rows, err := results.ReadDecisions(filepath.Join(r.Dir, results.DecisionsFile))
				if err != nil {
					b.bad = append(b.bad, err)
					continue
				}
				if len(rows) > 0 {
					seeds, read = append(seeds, rows), append(read, r)
				}
			}
			if len(seeds) == 0 {
				continue
			}
			name := f.name(c)
			// One seed is enough for an inclusion map, and only methods that exclude clients need one.
			excluded := func(d results.DecisionRow) bool { return d.Active == 1 && d.Included == 0 }
			if slices.ContainsFunc(seeds[0], excluded) {
				b.inclusionMap(name, read[0], seeds[0])
			}
			s, errS := papers.CAFedImportanceRows(name, seeds)
			g, errG := papers.CAFedGroupRows(name, seeds)
			if err := cmp.Or(errS, errG); err != nil {
				b.bad = append(b.bad, err)
				continue
			}
			shares, groups, used = append(shares, s...), append(groups, g...), append(used, read...)
		}
		if len(used) == 0 {
			continue
		}
		about := f.made(used)
		b.add(figure{
			ID: "importance-" + f.id(), section: "decisions", Title: "Importance by group of clients: " + title,
			drawn: papers.CAFedGroupFigure("Cumulative importance, "+title, groups), csv: csvWriter(groups), runs: used,
			Caption: "The weights with which a group's updates entered the model, summed over its clients, " +
				"mean over rounds and seeds. " + about,
		})
		b.add(figure{
			ID: "shares-" + f.id(), section: "decisions", Title: "Importance of each client: " + title,
			drawn: papers.CAFedShareFigure("Importance of each client, "+title, shares), csv: csvWriter(shares),
			runs:    used,
			Caption: "Each client's share of all weights, and its target. " + about,
		})
	}
}

// inclusionMap adds a figure that shows which clients were active and which were included in the first rounds of a run.
func (b *builder) inclusionMap(name string, r *results.Run, decisions []results.DecisionRow) {
	rows := papers.CAFedActivityRows(decisions)
	note := ""
	drawn := slices.DeleteFunc(slices.Clone(rows), func(r papers.CAFedActivityRow) bool { return r.Round > mapRounds })
	if len(drawn) < len(rows) {
		note = fmt.Sprintf(" The first %d rounds; the CSV has all.", mapRounds)
	}
	title := fmt.Sprintf("%s, %s, %s", name, r.Data, r.Availability)
	b.add(figure{
		ID: "inclusion-" + title, section: "decisions", Title: "Available and included clients: " + title,
		drawn: papers.CAFedActivityFigure(title, drawn), csv: csvWriter(rows), runs: []*results.Run{r},
		Caption: "A line for each client, the most available on top." + note + " " + made([]*results.Run{r}),
	})
}

// withFile returns the cells with only those runs that have a file of this name.
func withFile(cells []results.Cell, name string) (left []results.Cell) {
	for _, c := range cells {
		c.Runs = slices.DeleteFunc(slices.Clone(c.Runs), func(r results.Run) bool {
			return !slices.Contains(r.Extra, name)
		})
		if len(c.Runs) > 0 {
			left = append(left, c)
		}
	}
	return left
}

type clientAccuracy struct {
	Method   string         `csv:"method"`
	Params   results.Params `csv:"params"`
	Seed     uint32         `csv:"seed"`
	Round    int            `csv:"round"` // 0 if the file has no rounds
	Client   int            `csv:"client"`
	Accuracy float64        `csv:"accuracy"` // fraction
}

// perClient adds histograms of the accuracy over the clients, for the runs with a file that has it.
func (b *builder) perClient() {
	for _, f := range families(results.Cells(b.Runs, b.Mixed)) {
		var (
			rows   []clientAccuracy
			used   []*results.Run
			panels []plot.Chart
		)
		for _, c := range f.cells {
			var values []float64
			runs, _ := drawable(c)
			for _, r := range runs {
				// Any CSV beside the curve may have accuracies by client; decisions.csv never has.
				for _, name := range r.Extra {
					if name == results.DecisionsFile {
						continue
					}
					accuracies, err := readAccuracies(filepath.Join(r.Dir, name))
					if err != nil {
						b.bad = append(b.bad, err)
					}
					if len(accuracies) == 0 {
						continue
					}
					used = append(used, r)
					b.drawnFiles[name] = true
					for _, x := range accuracies {
						x.Method, x.Params, x.Seed = c.Method, c.Params, r.Seed
						rows, values = append(rows, x), append(values, x.Accuracy)
					}
				}
			}
			if len(values) == 0 {
				continue
			}
			// All histograms have the same bins, so that they can be compared; readAccuracies has refused other values.
			bins, _ := plot.Bins(values, 0, 1, 20)
			panels = append(panels, plot.Histogram{
				Title: f.name(c), XLabel: "accuracy of a client", YLabel: "clients", Bins: bins,
			})
		}
		if len(panels) == 0 {
			continue
		}
		title := "Accuracy of the clients, " + f.title()
		b.add(figure{
			ID: "clients-" + f.id(), section: "clients", Title: "Accuracy of the clients: " + f.title(),
			drawn: plot.Figure{Title: title, PanelHeight: 220, Panels: plot.InPairs(panels)}, csv: csvWriter(rows),
			runs:    used,
			Caption: "How many clients have which accuracy, all seeds together. " + f.made(used),
		})
	}
}

// readAccuracies reads the accuracies of clients in the last round of a CSV file. A file without the columns for them
// has none, which is not an error.
func readAccuracies(path string) (rows []clientAccuracy, err error) {
	f, _, err := files.OpenRegular(path)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	in, err := files.NewCSVReader(f)
	if err != nil {
		return nil, fmt.Errorf("report: %s: line 1: %w", path, err)
	}
	head, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("report: %s: line 1: empty, want a header", path)
	}
	if err != nil {
		return nil, fmt.Errorf("report: %s: %w", path, err)
	}
	client, round := slices.Index(head, "client"), slices.Index(head, "round")
	accuracy := slices.IndexFunc(head, func(name string) bool {
		return name == "accuracy" || name == "test_acc" || name == "acc"
	})
	if client < 0 || accuracy < 0 {
		return nil, nil
	}
	last := 0
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return rows, fmt.Errorf("report: %s: %w", path, err)
		}
		line, _ := in.FieldPos(0)
		var x clientAccuracy
		var bad [3]error
		x.Client, bad[0] = strconv.Atoi(record[client])
		x.Accuracy, bad[1] = strconv.ParseFloat(record[accuracy], 64)
		if round >= 0 {
			x.Round, bad[2] = strconv.Atoi(record[round])
		}
		if err := errors.Join(bad[:]...); err != nil {
			text := strings.Join(record, ",")
			return rows, fmt.Errorf("report: %s: line %d: %s, want numbers: %w", path, line, text, err)
		}
		if math.IsNaN(x.Accuracy) {
			continue // the client has no test samples
		}
		// plot.Bins would refuse such a value too, but could not name its line.
		if !(x.Accuracy >= 0 && x.Accuracy <= 1) {
			return rows, fmt.Errorf("report: %s: line %d: accuracy %g, want 0 … 1", path, line, x.Accuracy)
		}
		rows = append(rows, x)
		last = max(last, x.Round)
	}
	return slices.DeleteFunc(rows, func(x clientAccuracy) bool { return x.Round < last }), nil
}

// speedRow is a [results.BenchRow] with its place in the figure.
type speedRow struct {
	Days   float64 `csv:"days"`   // since the first measurement
	Series string  `csv:"series"` // its line: the workload and the engine
	results.BenchRow
}

// speed adds a figure of the speed measurements over time.
func (b *builder) speed() {
	if len(b.Bench) == 0 {
		return
	}
	rows := slices.SortedStableFunc(slices.Values(b.Bench), func(x, y results.BenchRow) int {
		return x.Time.Compare(y.Time)
	})
	lines := plot.LineChart{
		XLabel: "days since " + rows[0].Time.Format("2006-01-02"), YLabel: "client-steps per second",
		YMin: files.Some(0),
	}
	var out []speedRow
	var devices []string
	for _, r := range rows {
		days := r.Time.Sub(rows[0].Time).Hours() / 24
		name := fmt.Sprintf("%s %s, %s %s, %s", r.Data, r.Net, r.Engine, r.Precision, files.Count(r.Threads, "thread"))
		out = append(out, speedRow{days, name, r})
		devices = append(devices, r.Device)
	}
	// Only measurements of the same workload, engine and threads are joined by a line.
	names, groups := results.Grouped(out, func(r speedRow) string { return r.Series })
	for _, name := range names {
		line := plot.Series{Name: name}
		for _, r := range groups[name] {
			line.X, line.Y = append(line.X, r.Days), append(line.Y, r.ClientStepsPerSec)
		}
		lines.Series = append(lines.Series, line)
	}
	b.add(figure{
		ID: "speed", section: "speed", Title: "Speed of this suite over time",
		drawn: plot.Figure{Title: "Speed", Panels: [][]plot.Chart{{lines}}}, csv: csvWriter(out),
		Caption: fmt.Sprintf(
			"%d measurements by rollcall bench, as they are in %s; lines are of one workload and engine. %s.",
			len(rows), results.BenchFile, strings.Join(files.Unique(devices), "; ")),
	})
}
