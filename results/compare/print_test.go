package compare

import (
	"bytes"
	"math"
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

// tableOf is a table of ours alone that has one metric.
func tableOf(m metrics.Metric) *papers.Table {
	return &papers.Table{Entries: []papers.Entry{{Metric: m}}}
}

func TestWriteTable(t *testing.T) {
	const wide = `test_acc %   stationary                    sine
             cifar10                       cifar10
method       ours           | paper        ours       | paper
fedawe       66.1 ± 1.2 (3) | 66.3 ± 1.1   50.0 (1)   | –
fedau         5.1 (1) [1]   | 64.1 ± 1.1   failed [2] | 63.0 ± 1.1
mifa          NaN ± NaN (3) | 65.3 ± 1.1   –

[1] interrupted
[2] failed: nets: round 3 client 7 step 1: loss NaN, want a finite number
`
	const narrow = `test_acc %   stationary
             cifar10
method       ours           | paper
fedawe       66.1 ± 1.2 (3) | 66.3 ± 1.1
fedau         5.1 (1) [1]   | 64.1 ± 1.1
mifa          NaN ± NaN (3) | 65.3 ± 1.1

test_acc %   sine
             cifar10
method       ours       | paper
fedawe       50.0 (1)   | –
fedau        failed [2] | 63.0 ± 1.1
mifa         –

[1] interrupted
[2] failed: nets: round 3 client 7 step 1: loss NaN, want a finite number
`
	widest := 0 // in characters, of the table without its notes
	for _, line := range strings.Split(wide, "\n")[:6] {
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
	want := `test_loss               sine
                        svhn
method                  ours         | paper
mifa (code)              0.5000 (1)  | –
mifa (paper)             1.5000 (1)  | –
mifa (code) gamma=0.1    2.5000 (1)  | –
mifa (code)              3.5000 (1)  | –
mifa (code) alpha=0.05   4.5000 (1)  | –
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
	want := `rounds_to_100   sine
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
			label, _, _ := strings.Cut(lines[3+i], "  ")
			if label != want {
				t.Errorf("params %q: line %q, want the label %q", c.params, lines[3+i], want)
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
	want := `test_acc %                            sine
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
