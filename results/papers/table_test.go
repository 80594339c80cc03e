package papers

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
)

// sorted returns the settings by name, of a name that is there twice the later value.
func sorted(p results.Params) (q results.Params) {
	values := maps.Collect(p.All())
	for _, name := range slices.Sorted(maps.Keys(values)) {
		q = q.And(results.Params(name + "=" + values[name]))
	}
	return q
}

// FedAWE, appendix J; CA-Fed (ToN), section V and table II; FedAR, section 6.1.
func TestTrainsAs(t *testing.T) {
	const (
		ton   = "alpha=0.5;augment=none;batch=32;clip=none;init=torch;local-epochs=1;lr="
		leaf  = "alpha=0.5;augment=none;batch=32;clip=none;init=torch;local-epochs=none;local-steps=1;lr="
		rest  = ";lr-schedule=constant;server-lr="
		fedar = "augment=none;batch=64;clip=none;init=torch;local-epochs=none;local-steps=5;lr=0.1;lr-schedule=decay;" +
			"memory=rate;momentum=0;server-lr=1;split=two-class;weight-decay=0.001"
	)
	for _, c := range []struct {
		method, preset, data, net string
		want                      results.Params
	}{
		{"fedawe", "code", "cifar10", "cnn-cifar10", "augment=batch;clip=none;lr=0.1;server-lr=1"},
		{"fedavg-known", "paper", "svhn", "cnn-svhn", "augment=sample;clip=0.5;lr=0.1;server-lr=1"},
		// a method of no paper, with rates of its own
		{"mifa-wait", "paper", "leaf", "linear-leaf", "augment=sample;clip=0.5"},
		// as in FedAWE's tables
		{"f3ast", "code", "leaf", "linear-leaf", "augment=batch;clip=none;lr=0.05;server-lr=1"},
		{"more-available", "paper", "leaf", "linear-leaf", leaf + "1" + rest +
			"7;split=classes;weight-decay=0.01;weights=equal"},
		{"adafed", "paper", "mnist", "cnn-mnist", ton + "0.03" + rest + "1;split=classes;weights=equal"},
		{"more-available", "paper", "cinic10", "cnn-cinic10", ton + "0.03" + rest + "3;split=classes;weights=equal"},
		{
			"ca-fed", "code-no-momentum", "mnist", "linear-mnist",
			ton + "0.1" + rest + "1;split=classes;weight-decay=0.01;weights=equal",
		},
		{
			"ca-fed", "code-no-momentum", "leaf", "linear-leaf",
			"alpha=0.5;augment=none;batch=32;clip=none;fstar=solved;init=torch;local-epochs=none;local-steps=1;" +
				"losses=held-out;lr=2" + rest + "3;split=classes;weight-decay=0.01;weights=equal",
		},
		// of a sweep in which all train like one of CA-Fed's methods
		{"fedawe", "code-no-momentum", "cifar10", "cnn-cifar10", "augment=batch;clip=none;lr=0.1;server-lr=1"},
		{"fedar", "paper", "cifar10", "lenet5", fedar},
		{"scaffold", "code", "svhn", "cnn-svhn", fedar},
	} {
		if got := sorted(TrainsAs(c.method, c.preset, c.data, c.net)); got != c.want {
			t.Errorf("%s, %s, %s: got\n%s, want\n%s", c.method, c.preset, c.data, got, c.want)
		}
	}
	// Every method of every table has rates outside of it too.
	for _, table := range tables {
		for _, method := range table.Methods {
			if p := TrainsAs(method, "code", "cifar10", "cnn-cifar10"); p.Get("lr") == "" || p.Get("server-lr") == "" {
				t.Errorf("%s: %s, want both rates", method, p)
			}
		}
	}
}

// A method has the presets in which its own paper can be followed outside the tables, the default first; a column those
// of its paper.
func TestPresets(t *testing.T) {
	for method, want := range map[string]string{
		"fedawe": "code paper", "f3ast": "code paper", "fedar": "code paper",
		"ca-fed": "code-no-momentum paper", "unbiased": "code-no-momentum paper", "adafed": "code-no-momentum paper",
		"more-available": "code-no-momentum paper",
	} {
		if got := Presets(method); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: presets %q, want %s", method, got, want)
		}
	}
	for _, f := range figures {
		for _, r := range f.Runs {
			want := []string{"code", "paper"}
			if strings.HasPrefix(f.ID, "cafed-") {
				want = append(want, "code-no-momentum")
			}
			if got := r.Presets(); !slices.Equal(got, want) {
				t.Errorf("%s: presets %q, want %q", f.ID, got, want)
			}
		}
	}
}

// Every printed number says of what experiment it is: FedAWE section 7, CA-Fed (INFOCOM) section V, FedAR section 6.1.
func TestPrintedExperiments(t *testing.T) {
	for id, want := range map[string]struct{ rounds, clients, seeds int }{
		"fedawe-2": {2000, 100, 3}, "fedawe-8": {2000, 100, 3}, "fedawe-9": {2000, 100, 3}, "fedawe-10": {2000, 100, 3},
		"cafed-1": {150, 24, 3}, "fedar-2": {1000, 100, 1}, "fedar-3": {1000, 100, 1},
	} {
		for _, p := range printed(t, id) {
			if p.Rounds != want.rounds || p.Clients != want.clients || p.N != want.seeds {
				t.Errorf("%s, %s: %d rounds, %d clients, %d seeds, want %v",
					id, p.Method, p.Rounds, p.Clients, p.N, want)
			}
		}
	}
	if len(TableNames()) != 8 || len(fedarMNIST.Printed) != 0 { // FedAR prints nothing of MNIST
		t.Errorf("tables %q, want those above", TableNames())
	}
}

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
		r := results.SummaryRow{Experiment: results.Experiment{
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
		r := results.SummaryRow{Experiment: results.Experiment{
			Method: method, Preset: "code", Data: "binary", Net: "linear-binary", Availability: "markov",
		}, Params: params}
		if got := of.Own(&r); got != "lr=0.2;rounds=4" {
			t.Errorf("%s %s: %q, want lr=0.2;rounds=4", method, params, got)
		}
	}
}
