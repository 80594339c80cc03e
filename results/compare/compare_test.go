package compare

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/judge"
	"rollcall/results/metrics"
	"rollcall/results/papers"
	"rollcall/results/resultstest"
	"rollcall/results/stats"
)

// compareCase compares three methods of a paper with two of them and one more of ours; change edits ours first.
func compareCase(change func(rows []results.SummaryRow)) Comparing {
	paper := func(method string, mean float64, params results.Params) results.Printed {
		return results.Printed{
			Table: "fedawe-9", Method: method, Data: "svhn", Availability: "sine", Alpha: files.Some(0.1),
			Params: params, Metric: metrics.TestAcc, Mean: files.Some(mean), Std: files.Some(0.03), N: 3,
			Rounds: 500, Clients: 100,
		}
	}
	printed := []results.Printed{
		paper("fedawe", 0.856, ""), paper("mifa", 0.841, ""),
		paper("fedau", 0.825, ""), paper("fedawe", 0.857, "gamma=0.2"),
	}
	ours := func(method string, mean float64) results.SummaryRow {
		r := resultstest.SineRow(method, "svhn", 0.1, "rounds=500", metrics.TestAcc)
		r.Table, r.Preset, r.Clients, r.Status, r.Rounds = "fedawe-9", "code", 100, results.CellOK, 500
		r.Estimate(stats.Estimate{Mean: mean, Std: files.Some(0.04), N: 3})
		return r
	}
	rows := []results.SummaryRow{ours("mifa-wait", 0.7), ours("mifa", 0.8), ours("fedawe", 0.81)}
	if change != nil {
		change(rows)
	}
	return Table(&papers.Table{Printed: printed}, rows)
}

func paperTable(t *testing.T, id string) *papers.Table {
	t.Helper()
	table := must.Get(papers.TableByID(id))(t)
	return &table
}

// Three seeds of four points' spread tell nothing of a difference of four.
func TestTable(t *testing.T) {
	got := compareCase(nil)
	margin := files.Some(0.01)
	for i, want := range []struct {
		method     string
		mean       files.Optional
		paper      files.Optional
		difference files.Optional
		margin     files.Optional
		verdict    judge.Verdict
		status     string
	}{
		{"fedawe", files.Some(0.81), files.Some(0.856), files.Some(0.81 - 0.856), margin, judge.Untold, "ok"},
		{"mifa", files.Some(0.8), files.Some(0.841), files.Some(0.8 - 0.841), margin, judge.Untold, "ok"},
		// not run
		{"fedau", files.Optional{}, files.Some(0.825), files.Optional{}, files.Optional{}, judge.NotJudged, ""},
		{"mifa-wait", files.Some(0.7), files.Optional{}, files.Optional{}, files.Optional{}, judge.NotJudged, "ok"},
	} {
		if i >= len(got.Rows) {
			t.Fatalf("%d rows, want 4", len(got.Rows))
		}
		r := got.Rows[i]
		if r.Method != want.method || r.Mean != want.mean || r.PaperMean != want.paper ||
			!filestest.SameOptional(r.Difference, want.difference) ||
			!filestest.SameOptional(r.Margin, want.margin) || r.Verdict != want.verdict || r.Status != want.status {
			t.Errorf("row %d: got %+v, want %+v", i, r, want)
		}
	}
	if len(got.Rows) != 4 || got.Left != 1 {
		t.Errorf("%d rows and %d numbers left, want 4 and 1: γ=0.2 was not run", len(got.Rows), got.Left)
	}
	if len(got.Columns) != 1 || got.Columns[0].Verdict != judge.Untold || got.Columns[0].Pairs != 1 ||
		got.Columns[0].Params != "rounds=500" {
		t.Errorf("columns: got %+v, want one, of a pair of methods whose order cannot be told, rounds=500", got.Columns)
	}
}

