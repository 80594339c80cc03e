package compare

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/papers"
	"rollcall/results/resultstest"
	"rollcall/results/stats"
)

var updateExports = flag.Bool("update", false, "rewrite the goldens in testdata")

// exported is a table of two availabilities, two data sets and three methods, one of which has failed on svhn.
func exported(t *testing.T) Grid {
	t.Helper()
	table2 := must.Get(papers.TableByID("fedawe-2"))(t)
	var rows []results.SummaryRow
	for _, p := range table2.Printed {
		if p.Availability != "sine" && p.Availability != "stationary" || p.Data == "cinic10" || p.Method != "fedawe" &&
			p.Method != "mifa" && p.Method != "fedau" {
			continue
		}
		r := resultstest.AsPrinted(p)
		r.Params, r.Rounds, r.Version, r.Numerics = "rounds=500", 500, "1.2", "cpu-fp32"
		if p.Method == "fedau" && p.Data == "svhn" {
			r.Status, r.N, r.Mean, r.Std = results.CellFailed, 0, files.Optional{}, files.Optional{}
		} else {
			r.Estimate(stats.Estimate{Mean: p.Mean.Value - 0.011, Std: files.Some(0.0123), N: 3})
		}
		rows = append(rows, r)
	}
	SortSummary("fedawe-2", rows)
	return Table(&table2, rows).Grid()
}

// Goldens, written by this code and looked at; -update rewrites them, and then they have to be looked at again.
func TestExport(t *testing.T) {
	for name, c := range map[string]struct {
		e    Export
		only []metrics.Metric
	}{
		"export.csv":         {Export{Format: "csv"}, nil},
		"export-printed.csv": {Export{Format: "csv", Printed: true}, []metrics.Metric{metrics.TestAcc}},
		"export.md":          {Export{Format: "markdown"}, nil},
		"export-printed.md":  {Export{Format: "markdown", Printed: true}, []metrics.Metric{metrics.TestAcc}},
		"export.tex": {
			Export{Format: "latex", Caption: "Mean ± std, 100 % ours & theirs_1", Label: "tab:x"},
			nil,
		},
		"export-printed.tex": {Export{Format: "latex", Printed: true}, []metrics.Metric{metrics.TestAcc}},
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			must.OK(t, exported(t).Only(c.only...).Write(&got, c.e))
			path := filepath.Join("testdata", name)
			if *updateExports {
				must.OK(t, os.WriteFile(path, []byte(got.String()), 0o666))
			}
			want := must.Get(os.ReadFile(path))(t)
			if got.String() != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got.String(), want)
			}
		})
	}
}

// Table 9 has a column for each γ, Table 10 one for each α, Table 8 one for each share of the target.
func TestGridColumns(t *testing.T) {
	for table, want := range map[string][]string{
		"fedawe-9":  {"", "gamma=0.2", "gamma=0.1"},
		"fedawe-10": {"alpha=0.05", "alpha=0.1", "alpha=1"},
		"fedawe-8":  {"first round at 25 % of the target", "first round at 50 % of the target"},
	} {
		of := must.Get(papers.TableByID(table))(t)
		var rows []results.SummaryRow
		for _, p := range of.Printed {
			if p.Method == "mifa" && p.Data == "svhn" &&
				(p.Metric == metrics.TestAcc || p.Metric == metrics.RoundsTo25 || p.Metric == metrics.RoundsTo50) {
				rows = append(rows, resultstest.AsPrinted(p))
			}
		}
		SortSummary(table, rows)
		grid := Table(&of, rows).Grid()
		var got []string
		for _, c := range grid.Columns {
			if c.Metric.IsRound() {
				got = append(got, c.Head())
			} else {
				got = append(got, c.Set)
			}
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%s: columns %q, want %q", table, got, want)
		}
	}
}

