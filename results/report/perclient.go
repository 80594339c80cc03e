package report

import (
	"encoding/csv"
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
	"rollcall/results/plot"
)

// clientAccuracy is the accuracy of one client in one run.
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
			ID: "clients-" + f.title(), section: "clients", Title: "Accuracy of the clients: " + f.title(),
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
	in := csv.NewReader(f)
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
