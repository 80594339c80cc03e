package report

import (
	"strings"
	"testing"

	"rollcall/results/compare"
	"rollcall/results/files"
	"rollcall/results/metrics"
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
			TableColumn: compare.TableColumn{Metric: metrics.TestAcc}, Mean: files.Some(c.mean), Std: files.Some(0.02), N: 3,
			PaperMean: files.Some(0.635), PaperStd: files.Some(0.02), PaperN: 3, Status: "ok",
			Difference: files.Some(c.mean - 0.635),
		}
		_, _, r.Verdict = stats.Compare(stats.Estimate{Mean: c.mean, Std: r.Std, N: 3},
			stats.Estimate{Mean: 0.635, Std: r.PaperStd, N: 3})
		if got := cellOf(&r); got.Class != c.class || !strings.HasSuffix(got.Mark, c.mark) {
			t.Errorf("%g: %s %q, want %s %q", c.mean, got.Class, got.Mark, c.class, c.mark)
		}
	}
	failed := cellOf(&compare.ComparisonRow{
		TableColumn: compare.TableColumn{Metric: metrics.TestAcc}, Status: "failed",
		PaperMean: files.Some(0.635), PaperStd: files.Some(0.02), PaperN: 3,
	})
	if failed.Ours != "–" || failed.Paper != "63.5 ± 2.0" || failed.Note != "failed, 0 seeds" || failed.Mark != "" {
		t.Errorf("%+v, want no number, the printed one, and that it failed", failed)
	}
}