// FedAR's Table 3 has FedAvg with all clients in every round beside the others, as the paper prints it.
func TestGridOfFedAR3(t *testing.T) {
	of := paperTable(t, "fedar-3")
	var rows []results.SummaryRow
	for _, p := range of.Printed {
		rows = append(rows, resultstest.AsPrinted(p))
	}
	g := Table(of, rows).Grid()
	if len(g.Columns) != len(metrics.OfClients) || len(g.Groups) != 1 || len(g.Groups[0].Lines) != 4 {
		t.Fatalf("%d columns, %+v, want %d columns and one group of 4 methods",
			len(g.Columns), g.Groups, len(metrics.OfClients))
	}
	for _, l := range g.Groups[0].Lines {
		if l.Label() != papers.MethodTitle(l.Method) || slices.Contains(l.Cells, nil) {
			t.Errorf("line %q, want a method alone that has every number", l.Label())
		}
	}
	// The best spread is the smallest: of 18.1, 13.6, 20.7 and 18.0 %.
	var b strings.Builder
	must.OK(t, g.Only(metrics.ClientAccStd).Write(&b, Export{Format: "markdown"}))
	if strings.Count(b.String(), "**") != 4 || !strings.Contains(b.String(), "| MIFA | **13.6** |") {
		t.Errorf("%s\nwant mifa's 13.6 bold, and no other", b.String())
	}
}

// A sweep has test before train accuracy, chosen numbers in the order in which they were asked for, and fewer rounds in
// bold; a method that some seed left short of the accuracy says so and is never the best.
func TestGridOfSweep(t *testing.T) {
	var rows []results.SummaryRow
	for i, method := range []string{"fedawe", "mifa", "fedau"} {
		for _, m := range []metrics.Metric{
			metrics.TrainAcc, metrics.TestAcc, metrics.TestAccFinal, "rounds_to_acc_60",
		} {
			r := resultstest.Row("sweep", method, "svhn", "sine", m, 0.5+float64(i)/10, 3)
			if _, is := m.Reaches(); is {
				r.Mean, r.Std, r.Reached = files.Some(40-10*float64(i)), files.Some(0), files.Some(3)
			}
			if r.Rounds = 20; method == "fedau" && r.Reached.Valid {
				r.Mean, r.Std, r.Reached = files.Optional{}, files.Optional{}, files.Some(2)
			}
			rows = append(rows, r)
		}
	}
	of := papers.Sweep("sweep", "", nil, nil)
	SortSummary("sweep", rows)
	grid := Table(&of, rows).Grid()
	heads := func(g Grid) (heads []string) {
		for _, c := range g.Columns {
			heads = append(heads, c.Head())
		}
		return heads
	}
	const test, rounds = "test accuracy (%), ", "rounds to 60 % test accuracy, first evaluated round"
	all, shorter := "mean over all 20 rounds", "train accuracy (%), mean over all 20 rounds"
	if got := heads(grid); !slices.Equal(got, []string{test + all, test + "after the last round", rounds, shorter}) {
		t.Errorf("columns %q, want test accuracies first", got)
	}
	chosen := grid.Only("rounds_to_acc_60", metrics.TestAcc)
	if got := heads(chosen); !slices.Equal(got, []string{rounds, test + all}) {
		t.Errorf("columns %q, want them as chosen", got)
	}
	var b strings.Builder
	must.OK(t, chosen.Write(&b, Export{Format: "markdown"}))
	for _, want := range []string{
		"| FedAWE | 40.0 ± 0.0 | 50.0 ± 1.0 |", "| MIFA | **30.0 ± 0.0** | 60.0 ± 1.0 |",
		"| FedAU | not reached by 1 of 3 seeds | **70.0 ± 1.0** |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("want %q in\n%s", want, b.String())
		}
	}
}