func TestTableEdges(t *testing.T) {
	type list = []results.SummaryRow
	for _, test := range []struct {
		name     string
		change   func(r list)
		verdicts string // of each row, by first letter
		order    string // of each column
	}{
		{"as above", nil, "cc--", "untold"},
		{"far off", func(r list) { r[2].Mean = files.Some(0.5) }, "dc--", "differs"},
		{"in order", func(r list) {
			r[1].Std, r[2].Std = files.Some(0.001), files.Some(0.001)
		}, "cc--", "agrees"},
		{"against it", func(r list) {
			r[1].Std, r[2].Std, r[2].Mean = files.Some(0.001), files.Some(0.001), files.Some(0.79)
		}, "cc--", "differs"},
		{"one seed", func(r list) { r[1].Estimate(stats.Estimate{Mean: 0.8, N: 1}) }, "c---", "none"},
		{"tie of ours", func(r list) { r[2].Mean = r[1].Mean }, "cc--", "untold"},
		{"NaN is not ranked", func(r list) { r[2].Mean = files.Some(math.NaN()) }, "cc--", "untold"},
		{"failed cell", func(r list) {
			r[2].N, r[2].Mean, r[2].Std, r[2].Status = 0, files.Optional{}, files.Optional{}, results.CellFailed
		}, "-c--", "none"},
		{"fewer rounds are not ranked", func(r list) {
			r[2].Mean, r[2].Rounds = files.Some(0.79), 100
		}, "-c--", "none"},
		{"fewer clients", func(r list) { r[0].Clients, r[1].Clients, r[2].Clients = 5, 5, 5 }, "----", "none"},
		{"presets are columns of their own", func(r list) { r[2].Preset = "paper" }, "-c--c--", "none none"},
		{"a column no paper has", func(r list) { r[2].Params = "gamma=0.25" }, "-c---", "none none"},
		{"a parameter of one method alone", func(r list) { r[2].Params = "nu=0.3;rounds=500" }, "cc--", "untold"},
		{"another column of the paper first", func(r list) {
			r[0] = r[2]
			r[0].Params = "gamma=0.2"
		}, "cc-c", "untold none"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := compareCase(test.change)
			verdicts := ""
			for _, r := range got.Rows {
				verdicts += (string(r.Verdict) + "-")[:1] // none: not judged
			}
			var orders []string
			for _, r := range got.Columns {
				word := map[judge.Verdict]string{judge.Untold: "untold"}[r.Verdict]
				if word = cmp.Or(word, string(r.Verdict)); r.Pairs == 0 {
					word = "none"
				}
				orders = append(orders, word)
			}
			if order := strings.Join(orders, " "); verdicts != test.verdicts || order != test.order {
				t.Errorf("got verdicts %s, order %s, want %s, %s; %+v",
					verdicts, order, test.verdicts, test.order, got.Rows)
			}
		})
	}
	if got := Table(paperTable(t, "fedawe-2"), nil); len(got.Rows) != 0 || len(got.Columns) != 0 || got.Left != 192 {
		t.Errorf("nothing of ours: got %d rows, %d ranks, %d left, want 0, 0, 192",
			len(got.Rows), len(got.Columns), got.Left)
	}
	rows := Table(&papers.Table{},
		[]results.SummaryRow{resultstest.SineRow("mifa", "svhn", 0.1, "", metrics.TestAcc)}).Rows
	if len(rows) != 1 || rows[0].PaperN != 0 || rows[0].Method != "mifa" {
		t.Errorf("nothing printed: got %+v, want our one row", rows)
	}
}

// A table compared with itself: nothing differs, no order is wrong, nothing left.
func TestTableItself(t *testing.T) {
	for _, id := range []string{"fedawe-2", "fedawe-9", "fedawe-10"} {
		of := paperTable(t, id)
		paper := of.Printed
		var ours []results.SummaryRow
		for _, p := range paper {
			ours = append(ours, resultstest.AsPrinted(p))
		}
		got := Table(of, ours)
		if len(got.Rows) != len(paper) || got.Left != 0 {
			t.Errorf("%s: %d rows, %d left, want %d, 0", id, len(got.Rows), got.Left, len(paper))
		}
		for i, r := range got.Rows {
			if r.Verdict == judge.Differs || r.Difference != files.Some(0) {
				t.Errorf("%s row %d: got %+v, want no difference", id, i, r)
			}
		}
		for _, r := range got.Columns {
			if r.Verdict == judge.Differs || r.Pairs < 20 { // 21 of 7 methods, two of which may tie
				t.Errorf("%s: got %+v, want the order of at least 7 methods to hold", id, r)
			}
		}
	}
}

