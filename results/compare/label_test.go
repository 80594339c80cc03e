package compare

import (
	"slices"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/stats"
)

func TestLabels(t *testing.T) {
	_, usual := tableTwo(t)
	usual.Revisions, usual.Checksum = "1.1.1.1.1", "sha256:3f2a1b99"
	with := func(change func(r *results.SummaryRow)) results.SummaryRow {
		r := usual
		change(&r)
		return r
	}
	cuda := with(func(r *results.SummaryRow) { r.Numerics = "cuda-sm90-tf32" })
	for _, c := range []struct {
		name string
		rows []results.SummaryRow
		want []string
	}{
		{"alone", []results.SummaryRow{usual}, []string{""}},
		{"numerics", []results.SummaryRow{usual, cuda}, []string{"[cpu-fp32]", "[cuda-sm90-tf32]"}},
		{"other methods", []results.SummaryRow{usual, with(func(r *results.SummaryRow) {
			r.Method, r.Numerics = "mifa", "cuda-fp32"
		})}, []string{"", ""}},
		{
			"revisions",
			[]results.SummaryRow{usual, with(func(r *results.SummaryRow) { r.Revisions = "2.1.1.1.1" })},
			[]string{"[revisions 1.1.1.1.1]", "[revisions 2.1.1.1.1]"},
		},
		{
			"data",
			[]results.SummaryRow{usual, with(func(r *results.SummaryRow) { r.Checksum = "sha256:77" })},
			[]string{"[data 3f2a1b…]", "[data 77]"},
		},
		{"several", []results.SummaryRow{
			usual, cuda, with(func(r *results.SummaryRow) { r.Revisions = "" }),
		}, []string{
			"[cpu-fp32, revisions 1.1.1.1.1]", "[cuda-sm90-tf32, revisions 1.1.1.1.1]", "[cpu-fp32, revisions unknown]",
		}},
		{"mixed", []results.SummaryRow{with(func(r *results.SummaryRow) {
			r.Status, r.Error = results.CellMixed, "cpu-fp32 and cuda-fp32"
		})}, []string{"[mixed: cpu-fp32 and cuda-fp32]"}},
		{"unverified beside verified", []results.SummaryRow{
			with(func(r *results.SummaryRow) { r.Status, r.Numerics, r.Revisions = results.CellUnverified, "", "" }),
			usual,
		}, []string{"[unverified]", ""}},
		{"failed beside finished", []results.SummaryRow{
			with(func(r *results.SummaryRow) { r.Status, r.N, r.Numerics = results.CellFailed, 0, "" }), usual,
		}, []string{"", ""}},
	} {
		if got := labels(c.rows); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Rows of one cell that stand apart are all there, with their labels, in every kind of table.
func TestRowsThatStandApart(t *testing.T) {
	of := paperTable(t, "fedawe-2")
	_, cpu := tableTwo(t)
	cuda, old := cpu, cpu
	cuda.Numerics = "cuda-fp32"
	cuda.Estimate(stats.Estimate{Mean: 0.841, Std: files.Some(0.01), N: 3})
	old.Numerics, old.Status = "", results.CellUnverified
	old.Estimate(stats.Estimate{Mean: 0.832, Std: files.Some(0.01), N: 3})
	rows := []results.SummaryRow{cpu, cuda, old}
	for _, r := range []results.SummaryRow{cuda, cpu} { // of other data, the other way round
		r.Data, r.Mean.Value = "cifar10", r.Mean.Value-0.2
		rows = append(rows, r)
	}
	SortSummary("fedawe-2", rows)
	c := Table(of, rows)
	var table, text, markdown, csv strings.Builder
	for _, err := range []error{
		WriteTable(&table, of, rows, 80), c.Write(&text, Plain),
		c.Grid().Write(&markdown, Export{Format: "markdown"}), c.Grid().Write(&csv, Export{Format: "csv"}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for what, got := range map[string]string{"table": table.String(), "compare": text.String()} {
		for label, number := range map[string]string{
			"[cpu-fp32]": "85.0 ± 1.0", "[cuda-fp32]": "84.1 ± 1.0", "[unverified]": "83.2 ± 1.0",
		} {
			found := false
			for line := range strings.Lines(got) {
				found = found || strings.HasPrefix(line, "fedawe "+label+" ") && strings.Contains(line, number)
			}
			if !found {
				t.Errorf("%s:\n%s\nwant a line of fedawe %s with %s", what, got, label, number)
			}
		}
	}
	for _, want := range []string{
		`| fedawe \[cpu-fp32] | **85.0 ± 1.0** | **65.0 ± 1.0** |`, `| fedawe \[cuda-fp32] | 84.1 ± 1.0 | 64.1 ± 1.0 |`,
		`| fedawe \[unverified] | 83.2 ± 1.0 | – |`,
	} {
		if !strings.Contains(markdown.String(), want) {
			t.Errorf("export:\n%s\nwant %q", markdown.String(), want)
		}
	}
	for _, want := range []string{
		"0.85,0.01,3,ok,[cpu-fp32],", "0.841,0.01,3,ok,[cuda-fp32],", "0.832,0.01,3,unverified,[unverified],",
	} {
		if !strings.Contains(csv.String(), want) {
			t.Errorf("export:\n%s\nwant %q", csv.String(), want)
		}
	}
}
