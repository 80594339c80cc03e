package compare

import (
	"bytes"
	"fmt"
	"math"
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

func testSummary() []results.SummaryRow {
	row := func(
		method, availability string, mean float64, std files.Optional, n int, paper float64,
	) results.SummaryRow {
		r := resultstest.Row("", method, "cifar10", availability, metrics.TestAcc, mean, n)
		if r.Std = std; n == 0 {
			r.Mean = files.Optional{}
		}
		if paper > 0 {
			r.Paper(results.Printed{Mean: files.Some(paper), Std: files.Some(0.011), N: 3})
		}
		return r
	}
	none := files.Optional{}
	failed := row("fedau", "sine", 0, none, 0, 0.63)
	failed.Status, failed.Error = results.CellFailed, "nets: round 3 client 7 step 1: loss NaN,\n want a finite number"
	cut := row("fedau", "stationary", 0.0512, none, 1, 0.641)
	cut.Status = results.CellInterrupted
	train := row("fedawe", "stationary", 0.9, none, 1, 0.9)
	train.Metric = metrics.TrainAcc
	return []results.SummaryRow{
		row("fedawe", "stationary", 0.6612, files.Some(0.0123), 3, 0.663),
		row("fedawe", "sine", 0.5, none, 1, 0),
		train, cut, failed,
		row("mifa", "stationary", math.NaN(), files.Some(math.NaN()), 3, 0.653),
	}
}

func tableOf(m metrics.Metric) *papers.Table {
	return &papers.Table{Entries: []papers.Entry{{Metric: m}}}
}

func TestWriteTable(t *testing.T) {
	const wide = `test_acc: test accuracy (%), mean over the last 50 rounds
         stationary                    sine
         cifar10                       cifar10
method   ours           | paper        ours       | paper
fedawe   66.1 ± 1.2 (3) | 66.3 ± 1.1   50.0 (1)   | –
fedau     5.1 (1) [1]   | 64.1 ± 1.1   failed [2] | 63.0 ± 1.1
mifa      NaN ± NaN (3) | 65.3 ± 1.1   –

[1] interrupted
[2] failed: nets: round 3 client 7 step 1: loss NaN, want a finite number
`
	const narrow = `test_acc: test accuracy (%), mean over the last 50 rounds
         stationary
         cifar10
method   ours           | paper
fedawe   66.1 ± 1.2 (3) | 66.3 ± 1.1
fedau     5.1 (1) [1]   | 64.1 ± 1.1
mifa      NaN ± NaN (3) | 65.3 ± 1.1

         sine
         cifar10
method   ours       | paper
fedawe   50.0 (1)   | –
fedau    failed [2] | 63.0 ± 1.1
mifa     –

[1] interrupted
[2] failed: nets: round 3 client 7 step 1: loss NaN, want a finite number
`
	widest := 0 // in characters, of the table without its title and its notes
	for _, line := range strings.Split(wide, "\n")[1:7] {
		widest = max(widest, len([]rune(line)))
	}
	for _, test := range []struct {
		name  string
		width int
		want  string
	}{
		{"as wide as it is", widest, wide},
		{"one narrower", widest - 1, narrow},
		{"no room at all", 1, narrow},
		{"endless", math.MaxInt, wide},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			must.OK(t, WriteTable(&b, tableOf(metrics.TestAcc), testSummary(), test.width))
			if b.String() != test.want {
				t.Errorf("width %d: got\n%s\nwant\n%s", test.width, b.String(), test.want)
			}
		})
	}
}

// Rows that differ only in what the table does not show are all there.
func TestWriteTableLosesNothing(t *testing.T) {
	var rows []results.SummaryRow
	for i, change := range []func(*results.SummaryRow){
		func(*results.SummaryRow) {},
		func(r *results.SummaryRow) { r.Preset = "paper" },
		func(r *results.SummaryRow) { r.Params = "gamma=0.1" },
		func(r *results.SummaryRow) { r.Clients = 10 },
		func(r *results.SummaryRow) { r.Alpha = files.Some(0.05) },
	} {
		r := resultstest.Row("", "mifa", "svhn", "sine", metrics.TestLoss, float64(i)+0.5, 1)
		r.Alpha = files.Optional{}
		change(&r)
		rows = append(rows, r)
	}
	var b bytes.Buffer
	must.OK(t, WriteTable(&b, tableOf(metrics.TestLoss), rows, 80))
	want := `test_loss: test loss, mean over the last 50 rounds
                        sine
                        svhn
method                  ours
mifa (code)              0.5000 (1)
mifa (paper)             1.5000 (1)
mifa (code) gamma=0.1    2.5000 (1)
mifa (code)              3.5000 (1)
mifa (code) alpha=0.05   4.5000 (1)
`
	if strings.Join(strings.Fields(b.String()), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got\n%s\nwant, up to blanks,\n%s", b.String(), want)
	}
}