const compareText = `Test accuracy (%): mean over the last 50 rounds. Mean ± sample standard deviation ` +
	`over 1 to 3 seeds; 500 rounds, N = 100, α = 0.1, preset code.

sine, svhn, alpha=0.1, rounds=500: test accuracy (%), mean over the last 50 rounds (preset code, 100 clients)
method          ours               paper            difference   margin   verdict
fedawe nu=0.3   81.0 ± 4.0 (3)     85.6 ± 3.0 (3)         -4.6      1.0   cannot be told: the print is too wide
mifa            80.0 (1), failed   84.1 ± 3.0 (3)            –        –   not compared [1]
fedau           –                  82.5 ± 3.0 (3)            –        –   –
mifa-wait       70.0 ± 4.0 (3)     –                         –        –   –

[1] not compared: 1 of 3 seeds, failed

1 number compared: 0 agree, 0 differ, 1 cannot be told; 1 not compared: 1 of 3 seeds, failed; ` +
	`printed numbers in columns that were not run: 1
`

const compareMarkdown = `Test accuracy (%): mean over the last 50 rounds. Mean ± sample standard deviation ` +
	`over 1 to 3 seeds; 500 rounds, N = 100, α = 0.1, preset code.

**sine, svhn, alpha=0.1, rounds=500: test accuracy (%), mean over the last 50 rounds (preset code, 100 clients)**

| method | ours | paper | difference | margin | verdict |
|---|---|---|---:|---:|---|
| fedawe nu=0.3 | 81.0 ± 4.0 (3) | 85.6 ± 3.0 (3) | -4.6 | 1.0 | cannot be told: the print is too wide |
| mifa | 80.0 (1), failed | 84.1 ± 3.0 (3) | – | – | not compared \[1] |
| fedau | – | 82.5 ± 3.0 (3) | – | – | – |
| mifa-wait | 70.0 ± 4.0 (3) | – | – | – | – |

\[1] not compared: 1 of 3 seeds, failed

1 number compared: 0 agree, 0 differ, 1 cannot be told; 1 not compared: 1 of 3 seeds, failed; ` +
	`printed numbers in columns that were not run: 1
`

const compareCSV = `table,data,availability,alpha,params,metric,preset,clients,method,label,mean,std,n,rounds,` +
	`paper_mean,paper_std,paper_n,difference,margin,low,high,verdict,seeds,too_wide,not_judged,status
fedawe-9,svhn,sine,0.1,nu=0.3;rounds=500,test_acc,code,100,fedawe,,0.81,0.04,3,500,` +
	`0.856,0.03,3,-0.04599999999999993,0.01,-0.1378693115518539,` +
	`0.04586931155185402,cannot be told,0,true,,ok
fedawe-9,svhn,sine,0.1,rounds=500,test_acc,code,100,mifa,,0.8,,1,500,0.841,0.03,3,,,,,,0,false,` +
	`"1 of 3 seeds, failed",failed
fedawe-9,svhn,sine,0.1,,test_acc,code,100,fedau,,,,0,0,0.825,0.03,3,,,,,,0,false,,
fedawe-9,svhn,sine,0.1,rounds=500,test_acc,code,100,mifa-wait,,0.7,0.04,3,500,,,0,,,,,,0,false,,ok
`

