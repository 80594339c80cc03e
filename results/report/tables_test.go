package report

import (
	"slices"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/metrics"
	"rollcall/results/papers"
	"rollcall/results/resultstest"
	"rollcall/results/stats"
)

// The marks of a number beside the printed 0.635 ± 0.020 of 3 seeds. Two standard errors of ours ± 0.020 of 3 are
// 0.0327.
func TestMarks(t *testing.T) {
	for _, c := range []struct {
		mean        float64
		class, mark string
	}{
		{0.635, "in", "inside"},
		{0.655, "in", "inside"},
		{0.615, "in", "inside"},
		{0.660, "near", "above, near"},
		{0.610, "near", "below, near"},
		{0.670, "above", "above"},
		{0.600, "below", "below"},
	} {
		r := compare.ComparisonRow{
			TableColumn: compare.TableColumn{Metric: metrics.TestAcc}, Mean: files.Some(c.mean), Std: files.Some(0.02),
			N: 3, PaperMean: files.Some(0.635), PaperStd: files.Some(0.02), PaperN: 3, Status: "ok",
		}
		r.Difference, r.Rounds = files.Some(c.mean-0.635), 2000
		_, _, r.Verdict = stats.Compare(stats.Estimate{Mean: c.mean, Std: r.Std, N: 3},
			stats.Estimate{Mean: 0.635, Std: r.PaperStd, N: 3})
		if got := (tableData{}).Cell(&r); got.Class != c.class || !strings.HasSuffix(got.Mark, c.mark) {
			t.Errorf("%g: %s %q, want %s %q", c.mean, got.Class, got.Mark, c.class, c.mark)
		}
	}
	failed := (tableData{}).Cell(&compare.ComparisonRow{
		TableColumn: compare.TableColumn{Metric: metrics.TestAcc}, Status: "failed",
		PaperMean: files.Some(0.635), PaperStd: files.Some(0.02), PaperN: 3,
	})
	if failed.Ours != "–" || failed.Paper != "63.5 ± 2.0" || failed.Note != "failed, 0 seeds" || failed.Mark != "" {
		t.Errorf("%+v, want no number, the printed one, and that it failed", failed)
	}
}

// The report says of every number what the comparison says: a number that is not compared is in neither's counts, and
// one that the comparison does not know is not away.
func TestReportAgreesWithComparison(t *testing.T) {
	of := must.Get(papers.TableByID("fedawe-2"))(t)
	row := func(method string, mean float64, n, rounds int) results.SummaryRow {
		r := resultstest.Row("fedawe-2", method, "svhn", "sine", metrics.TestAcc, mean, n)
		r.Rounds = rounds
		return r
	}
	for name, c := range map[string]struct {
		rows           []results.SummaryRow
		compared, page string
		marks          []string // in the order of the paper's methods
	}{
		"one seed": {
			[]results.SummaryRow{row("fedawe", 0.2, 1, 2000), row("fedau", 0.1, 1, 2000)},
			"0 numbers compared: 0 within, 0 outside, 0 unknown; 2 not compared: 1 of 3 seeds;",
			"0 numbers compared with the printed ones: 0 inside, 0 near, 0 away, 0 unknown. " +
				"2 not compared: 1 of 3 seeds.",
			[]string{"not comparable", "not comparable"},
		},
		"one whole": {
			[]results.SummaryRow{row("fedawe", 0.2, 3, 2000), row("fedau", 0.825, 3, 100)},
			"1 number compared: 0 within, 1 outside, 0 unknown; 1 not compared: 100 of 2000 rounds;",
			"1 number compared with the printed ones: 0 inside, 0 near, 1 away, 0 unknown. " +
				"1 not compared: 100 of 2000 rounds.",
			[]string{"▼ below", "not comparable: 100 of 2000 rounds"},
		},
		"both": {
			[]results.SummaryRow{row("fedawe", 0.846, 3, 2000), row("fedau", 0.825, 3, 2000)},
			"2 numbers compared: 2 within, 0 outside, 0 unknown;",
			"2 numbers compared with the printed ones: 1 inside, 1 near, 0 away, 0 unknown.",
			[]string{"▽ below, near", "✓ inside"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			must.OK(t, compare.Table(&of, c.rows).Write(&text, compare.Plain))
			if !strings.Contains(text.String(), c.compared) {
				t.Errorf("compare:\n%s\nwant %q", text.String(), c.compared)
			}
			var page strings.Builder
			data := build(Input{Numbers: c.rows}).data()
			must.OK(t, pageTemplate.Execute(&page, data))
			if !strings.Contains(page.String(), c.page) {
				t.Errorf("report: %q, want %q", data.Tables[0].Summary, c.page)
			}
			var marks []string
			for _, l := range data.Tables[0].Groups[0].Lines {
				if r := l.Cells[0]; r.Status != "" {
					marks = append(marks, data.Tables[0].Cell(r).Mark)
				}
			}
			slices.Sort(marks)
			slices.Sort(c.marks)
			if !slices.Equal(marks, c.marks) {
				t.Errorf("marks %q, want %q", marks, c.marks)
			}
		})
	}
}

// A report of a short run is grey: it says once why, and colours nothing.
func TestShortRunIsGrey(t *testing.T) {
	out := t.TempDir()
	synthesise(t, out, synthetic{
		availabilities: []string{"sine"}, data: []string{"cifar10"}, methods: []string{"fedawe", "mifa"},
		rounds: 100, every: 10,
	})
	var page strings.Builder
	must.OK(t, pageTemplate.Execute(&page, build(input(t, out)).data()))
	for _, want := range []string{
		"None of our numbers is compared with the printed ones: 100 of 2000 rounds.",
		"Mean ± sample standard deviation over 3 seeds; 100 rounds, N = 100, α = 0.1, preset code, cnn-cifar10; " +
			"rollcall v1, cpu-fp32. Seeds 3, 4, 6. AMD EPYC, cpu-avx512 fp32.",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(page.String(), `<td class="apart"`); n != 4 {
		t.Errorf("%d grey numbers, want 2 methods × 2 metrics", n)
	}
	for _, colour := range []string{"in", "near", "above", "below"} {
		if strings.Contains(page.String(), `<td class="`+colour+`"`) {
			t.Errorf("a number is coloured %q, want none", colour)
		}
	}
}