// FedAWE, Table 8: rounds are whole, and never is not the same as a cell that failed or a number that is not printed.
func TestWriteTableRounds(t *testing.T) {
	var rows []results.SummaryRow
	for _, method := range []string{"fedawe", "fedavg-all", "mifa", "fedvarp"} {
		r := resultstest.SineRow(method, "svhn", 0.1, "", metrics.RoundsTo100)
		r.N, r.Status = 3, results.CellOK
		if p, found := results.PrintedFor(paperTable(t, "fedawe-8").Printed, r); found {
			r.Paper(p)
		}
		rows = append(rows, r)
	}
	rows[0].Estimate(stats.Estimate{Mean: 1250, N: 3})
	rows[2].N, rows[2].Status, rows[2].Error = 0, results.CellFailed, "out of memory"
	rows[3].Estimate(stats.Estimate{Mean: 0, N: 3})
	var b bytes.Buffer
	must.OK(t, WriteTable(&b, tableOf(metrics.RoundsTo100), rows, 80))
	want := `rounds_to_100: first round at 100 % of the target
                sine
                svhn
method          ours         | paper
fedawe          1250 (3)     |  820
fedavg-all      never (3)    | –
mifa            failed [1]   |  600
fedvarp            0 (3)     | –

[1] failed: out of memory
`
	if strings.Join(strings.Fields(b.String()), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got\n%s\nwant, up to blanks,\n%s", b.String(), want)
	}
}

// Settings that every row has do not stand in the labels; those that set rows apart do.
func TestWriteTableLabels(t *testing.T) {
	row := func(method string, params results.Params) results.SummaryRow {
		r := resultstest.Row("", method, "svhn", "sine", metrics.TestAcc, 0.5, 1)
		r.Params = params
		return r
	}
	for _, c := range []struct {
		params [2]results.Params
		want   [2]string // the lines' labels
	}{
		{[2]results.Params{"rounds=5", "rounds=5"}, [2]string{"mifa", "fedau"}},
		{[2]results.Params{"lr=1;rounds=5", "rounds=5"}, [2]string{"mifa lr=1", "fedau"}},
		{[2]results.Params{"", "rounds=5"}, [2]string{"mifa", "fedau rounds=5"}},
	} {
		var b strings.Builder
		rows := []results.SummaryRow{row("mifa", c.params[0]), row("fedau", c.params[1])}
		must.OK(t, WriteTable(&b, tableOf(metrics.TestAcc), rows, 100))
		lines := strings.Split(b.String(), "\n")
		for i, want := range c.want {
			label, _, _ := strings.Cut(lines[4+i], "  ")
			if label != want {
				t.Errorf("params %q: line %q, want the label %q", c.params, lines[4+i], want)
			}
		}
	}
}

// What is mixed or unverified says its label, and a diverged cell says which seed in its note.
func TestWriteTableStatus(t *testing.T) {
	of := paperTable(t, "fedawe-2")
	_, whole := tableTwo(t)
	mixed, old, diverged, none := whole, whole, whole, whole
	mixed.Method, mixed.Status, mixed.Error = "mifa", results.CellMixed, "cpu-fp32 and cuda-fp32"
	old.Method, old.Status = "fedau", results.CellUnverified
	diverged.Method, diverged.Status, diverged.N = "f3ast", results.CellDiverged, 2
	diverged.Error = "1 diverged: seed 4: round 3"
	none.Method, none.Status, none.N, none.Error = "fedvarp", results.CellDiverged, 0, "3 diverged: seeds 3, 4, 6"
	none.Mean, none.Std = files.Optional{}, files.Optional{}
	var b strings.Builder
	must.OK(t, WriteTable(&b, of, []results.SummaryRow{whole, mixed, old, diverged, none}, 100))
	want := `test_acc: test accuracy (%), mean over the last 50 rounds
                                      sine
                                      svhn
method                                ours               | paper
fedawe                                85.0 ± 1.0 (3)     | 85.6 ± 0.9
mifa [mixed: cpu-fp32 and cuda-fp32]  85.0 ± 1.0 (3) [1] | 85.6 ± 0.9
fedau [unverified]                    85.0 ± 1.0 (3) [2] | 85.6 ± 0.9
f3ast                                 85.0 ± 1.0 (2) [3] | 85.6 ± 0.9
fedvarp                               diverged [4]       | 85.6 ± 0.9

[1] not compared: mixed
[2] not compared: unverified
[3] not compared: 2 of 3 seeds, 1 diverged: seed 4: round 3
[4] diverged: seeds 3, 4, 6
`
	if strings.Join(strings.Fields(b.String()), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got\n%s\nwant, up to blanks,\n%s", b.String(), want)
	}
}

