package compare

import (
	"testing"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
)

func TestCaption(t *testing.T) {
	type row = results.SummaryRow
	_, usual := tableTwo(t)
	rows := func(changes ...func(r *row)) (rows []row) {
		for _, change := range changes {
			rows = append(rows, usual)
			change(&rows[len(rows)-1])
		}
		return rows
	}
	same := func(*row) {}
	holm := func(mean files.Optional) func(*row) {
		return func(r *row) { r.Metric, r.Mean = metrics.PHolm, mean }
	}
	const (
		mean     = "Mean ± sample standard deviation over "
		settings = "N = 100, α = 0.1, preset code, cnn-svhn; rollcall 1.2, cpu-fp32"
	)
	for _, c := range []struct {
		name string
		rows []row
		want string
	}{
		{"alike", rows(same, same), mean + "3 seeds; 2000 rounds, " + settings},
		{"differing", rows(same, func(r *row) {
			r.N, r.Rounds, r.Clients, r.Alpha, r.Preset, r.Net, r.Version, r.Numerics = 1, 100, 5, files.Some(0.05),
				"paper", "cnn-cifar10", "1.3", "cuda-fp32"
		}), mean + "1 to 3 seeds; 100 to 2000 rounds, N = 5 to 100, α = 0.05 to 0.1, presets code and paper, cnn-svhn, " +
			"cnn-cifar10; rollcall 1.2, 1.3, cpu-fp32, cuda-fp32"},
		{
			"seeds of two versions", rows(same, func(r *row) { r.Version = "1.0 and 1.2" }),
			mean + "3 seeds; 2000 rounds, N = 100, α = 0.1, preset code, cnn-svhn; rollcall 1.0, 1.2, cpu-fp32",
		},
		{
			"failed ones do not count", rows(same, func(r *row) { r.N, r.Rounds, r.Net = 0, 0, "other" }),
			mean + "3 seeds; 2000 rounds, " + settings,
		},
		{"little known", rows(func(r *row) {
			r.N, r.Rounds, r.Alpha, r.Version, r.Numerics = 1, 0, files.Optional{}, "", ""
		}), mean + "1 seed; rounds unknown, N = 100, preset code, cnn-svhn"},
		{
			"rounds of some unknown", rows(same, func(r *row) { r.Rounds = 0 }),
			mean + "3 seeds; 2000 rounds, of some unknown, " + settings,
		},
		{
			"other numbers", // p_holm is missing for the reference
			rows(func(r *row) { r.Metric = metrics.PSeeds }, holm(files.Optional{}),
				func(r *row) { r.Metric = metrics.RoundsTo25 }),
			"P-value, first round of the mean over 3 seeds; 2000 rounds, " + settings,
		},
		{
			"corrected p-values", rows(holm(files.Optional{}), holm(files.Some(0.1)), holm(files.Some(0.2))),
			"P-value corrected for 2 comparisons over 3 seeds; 2000 rounds, " + settings,
		},
		{"nothing", nil, "No number yet"},
	} {
		if got := Caption(c.rows); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}
