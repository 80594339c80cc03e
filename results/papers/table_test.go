package papers

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/resultstest"
	"rollcall/results/stats"
)

// A row's own settings are those that its table does not give its method; the table's 1/T is a number in a row.
func TestOwn(t *testing.T) {
	of := must.Get(TableByID("cafed-1"))(t)
	for _, c := range []struct {
		data   string
		params results.Params
		want   results.Params
	}{
		{"binary", "batch=32;f3ast-beta=0.25;lr=0.03;rounds=4", "rounds=4"},
		{"mnist", "batch=64;f3ast-beta=0.25;lr=0.0316;rounds=4", "rounds=4"},
		{"mnist", "batch=32;lr=0.0316", "batch=32"}, // the other column's
		{"binary", "batch=32;eval-every=5;lr=0.03", "eval-every=5"},
		{"leaf", "batch=32", "batch=32"},
	} {
		r := results.SummaryRow{Setup: results.Setup{
			Method: "f3ast", Preset: "code", Data: c.data, Availability: "markov",
		}, Params: c.params}
		if got := of.Own(&r); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.data, c.params, got, c.want)
		}
	}
	// A method that the table does not have has nothing of its own but what the user gave.
	for method, params := range map[string]results.Params{
		"fedar": "batch=32;local-steps=10;lr=0.2;rounds=4;split=classes;weight-decay=0.01",
		"new":   "augment=none;batch=32;init=torch;lr=0.2;rounds=4;split=classes",
	} {
		r := results.SummaryRow{Setup: results.Setup{
			Method: method, Preset: "code", Data: "binary", Net: "linear-binary", Availability: "markov",
		}, Params: params}
		if got := of.Own(&r); got != "lr=0.2;rounds=4" {
			t.Errorf("%s %s: %q, want lr=0.2;rounds=4", method, params, got)
		}
	}
}

func printed(t *testing.T, id string) []results.Printed {
	t.Helper()
	table := must.Get(TableByID(id))(t)
	return table.Printed
}