func TestComparingWrite(t *testing.T) {
	c := compareCase(func(rows []results.SummaryRow) {
		rows[2].Params = "nu=0.3;rounds=500"
		rows[1].Estimate(stats.Estimate{Mean: 0.8, N: 1})
		rows[1].Status = results.CellFailed
	})
	var text, markdown, csv bytes.Buffer
	must.OK(t, c.Write(&text, Plain))
	must.OK(t, c.Write(&markdown, Markdown))
	must.OK(t, files.WriteCSV(&csv, c.Rows))
	for _, test := range []struct{ name, got, want string }{
		{"text", text.String(), compareText},
		{"markdown", markdown.String(), compareMarkdown},
		{"CSV", csv.String(), compareCSV},
	} {
		if test.got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.name, test.got, test.want)
		}
	}
	back, err := files.ReadCSV[ComparisonRow](&csv, "comparison.csv")
	if err != nil || len(back) != 4 || back[0].Verdict != judge.Untold {
		t.Errorf("read back: got %+v, %v, want 4 rows, the first within", back, err)
	}
}

// FedAWE, Table 8: no std is printed, so nothing has a verdict, and never is later than every round.
func TestTableRounds(t *testing.T) {
	var ours []results.SummaryRow
	for method, round := range map[string]files.Optional{
		"fedawe": files.Some(400), "fedavg-active": files.Some(500), "fedavg-all": {},
	} {
		r := resultstest.SineRow(method, "svhn", 0.1, "", metrics.RoundsTo100)
		r.Preset, r.Clients, r.Status, r.N, r.Mean, r.Rounds = "code", 100, results.CellOK, 3, round, 2000
		ours = append(ours, r)
	}
	c := Table(paperTable(t, "fedawe-8"), ours)
	var b bytes.Buffer
	must.OK(t, c.Write(&b, Plain))
	want := `First round of the mean over 3 seeds; 2000 rounds, N = 100, α = 0.1, preset code.

sine, svhn, alpha=0.1: first round at 100 % of the target (preset code, 100 clients)
method          ours        paper       difference   margin   verdict
fedawe           400 (3)     820 (3)          -420       82   cannot be told
fedavg-active    500 (3)     900 (3)          -400       90   cannot be told
fedavg-all      never (3)   never (3)            –       10   agrees
fedau           –            840 (3)             –        –   –
f3ast           –           1080 (3)             –        –   –
fedavg-known    –            320 (3)             –        –   –
mifa            –            600 (3)             –        –   –
order of the methods, 1 pair: cannot be told

3 numbers compared: 1 agree, 0 differ, 2 cannot be told; ` +
		`the paper's order of the methods, 1 column: 0 agree, 0 differ, 1 cannot be told; ` +
		`printed numbers in columns that were not run: 77
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// Rows of a table of ours alone keep the order in which they first came, those of a paper's have the paper's. Methods
// that the paper's table does not have come after those of which it prints nothing.
func TestSortSummary(t *testing.T) {
	var rows []results.SummaryRow
	for _, availability := range []string{"stationary", "sine"} {
		for _, method := range []string{"mifa", "new", "fedawe", "fedar"} {
			for _, m := range []metrics.Metric{metrics.TrainAcc, metrics.TestAcc} {
				rows = append(rows, resultstest.Row("", method, "svhn", availability, m, 0.5, 1))
			}
		}
	}
	rows[0], rows[1] = rows[1], rows[0]
	for table, want := range map[string]string{
		"mine": "stationary mifa, stationary new, stationary fedawe, stationary fedar, " +
			"sine mifa, sine new, sine fedawe, sine fedar",
		"fedawe-2": "stationary fedawe, stationary mifa, stationary new, stationary fedar, " +
			"sine fedawe, sine mifa, sine new, sine fedar",
		"fedar-mnist": "stationary mifa, stationary fedar, stationary new, stationary fedawe, " +
			"sine mifa, sine fedar, sine new, sine fedawe",
	} {
		sorted := slices.Clone(rows)
		SortSummary(table, sorted)
		var got []string
		for i, r := range sorted {
			if name := r.Availability + " " + r.Method; i%2 == 0 {
				got = append(got, name)
			}
			if first := i%2 == 0; first != (r.Metric == metrics.TestAcc) {
				t.Errorf("%s: row %d is %s, want test before train accuracy", table, i, r.Metric)
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %s, want %s", table, strings.Join(got, ", "), want)
		}
	}
}
