package cli

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"rollcall/algos/availability"
	"rollcall/algos/availability/fit"
	"rollcall/internal/must"
)

// The summary of each model's record calls the model possible, and others clearly not, and fits a window.
func TestFitSummary(t *testing.T) {
	const n, rounds = 40, 1000
	base := make([]float64, n)
	ids := make([]string, n)
	for i := range base {
		base[i], ids[i] = 0.2+0.02*float64(i), fmt.Sprint("phone", i)
	}
	for model, want := range map[string][]string{
		"stationary": {"stationary  not contradicted", "no cycle found", "clusters    clearly not"},
		"sine":       {"sine        not contradicted", "a cycle (p < 0.0001)", "stationary  clearly not"},
		"markov":     {"chain       not contradicted", "sine        clearly not", "stationary  clearly not"},
		"clusters":   {"clusters    not contradicted", "10 groups; in none: 0 clients", "4 clients (36, 37, 38, 39)"},
	} {
		t.Run(model, func(t *testing.T) {
			m := must.Get(availability.New(model, availability.Defaults(base, 2)))(t)
			result := must.Get(fit.Fit(availability.RecordOf(m, n, rounds), fit.Options{Seed: 1}))(t)
			text := fitSummary("trace.csv", []string{"a note"}, result)
			for _, want := range append(want, "trace.csv: 40 clients, 1000 rounds, ", "  a note\n") {
				if !strings.Contains(text, want) {
					t.Errorf("%q missing in\n%s", want, text)
				}
			}
			for line := range strings.Lines(text) {
				if utf8.RuneCountInString(line) > 121 || strings.Contains(line, "NaN") {
					t.Errorf("line %q: want at most 120 columns, no NaN", line)
				}
			}
			for i, row := range fitRows(result, ids) {
				c := chainRows(result)[i]
				if row.ID != ids[i] || row.Client != i || c.Client != i || row.Note != "" || c.Pi != row.Pi ||
					!row.PiLow.Valid || row.PiLow.Value > row.Pi || row.PiHigh.Value < row.Pi {
					t.Errorf("client %d: %+v, chain %+v", i, row, c)
				}
			}
		})
	}
}

// Clients who do not change, or hardly, say so in their row, and have no number that nobody knows.
func TestFitNotes(t *testing.T) {
	record := availability.NewRecord(3, 40)
	for round := range 40 {
		record.Set(1, round)
	}
	record.Set(2, 20)
	result := must.Get(fit.Fit(record, fit.Options{}))(t)
	rows, chains := fitRows(result, []string{"a", "b", "c"}), chainRows(result)
	for i, want := range []struct {
		note string
		pi   float64
	}{{"never active", 0}, {"always active", 1}, {"changes 2 times: no intervals below 4", 0.025}} {
		if r := rows[i]; !strings.HasPrefix(r.Note, want.note) || r.PiLow.Valid || r.LambdaHigh.Valid ||
			r.PMarkov.Valid || chains[i].Pi != want.pi {
			t.Errorf("client %d: %+v, chain %+v, want %q, π %g, no intervals", i, r, chains[i], want.note, want.pi)
		}
	}
	if text := fitSummary("x", nil, result); !strings.Contains(text, "never active: 1; always active: 1") ||
		!strings.Contains(text, "not looked for") || strings.Contains(text, "NaN") {
		t.Errorf("%s, want who never changes, and what is not fitted", text)
	}
}