// The checksums are of the printed numbers as they were compared, digit by digit, with a second reading of the papers.
// The rounds, clients and seeds are those of the experiments: FedAWE section 7, CA-Fed (INFOCOM) section V, FedAR
// section 6.1. FedAR prints nothing of MNIST.
func TestPrinted(t *testing.T) {
	for _, c := range []struct {
		id                              string
		numbers, rounds, clients, seeds int
		sum                             string
	}{
		{"fedawe-2", 192, 2000, 100, 3, "4aa97ec15a88043b566ba11271f8091335a26b192c89edb2b4a56170c1a6dd09"},
		{"fedawe-8", 84, 2000, 100, 3, "f9e8f12b76eeae2819a8674cc2792580a34f95c4ad4954dfdab693c1aa570a4b"},
		{"fedawe-9", 42, 2000, 100, 3, "8f8cf02d51dca17979543119de16fd9c6a1917bad93b022352ab0f6fd74f2d37"},
		{"fedawe-10", 42, 2000, 100, 3, "a6816fc4fe90c413d28ed33458f63f30d0220c0753924b25249da0c4b5515562"},
		{"cafed-1", 24, 150, 24, 3, "ecedf16e7dc5da9963991575a098f23fa287c150ab5d872b0e884a45323a594e"},
		{"fedar-2", 5, 1000, 100, 1, "6970074c17eb84f7865610f08f16aeb9b79de08902af21198edb45fbf4c509b3"},
		{"fedar-3", 28, 1000, 100, 1, "6edf6dd659d787167baef0117cae6521194eabffb94e8babdc349e18e2ea5ed2"},
		{"fedar-mnist", 0, 0, 0, 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	} {
		var listing strings.Builder
		rows := printed(t, c.id)
		for _, r := range rows {
			fmt.Fprintf(&listing, "%s,%s,%s,%s,%v,%s,%s,%v,%v,%d\n",
				r.Table, r.Method, r.Data, r.Availability, r.Alpha, r.Params, r.Metric, r.Mean, r.Std, r.N)
			if r.Rounds != c.rounds || r.Clients != c.clients || r.N != c.seeds {
				t.Errorf("%s: %+v, want %d rounds, %d clients, %d seeds", c.id, r, c.rounds, c.clients, c.seeds)
			}
		}
		sum := sha256.Sum256([]byte(listing.String()))
		if got := hex.EncodeToString(sum[:]); got != c.sum || len(rows) != c.numbers {
			t.Errorf("%s: %d numbers, checksum %s, want %d, %s", c.id, len(rows), got, c.numbers, c.sum)
		}
	}
	if ids := TableNames(); len(ids) != 8 {
		t.Errorf("tables %q, want those above", ids)
	}
}

// FedAWE, Table 8: the targets are the best test accuracies of Table 2 under sine, rounded down to 10 %.
func TestFedAWE8Target(t *testing.T) {
	for _, data := range []string{"svhn", "cifar10", "cinic10"} {
		best := 0.0
		for _, p := range printed(t, "fedawe-2") {
			if p.Data == data && p.Availability == "sine" && p.Metric == metrics.TestAcc {
				best = max(best, p.Mean.Value)
			}
		}
		want := float64(int(best*10)) / 10
		if got := fedawe8Targets[data]; got != want {
			t.Errorf("%s: got target %v, want %v, the best being %v", data, got, want, best)
		}
	}
}

// A table with further numbers keeps its own, and has a mean of first rounds only if all seeds reach the accuracy.
func TestWith(t *testing.T) {
	of := must.Get(TableByID("fedawe-2"))(t)
	with := of.With(metrics.TestAcc, metrics.TestAccFinal, metrics.PHolm, "rounds_to_acc_60")
	want := []metrics.Metric{metrics.TestAcc, metrics.TrainAcc, metrics.TestAccFinal, "rounds_to_acc_60"}
	if got := with.Metrics(); !slices.Equal(got, want) || len(of.Entries) != 2 {
		t.Errorf("%q from %d of its own, want %q from 2", got, len(of.Entries), want)
	}
	runs := Runs{Curves: [][]results.CurveRow{resultstest.Accuracies(0, 0.5, 0.7), resultstest.Accuracies(0, 0.6, 0.5)}}
	for _, c := range []struct {
		m             metrics.Metric
		mean, reached files.Optional
	}{
		{metrics.TestAccFinal, files.Some(0.6), files.Optional{}},
		{"rounds_to_acc_60", files.Some(1.5), files.Some(2)},
		{"rounds_to_acc_70", files.Optional{}, files.Some(1)},
		{"rounds_to_acc_71", files.Optional{}, files.Some(0)},
	} {
		only := of.Only(c.m)
		r, err := only.Row(only.Entries[0], results.SummaryRow{}, runs, Runs{})
		if err != nil || r.N != 2 || r.Mean != c.mean || r.Std.Valid != c.mean.Valid || r.Reached != c.reached {
			t.Errorf("%s: %+v, %v, want mean %v of 2, reached by %v", c.m, r, err, c.mean, c.reached)
		}
	}
}

// An unknown table or figure names all known ones.
func TestUnknown(t *testing.T) {
	const want = `papers: table "fedawe-3": unknown, want one of fedawe-2, fedawe-8, fedawe-9, fedawe-10, cafed-1, ` +
		`fedar-2, fedar-3, fedar-mnist`
	if _, err := TableByID("fedawe-3"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := FigureByID("fedawe-f1"); err == nil || !slices.Contains(FigureNames(), "fedawe-f2") {
		t.Errorf("fedawe-f1: %v, want an error: the paper's figure 1 is a drawing", err)
	}
}

// The printed number that belongs beside a row of ours, or none.
func TestPrintedFor(t *testing.T) {
	const test, train = metrics.TestAcc, metrics.TrainAcc
	sine := resultstest.SineRow
	noAlpha := sine("mifa", "svhn", 0, "", test)
	noAlpha.Alpha = files.Optional{}
	for _, c := range []struct {
		name, table string
		row         results.SummaryRow
		mean, std   float64 // 0: not printed
	}{
		{"γ=0.2", "fedawe-9", sine("fedau", "svhn", 0.1, "gamma=0.2", test), 0.834, 0.004},
		{"γ=0.1 of several", "fedawe-9", sine("fedavg-all", "svhn", 0.1, "a=2;gamma=0.1;rounds=5", test), 0.749, 0.024},
		{"γ=0.3 of several", "fedawe-9", sine("fedavg-known", "svhn", 0.1, "rounds=500", train), 0.863, 0.010},
		{"another γ", "fedawe-9", sine("fedau", "svhn", 0.1, "gamma=0.25", test), 0, 0},
		{"a key that only looks like γ", "fedawe-9", sine("fedau", "svhn", 0.1, "leaf-gamma=0.2", test), 0.825, 0.013},
		{"γ is no column of Table 2", "fedawe-2", sine("fedau", "svhn", 0.1, "gamma=0.2", test), 0.825, 0.013},
		{"α=0.05", "fedawe-10", sine("fedawe", "svhn", 0.05, "", test), 0.825, 0.024},
		{"α=1", "fedawe-10", sine("mifa", "svhn", 1, "", train), 0.884, 0.001},
		{"a std of 0.0 is printed", "fedawe-10", sine("mifa", "svhn", 0.05, "", test), 0.826, 0},
		{"another α", "fedawe-10", sine("mifa", "svhn", 0.5, "", train), 0, 0},
		{"another α in Table 2", "fedawe-2", sine("mifa", "svhn", 0.5, "", train), 0, 0},
		{"no α at all", "fedawe-10", noAlpha, 0, 0},
		{"FedVARP", "fedawe-9", sine("fedvarp", "svhn", 0.1, "", test), 0, 0},
		{"another data set", "fedawe-9", sine("mifa", "cifar10", 0.1, "", test), 0, 0},
		{"a table that prints nothing", "fedar-mnist", sine("fedawe", "svhn", 0.1, "", test), 0, 0},
	} {
		t.Run(c.table+" "+c.name, func(t *testing.T) {
			got, found := results.PrintedFor(printed(t, c.table), c.row)
			if found != (c.mean > 0) {
				t.Fatalf("got %+v, found %v, want found %v", got, found, c.mean > 0)
			}
			// Exact: the fractions are the floats nearest to the printed decimals.
			if want := (stats.Estimate{Mean: c.mean, Std: files.Some(c.std), N: 3}); found &&
				got.Estimate() != want {
				t.Errorf("got %+v, want %+v", got.Estimate(), want)
			}
		})
	}
}

// Every table and figure is an item of one paper, in the order in which the paper has it, and its title begins with the
// paper and the item. The slides show figures of the journal paper again.
func TestItems(t *testing.T) {
	seen := map[string]string{}
	for _, d := range Documents() {
		labels := map[string]bool{}
		for _, item := range d.Items {
			what := d.Name + ", " + item.Label
			if item.Label == "" || labels[item.Label] {
				t.Errorf("%s: the label is empty or there twice", what)
			}
			labels[item.Label] = true
			if item.ID == "" {
				if item.Shows == "" {
					t.Errorf("%s: want what it shows", what)
				}
				continue
			}
			if item.Nothing != "" || item.Shows != "" {
				t.Errorf("%s: %q and %q, want neither: %s says it", what, item.Nothing, item.Shows, item.ID)
			}
			title := ""
			if table, err := TableByID(item.ID); err == nil {
				title = table.Title
			} else if figure, err := FigureByID(item.ID); err == nil {
				title = figure.Title
			} else {
				t.Errorf("%s: %s is neither a table nor a figure", what, item.ID)
			}
			if d.Name == "CA-Fed, slides" && !strings.HasPrefix(title, d.Name) {
				continue // a figure of the ToN paper
			}
			if !strings.HasPrefix(title, what+": ") {
				t.Errorf("%s: title %q, want it to begin with the item", item.ID, title)
			}
			if seen[item.ID] != "" {
				t.Errorf("%s: is %s and %s", item.ID, seen[item.ID], what)
			}
			seen[item.ID] = what
		}
	}
	for _, id := range append(TableNames(), FigureNames()...) {
		if seen[id] == "" {
			t.Errorf("%s: in no document, want an item in items.go", id)
		}
	}
}

// A table in a reading with other rounds is compared with the printed numbers, also if it has that T already.
func TestAsReadRounds(t *testing.T) {
	table := must.Get(TableByID("fedar-3"))(t)
	row := resultstest.Row("fedar-3", "fedar", "cifar10", "uniform", metrics.ClientAccMean, 0.44, 3)
	row.Rounds = 200
	for _, rounds := range []int{table.Rounds, 200} {
		table.Rounds = rounds
		read, names := table.AsRead([]results.SummaryRow{row})
		if read.Rounds != 200 || !slices.Equal(names, []string{"T-200"}) || read.Printed[0].Rounds != 200 {
			t.Errorf("T = %d: %q, T = %d, printed of %d, want T-200", rounds, names, read.Rounds,
				read.Printed[0].Rounds)
		}
	}
	row.Rounds, table.Rounds = 1000, 1000
	if read, names := table.AsRead([]results.SummaryRow{row}); names != nil || read.Printed[0].Rounds != 1000 {
		t.Errorf("%q, printed of %d, want the default", names, read.Printed[0].Rounds)
	}
}
