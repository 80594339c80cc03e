package papers

import (
	"maps"
	"slices"
	"testing"

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
		ton   = "alpha=0.5;augment=sample;batch=32;clip=0.5;local-epochs=1;lr="
		rest  = ";lr-schedule=constant;server-lr="
		fedar = "augment=none;batch=64;clip=none;init=torch;local-epochs=none;local-steps=5;lr=0.1;lr-schedule=decay;" +
			"momentum=0;server-lr=1;split=two-class;weight-decay=0.001"
	)
	for _, c := range []struct {
		method, preset, data, net string
		want                      results.Params
	}{
		{"fedawe", "code", "cifar10", "cnn-cifar10", "augment=batch;clip=none;lr=0.1;server-lr=1"},
		{"fedavg-known", "paper", "svhn", "cnn-svhn", "augment=sample;clip=0.5;lr=0.1;server-lr=1"},
		{"mifa-wait", "paper", "leaf", "linear-leaf", "augment=sample;clip=0.5;lr=0.05;server-lr=1"},
		{"f3ast", "code", "leaf", "linear-leaf", "augment=batch;clip=none;lr=0.05;server-lr=1"}, // as in FedAWE's tables
		{"more-available", "paper", "leaf", "linear-leaf", ton + "1" + rest +
			"7;split=classes;weight-decay=0.01;weights=size"},
		{"adafed", "paper", "mnist", "cnn-mnist", ton + "0.03" + rest + "1;split=classes;weights=size"},
		{"more-available", "paper", "cinic10", "cnn-cinic10", ton + "0.03" + rest + "3;split=classes;weights=size"},
		{"ca-fed", "code", "mnist", "linear-mnist", "alpha=0.5;augment=batch;batch=32;clip=none;local-epochs=1;lr=0.1;" +
			"lr-schedule=constant;momentum=0.9;server-lr=1;server-momentum=0.9;server-weight-decay=0.01;split=classes;" +
			"weight-decay=0.01;weights=size"},
		{"ca-fed", "code", "leaf", "linear-leaf", "alpha=0.5;augment=batch;batch=32;clip=none;fstar=solved;local-epochs=1;" +
			"losses=held-out;lr=2;lr-schedule=constant;momentum=0.9;server-lr=3;server-momentum=0.9;" +
			"server-weight-decay=0.01;split=classes;weight-decay=0.01;weights=size"},
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