// A mean that lacks seeds has a mark and a note that says how they ended, the same as in the printed table, and is
// never the best.
func TestExportLacksSeeds(t *testing.T) {
	const nobody = "seeds 1, 2: no client trained: nobody is available in 2 rounds"
	for name, c := range map[string]struct {
		status results.CellStatus
		why    string
		n      int
		note   string // empty: nothing is missing
	}{
		"whole":              {results.CellOK, "", 6, ""},
		"mixed":              {results.CellMixed, "", 6, ""},
		"some failed":        {results.CellFailed, nobody, 4, "failed: " + nobody},
		"all failed":         {results.CellFailed, "100 % & more", 0, "failed: 100 % & more"},
		"failed, no reason":  {results.CellFailed, "", 4, "failed"},
		"one diverged":       {results.CellDiverged, "1 diverged: seed 3: loss NaN", 5, "diverged: seed 3: loss NaN"},
		"interrupted":        {results.CellInterrupted, "interrupted", 3, "interrupted"},
		"refused":            {results.CellRefused, "numerics cuda-fp32", 5, "refused: numerics cuda-fp32"},
		"of another process": {results.CellRunning, "trained by x", 5, "running: trained by x"},
	} {
		t.Run(name, func(t *testing.T) {
			setup := results.Setup{Table: "sweep", Preset: "code", Data: "leaf", Net: "linear", Availability: "sine"}
			var rows []results.SummaryRow
			for _, m := range []string{"mifa", "fedau"} {
				r := results.SummaryRow{Setup: setup, Metric: metrics.TestAcc, Status: results.CellOK}
				r.Method, r.Rounds = m, 2
				r.Estimate(stats.Estimate{Mean: 0.5, Std: files.Some(0.01), N: 6})
				rows = append(rows, r)
			}
			r := &rows[0]
			r.Status, r.Error = c.status, c.why
			r.Estimate(stats.Estimate{Mean: 0.9, Std: files.Some(0.01), N: c.n})
			if c.n == 0 {
				r.Mean, r.Std = files.Optional{}, files.Optional{}
			}
			sweep := papers.Sweep("sweep", "", []string{"mifa", "fedau"}, nil)
			var printed, markdown, latex strings.Builder
			must.OK(t, WriteTable(&printed, &sweep, rows, 120))
			grid := Table(&papers.Table{}, rows).Grid()
			must.OK(t, grid.Write(&markdown, Export{Format: "markdown", Caption: "Mine"}))
			must.OK(t, grid.Write(&latex, Export{Format: "latex", Caption: "Mine"}))
			number, inLaTeX, best := "90.0 ± 1.0 [1]", `$90.0 \pm 1.0$ [1]`, "**50.0 ± 1.0**"
			switch {
			case c.n == 0:
				number, inLaTeX = "– [1]", "-- [1]"
			case c.note == "":
				number, inLaTeX, best = "**90.0 ± 1.0**", `$\mathbf{90.0} \pm 1.0$`, " 50.0 ± 1.0"
			}
			bold := "Bold: best mean; differences are not tested: other rounds, or no two seeds in common."
			if c.n == 0 {
				bold = "Bold: best mean."
			}
			wantMarkdown, wantLaTeX := "Mine. "+bold+"\n", `\caption{Mine. `+bold+"}"
			if c.note != "" {
				wantMarkdown = "Mine. " + files.EscapeMarkdown("[1] "+c.note+".") + " " + bold + "\n"
				wantLaTeX = `\caption{Mine. ` + EscapeLaTeX("[1] "+c.note+".") + " " + bold + "}"
				if want := "[1] " + c.note + "\n"; !strings.Contains(printed.String(), want) {
					t.Errorf("printed:\n%s\nwant %q", printed.String(), want)
				}
			}
			for _, want := range []string{wantMarkdown, "| " + number + " |", best} {
				if !strings.Contains(markdown.String(), want) {
					t.Errorf("markdown:\n%s\nwant %q", markdown.String(), want)
				}
			}
			for _, want := range []string{wantLaTeX, "& " + inLaTeX + ` \\`} {
				if !strings.Contains(latex.String(), want) {
					t.Errorf("latex:\n%s\nwant %q", latex.String(), want)
				}
			}
		})
	}
}
