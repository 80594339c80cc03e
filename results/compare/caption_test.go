package compare

import (
	"testing"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
)

func TestCaption(t *testing.T) {
	_, usual := tableTwo(t)
	with := func(change func(r *results.SummaryRow)) results.SummaryRow {
		r := usual
		change(&r)
		return r
	}
	for _, c := range []struct {
		name string
		rows []results.SummaryRow
		want string
	}{
		{
			"alike",
			[]results.SummaryRow{usual, usual},
			"Mean ± sample standard deviation over 3 seeds; 2000 rounds, N = 100, α = 0.1, preset code, " +
				"cnn-svhn; rollcall 1.2, cpu-fp32",
		},
		{"differing", []results.SummaryRow{usual, with(func(r *results.SummaryRow) {
			r.N, r.Rounds, r.Clients, r.Alpha, r.Preset, r.Net, r.Version, r.Numerics = 1, 100, 5, files.Some(0.05),
				"paper", "cnn-cifar10", "1.3", "cuda-fp32"
		})}, "Mean ± sample standard deviation over 1 to 3 seeds; 100 to 2000 rounds, N = 5 to 100, α = 0.05 to 0.1, " +
			"presets code and paper, cnn-svhn, cnn-cifar10; rollcall 1.2, 1.3, cpu-fp32, cuda-fp32"},
		{"seeds of two versions", []results.SummaryRow{usual, with(func(r *results.SummaryRow) {
			r.Version = "1.0 and 1.2"
		})}, "Mean ± sample standard deviation over 3 seeds; 2000 rounds, N = 100, α = 0.1, preset code, cnn-svhn; " +
			"rollcall 1.0, 1.2, cpu-fp32"},
		{
			"failed ones do not count",
			[]results.SummaryRow{
				usual,
				with(func(r *results.SummaryRow) { r.N, r.Rounds, r.Net = 0, 0, "other" }),
			},
			"Mean ± sample standard deviation over 3 seeds; 2000 rounds, N = 100, α = 0.1, preset code, " +
				"cnn-svhn; rollcall 1.2, cpu-fp32",
		},
		{"little known", []results.SummaryRow{with(func(r *results.SummaryRow) {
			r.N, r.Rounds, r.Alpha, r.Version, r.Numerics = 1, 0, files.Optional{}, "", ""
		})}, "Mean ± sample standard deviation over 1 seed; rounds unknown, N = 100, preset code, cnn-svhn"},
		{
			"rounds of some unknown",
			[]results.SummaryRow{usual, with(func(r *results.SummaryRow) { r.Rounds = 0 })},
			"Mean ± sample standard deviation over 3 seeds; 2000 rounds, of some unknown, N = 100, α = 0.1, " +
				"preset code, cnn-svhn; rollcall 1.2, cpu-fp32",
		},
		{"other numbers", []results.SummaryRow{
			with(func(r *results.SummaryRow) { r.Metric = metrics.PSeeds }),
			with(func(r *results.SummaryRow) { r.Metric, r.Mean = metrics.PHolm, files.Optional{} }), // the reference's
			with(func(r *results.SummaryRow) { r.Metric = metrics.RoundsTo25 }),
		}, "P-value, first round of the mean over 3 seeds; 2000 rounds, N = 100, α = 0.1, preset code, cnn-svhn; " +
			"rollcall 1.2, cpu-fp32"},
		{"corrected p-values", []results.SummaryRow{
			with(func(r *results.SummaryRow) { r.Metric, r.Mean = metrics.PHolm, files.Optional{} }),
			with(func(r *results.SummaryRow) { r.Metric, r.Mean = metrics.PHolm, files.Some(0.1) }),
			with(func(r *results.SummaryRow) { r.Metric, r.Mean = metrics.PHolm, files.Some(0.2) }),
		}, "P-value corrected for 2 comparisons over 3 seeds; 2000 rounds, N = 100, α = 0.1, preset code, cnn-svhn; " +
			"rollcall 1.2, cpu-fp32"},
		{"nothing", nil, "No number yet"},
	} {
		if got := Caption(c.rows); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}