// A method whose learning rates were chosen for each data set and availability is one line. Its heading has the rates
// if they are the same in all columns, and it has a line for each if a column has several.
func TestRatesByColumn(t *testing.T) {
	type number struct {
		method, data string
		params       results.Params
	}
	for _, c := range []struct {
		name    string
		numbers []number
		want    []string // the headings of the lines
	}{
		{"other rates in each column", []number{
			{"fedau", "leaf", "lr=0.1;rounds=6"},
			{"mifa", "leaf", "rounds=6"},
			{"fedau", "binary", "lr=0.2;rounds=6;server-lr=2"},
			{"mifa", "binary", "rounds=6"},
		}, []string{"FedAU (rates by column)", "MIFA"}},
		{
			"other rates in one column",
			[]number{{"fedau", "leaf", ""}, {"fedau", "binary", "lr=0.1"}},
			[]string{"FedAU (rates by column)"},
		},
		{
			"the same rates",
			[]number{{"fedau", "leaf", "lr=0.1"}, {"mifa", "leaf", ""}, {"fedau", "binary", "lr=0.1"}},
			[]string{"FedAU lr=0.1", "MIFA"},
		},
		{"two rates in one column", []number{
			{"fedau", "leaf", "lr=0.1"}, {"fedau", "leaf", "lr=0.2"}, {"fedau", "binary", "lr=0.1"},
		}, []string{"FedAU lr=0.1", "FedAU lr=0.2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var rows []results.SummaryRow
			for i, n := range c.numbers {
				r := resultstest.Row("sweep", n.method, n.data, "sine", metrics.TestAcc, 0.5+float64(i)/100, 1)
				r.Params, r.Rounds = n.params, 6
				rows = append(rows, r)
			}
			of := papers.Sweep("sweep", "", nil, nil)
			grid := Table(&of, rows).Grid()
			var got []string
			for _, l := range grid.Groups[0].Lines {
				got = append(got, l.Label())
			}
			if !slices.Equal(got, c.want) || len(grid.Columns) != 2 {
				t.Errorf("grid: %q in %d columns, want %q in 2", got, len(grid.Columns), c.want)
			}
			var text, csv strings.Builder
			must.OK(t, WriteTable(&text, &of, rows, 120))
			for _, want := range c.want {
				want = strings.NewReplacer("FedAU", "fedau", "MIFA", "mifa").Replace(want) // as on the command line
				if !strings.Contains(text.String(), "\n"+want+"   ") {
					t.Errorf("table, want a line %q:\n%s", want, text.String())
				}
			}
			if n := strings.Count(text.String(), "\nfedau"); n != strings.Count(strings.Join(c.want, " "), "FedAU") {
				t.Errorf("table: %d lines of fedau:\n%s", n, text.String())
			}
			must.OK(t, grid.Write(&csv, Export{Format: "csv"})) // a CSV has the rates of every number
			for _, n := range c.numbers {
				want := "," + n.params.Only(results.Rates...).Words(" ") + ","
				if !strings.Contains(csv.String(), want) {
					t.Errorf("CSV, want %q in it:\n%s", want, csv.String())
				}
			}
		})
	}
}

// Rows of methods that a paper's table does not have stand below its own, also below those that a later column alone
// has, and change neither its order of the methods nor its verdicts.
func TestFurtherMethods(t *testing.T) {
	of := paperTable(t, "fedawe-2")
	row := func(method, availability string, mean float64) results.SummaryRow {
		return resultstest.Row("fedawe-2", method, "svhn", availability, metrics.TestAcc, mean, 3)
	}
	own := []results.SummaryRow{row("fedawe", "sine", 0.85), row("fedau", "sine", 0.8), row("fedawe", "staircase", 0.8)}
	all := append([]results.SummaryRow{
		row("scaffold", "sine", 0.95), row("new", "sine", 0.1), row("scaffold", "staircase", 0.9),
	}, own...)
	alone, both := Table(of, own), Table(of, all)
	text := func(c Comparing) string { return fmt.Sprintf("%+v", c.Counts()) + c.Summary() }
	if text(alone) != text(both) || !slices.EqualFunc(alone.Columns, both.Columns, func(a, b Order) bool {
		return a.Pairs == b.Pairs && a.Verdict == b.Verdict && a.Seeds == b.Seeds
	}) {
		t.Errorf("with further methods: %s\nwithout: %s", text(both), text(alone))
	}
	for _, g := range both.Grid().Groups {
		var names []string
		for _, l := range g.Lines {
			names = append(names, l.Method)
		}
		want := append(slices.Clone(of.Methods), "scaffold")
		if g.Availability == "sine" {
			want = append(want, "new")
		}
		slices.Sort(want[:len(of.Methods)])
		slices.Sort(names[:len(of.Methods)])
		if !slices.Equal(names, want) {
			t.Errorf("%s: lines %q, want %q", g.Availability, names, want)
		}
	}
	var b strings.Builder
	must.OK(t, WriteTable(&b, of, all, 120))
	var first []string
	for line := range strings.Lines(b.String()) {
		if word, _, _ := strings.Cut(line, " "); of.Has(word) || word == "scaffold" || word == "new" {
			first = append(first, word)
		}
	}
	if want := []string{"fedawe", "fedau", "scaffold", "new"}; !slices.Equal(first, want) {
		t.Errorf("lines %q, want %q:\n%s", first, want, b.String())
	}
}
