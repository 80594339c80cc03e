package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/papers"
	"rollcall/results/resultstest"
)

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
		}, []string{"fedau (rates by column)", "mifa"}},
		{
			"other rates in one column",
			[]number{{"fedau", "leaf", ""}, {"fedau", "binary", "lr=0.1"}},
			[]string{"fedau (rates by column)"},
		},
		{
			"the same rates",
			[]number{{"fedau", "leaf", "lr=0.1"}, {"mifa", "leaf", ""}, {"fedau", "binary", "lr=0.1"}},
			[]string{"fedau lr=0.1", "mifa"},
		},
		{"two rates in one column", []number{
			{"fedau", "leaf", "lr=0.1"}, {"fedau", "leaf", "lr=0.2"}, {"fedau", "binary", "lr=0.1"},
		}, []string{"fedau lr=0.1", "fedau lr=0.2"}},
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
				if !strings.Contains(text.String(), "\n"+want+"   ") {
					t.Errorf("table, want a line %q:\n%s", want, text.String())
				}
			}
			if n := strings.Count(text.String(), "\nfedau"); n != strings.Count(strings.Join(c.want, " "), "fedau") {
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
	text := func(c Comparing) string { return fmt.Sprintf("%+v", c.Counts()) + c.summary() }
	if text(alone) != text(both) || !slices.EqualFunc(alone.Ranks, both.Ranks, func(a, b RankAgreement) bool {
		return a.Pairs == b.Pairs && a.Concordant == b.Concordant && a.TauB == b.TauB
	}) {
		t.Errorf("with further methods: %s\nwithout: %s", text(both), text(alone))
	}
	for _, g := range both.Grid().Groups {
		var names []string
		for _, l := range g.Lines {
			names = append(names, l.Label())
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
