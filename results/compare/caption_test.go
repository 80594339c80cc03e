package compare

import (
	"slices"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/stats"
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
		spread   = "Mean ± sample standard deviation over "
		mean     = "Test accuracy (%): mean over the last 50 rounds. " + spread
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
		}), mean + "1 to 3 seeds; 100 to 2000 rounds, N = 5 to 100, α = 0.05 to 0.1, presets code and paper, " +
			"cnn-svhn, cnn-cifar10; rollcall 1.2, 1.3, cpu-fp32, cuda-fp32"},
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
		}), "Test accuracy (%): mean over the last 50 rounds. 1 seed; rounds unknown, N = 100, preset code, cnn-svhn"},
		{
			"rounds of some unknown", rows(same, func(r *row) { r.Rounds = 0 }),
			mean + "3 seeds; 2000 rounds, of some unknown, " + settings,
		},
		{
			"other numbers", // p_holm is missing for the reference
			rows(func(r *row) { r.Metric = metrics.PSeeds }, holm(files.Optional{}),
				func(r *row) { r.Metric = metrics.RoundsTo25 }),
			"P seeds, p Holm: mean over the last 50 rounds. " +
				"P-value, first round of the mean over 3 seeds; 2000 rounds, " + settings,
		},
		{
			"corrected p-values", rows(holm(files.Optional{}), holm(files.Some(0.1)), holm(files.Some(0.2))),
			"P Holm: mean over the last 50 rounds. P-value corrected for 2 comparisons over 3 seeds; 2000 rounds, " +
				settings,
		},
		{
			"beside p-values", rows(func(r *row) { r.Metric = metrics.PRounds }, func(r *row) {
				r.Metric = metrics.PRoundsLead
			}, func(r *row) { r.Metric = metrics.PRoundsN }),
			"P rounds, lead of the reference (points), independent pairs: all evaluated rounds. P-value, mean, sum " +
				"over 3 seeds; 2000 rounds, " + settings,
		},
		{
			"all runs shorter than the window", rows(func(r *row) { r.Rounds = 20 }, func(r *row) {
				r.Rounds, r.Metric = 20, metrics.TrainAcc
			}),
			"Test accuracy (%), train accuracy (%): mean over all 20 rounds. " + spread + "3 seeds; 20 rounds, " +
				settings,
		},
		{
			"one run shorter than the window", rows(same, func(r *row) { r.Rounds = 20 }),
			"Test accuracy (%): mean over the last 50 rounds, or over all rounds of a shorter run. " + spread +
				"3 seeds; 20 to 2000 rounds, " + settings,
		},
		{
			"several of test accuracy", rows(same, func(r *row) { r.Metric = metrics.TestAccFinal },
				func(r *row) { r.Metric = "rounds_to_acc_60" }),
			"Test accuracy (%): mean over the last 50 rounds; after the last round. Rounds to 60 % test accuracy: " +
				"first evaluated round. " + spread + "3 seeds; 2000 rounds, " + settings,
		},
		{"nothing", nil, "No number yet"},
	} {
		if got := Caption(c.rows); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

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
		`| FedAWE \[cpu-fp32] | **85.0 ± 1.0** | **65.0 ± 1.0** |`, `| FedAWE \[cuda-fp32] | 84.1 ± 1.0 | 64.1 ± 1.0 |`,
		`| FedAWE \[unverified] | 83.2 ± 1.0 | – |`,
	} {
		if !strings.Contains(markdown.String(), want) {
			t.Errorf("export:\n%s\nwant %q", markdown.String(), want)
		}
	}
	for _, want := range []string{
		"0.85,0.01,3,,ok,[cpu-fp32],", "0.841,0.01,3,,ok,[cuda-fp32],", "0.832,0.01,3,,unverified,[unverified],",
	} {
		if !strings.Contains(csv.String(), want) {
			t.Errorf("export:\n%s\nwant %q", csv.String(), want)
		}
	}
}

// A caption says how many samples took part of how many, by the runs, and without them by the settings.
func TestCaptionOfSubset(t *testing.T) {
	for _, c := range []struct {
		params results.Params
		data   string
		subset *results.Subset
		want   string
	}{
		{
			"train-size=2000", "cifar10", &results.Subset{Train: 2000, TrainOf: 50000, TestOf: 10000},
			"2,000 of 50,000 training samples",
		},
		{
			"test-size=999;train-size=2000", "mnist",
			&results.Subset{Train: 2000, TrainOf: 60000, Test: 999, TestOf: 10000},
			"2,000 of 60,000 training samples, 999 of 10,000 test samples",
		},
		{"test-size=1000", "mnist", nil, "1,000 test samples of the set"},
		{"train-size=2000", "synthetic", nil, ""},
		{"", "cifar10", nil, ""},
	} {
		row := results.SummaryRow{
			Setup:  results.Setup{Method: "mifa", Data: c.data, Clients: 10, Net: "lenet5"},
			Params: c.params, N: 1, Rounds: 5, Metric: metrics.TestAcc, Subset: c.subset,
		}
		caption := Caption([]results.SummaryRow{row})
		if c.want == "" && strings.Contains(caption, "samples") || !strings.Contains(caption, c.want) {
			t.Errorf("%s %s: caption %q, want %q in it", c.data, c.params, caption, c.want)
		}
	}
}
