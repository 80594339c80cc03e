package papers

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results/metrics"
)

// settingsOf returns the settings of a run by flag, the last one of each.
func settingsOf(c Column, method, preset string) map[string]string {
	return maps.Collect(c.Settings(method, preset).All())
}

// has checks settings, written "flag=value …".
func has(t *testing.T, what string, got map[string]string, want string) {
	t.Helper()
	for setting := range strings.FieldsSeq(want) {
		flag, value, _ := strings.Cut(setting, "=")
		if got[flag] != value {
			t.Errorf("%s: --%s %q, want %q", what, flag, got[flag], value)
		}
	}
}

// INFOCOM, section V and table I: N = 24, T = 150, two passes, M = 12, bias_const 1, β = 0.2, ridge 0.01, MNIST with
// two pairs of labels swapped and a fifth of the training set kept back, batches of 64 (32 on the binary set). The
// released scripts have s = 0.001 and 0, β = 1−s; nothing is kept back, and the classes of MNIST's clients are drawn.
func TestCAFedTableI(t *testing.T) {
	table := must.Get(TableByID("cafed-1"))(t)
	if want := []metrics.Metric{metrics.TestAccMax, metrics.TestAccMean, metrics.TestAccStd}; table.Rounds != 150 ||
		len(table.Seeds) != 3 || !slices.Equal(metricsOf(table), want) {
		t.Errorf("%d rounds, seeds %v, entries %q, want 150, three and %q",
			table.Rounds, table.Seeds, metricsOf(table), want)
	}
	if want := []string{"unbiased", "more-available", "adafed", "f3ast", "ca-fed"}; !slices.Equal(table.Methods, want) {
		t.Errorf("methods %q, want %q", table.Methods, want)
	}
	var data []string
	for _, c := range table.Columns {
		data = append(data, c.Data)
		for _, method := range table.Methods {
			for _, preset := range []string{"code", "code-no-momentum", "paper"} {
				what := c.Data + " " + method + " " + preset
				got := settingsOf(c, method, preset)
				has(t, what, got, "clients=24 local-epochs=2 weights=size lr-schedule=constant f3ast-limit=12 "+
					"f3ast-beta=1/T bias-const=1 ca-fed-tau=0 clip=none augment=none weight-decay=0.01 eval-every=1")
				has(t, what, got, map[string]string{
					"binary code": "ca-fed-beta=0.999", "binary code-no-momentum": "ca-fed-beta=0.999",
					"binary paper": "ca-fed-beta=0.2", "mnist paper": "ca-fed-beta=0.2 validation=0.2",
					"mnist code":             "ca-fed-beta=1 validation=0 classes=drawn",
					"mnist code-no-momentum": "ca-fed-beta=1 validation=0 classes=drawn",
				}[c.Data+" "+preset])
				if drawn := got["classes"] != ""; drawn != (c.Data == "mnist" && preset != "paper") {
					t.Errorf("%s: --classes %q, want drawn of MNIST by the code alone", what, got["classes"])
				}
				if c.Availability != "markov" || got["lr"] == "" || got["server-lr"] == "" {
					t.Errorf("%s: %s, rates %q and %q, want markov and both rates",
						what, c.Availability, got["lr"], got["server-lr"])
				}
				if c.Data == "mnist" {
					has(t, what, got, "batch=64 swap-pairs=2")
				} else {
					has(t, what, got, "batch=32")
				}
			}
		}
		code, paper := settingsOf(c, "ca-fed", "code"), settingsOf(c, "ca-fed", "paper")
		has(t, c.Data, code, "momentum=0.9 server-momentum=0.9 server-weight-decay=0.01")
		has(t, c.Data, code, "f3ast-memoryless=true losses=held-out")
		has(t, c.Data, paper,
			"momentum=0 server-momentum=0 server-weight-decay=0 f3ast-memoryless=false losses=batch fstar=min")
		has(t, c.Data, code, map[string]string{"binary": "fstar=solved", "mnist": "fstar=zero"}[c.Data])
		plainIsCodeButSGD(t, c, "ca-fed")
	}
	if !slices.Equal(data, []string{"binary", "mnist"}) {
		t.Errorf("data %q, want binary and mnist", data)
	}
}

// plainIsCodeButSGD checks that a column without momentum is the code's in all but what SGD's steps are, and that its
// steps and rates are those of the paper's preset.
func plainIsCodeButSGD(t *testing.T, c Column, method string) {
	t.Helper()
	code, plain := settingsOf(c, method, "code"), settingsOf(c, method, "code-no-momentum")
	paper := settingsOf(c, method, "paper")
	steps := strings.Fields("momentum server-momentum server-weight-decay weight-decay lr server-lr local-epochs " +
		"local-steps")
	for flag := range plain {
		want := code
		if slices.Contains(steps, flag) {
			want = paper
		}
		if plain[flag] != want[flag] {
			t.Errorf("%s %s: --%s %q without momentum, want %q", c.Data, method, flag, plain[flag], want[flag])
		}
	}
	has(t, c.Data+" "+method, plain, "momentum=0 server-momentum=0 server-weight-decay=0")
}

// INFOCOM: the rates on binary are those of the released scripts (paper_experiments/synthetic/full_experiment.sh) in
// the code's preset, which has momentum; the others, which have none, have larger ones.
func TestCAFedINFOCOMRates(t *testing.T) {
	for method, want := range map[string]string{
		"unbiased": "0.03/0.03", "adafed": "0.001/1", "f3ast": "0.03/0.03", "ca-fed": "0.01/0.3",
	} {
		for preset, want := range map[string]string{"code": want, "code-no-momentum": "0.1/1", "paper": "0.1/1"} {
			got := settingsOf(infocom("binary"), method, preset)
			if rates := got["lr"] + "/" + got["server-lr"]; rates != want {
				t.Errorf("%s, %s: %s, want %s", method, preset, rates, want)
			}
		}
	}
}

// ToN, table II: η/η_g.
func TestCAFedRates(t *testing.T) {
	for data, row := range map[string]map[string]string{
		"leaf": {"unbiased": "2/2", "more-available": "1/7", "ca-fed": "2/3", "adafed": "1/1", "f3ast": "2/2"},
		"mnist": {
			"unbiased": "0.03/1", "more-available": "0.1/4", "ca-fed": "0.1/1", "adafed": "0.03/1", "f3ast": "0.1/0.3",
		},
		"cifar10": {
			"unbiased": "0.03/1", "more-available": "0.03/3", "ca-fed": "0.03/1",
			"adafed": "0.03/1", "f3ast": "0.03/0.3",
		},
	} {
		for method, want := range row {
			for _, preset := range []string{"code", "code-no-momentum", "paper"} {
				got := settingsOf(ton(data), method, preset)
				if rates := got["lr"] + "/" + got["server-lr"]; rates != want {
					t.Errorf("%s on %s: %s, want %s", method, data, rates, want)
				}
			}
			plainIsCodeButSGD(t, ton(data), method)
		}
	}
}

// ToN, section V: which runs each figure is made of, for how many rounds and seeds.
func TestCAFedFigures(t *testing.T) {
	five := []string{"unbiased", "more-available", "adafed", "f3ast", "ca-fed"}
	sweep := []string{
		"more-available", "unbiased", "ca-fed κ̄²=0.01", "ca-fed κ̄²=0.1", "ca-fed κ̄²=1",
		"ca-fed κ̄²=10", "ca-fed κ̄²=100",
	}
	priors := []float64{10, 32, 100, 316, 1000, 3162, 10000} // 10^1, 10^1.5 … 10^4
	for _, c := range []struct {
		id, data, availability string
		rounds, seeds          int
		series                 []string
		x                      []float64
		settings               string // of ca-fed's last run, in the paper's preset
	}{
		{"cafed-i1", "binary", "markov", 150, 1, []string{"ca-fed"}, nil, "clients=24"},
		{"cafed-i2", "binary", "markov", 150, 1, []string{"unbiased", "f3ast", "adafed", "ca-fed"}, nil, "clients=24"},
		{
			"cafed-f1a", "leaf", "markov", 200, 10, five, nil,
			"clients=100 batch=32 leaf-gamma=0.5 leaf-delta=0.5 f3ast-limit=45 ca-fed-beta=1 bias-const=none kappa=1 " +
				"local-epochs=none local-steps=1",
		},
		{
			"cafed-f1b", "mnist", "markov", 200, 10, five, nil,
			"clients=100 batch=32 split=classes alpha=0.5 validation=0.2 local-epochs=1 weight-decay=0.01",
		},
		{
			"cafed-f1c", "cifar10", "markov", 200, 10, five, nil,
			"clients=100 batch=32 split=classes alpha=0.5 net=cnn-cafed local-epochs=1 weight-decay=0 init=torch",
		},
		{"cafed-f1d", "leaf", "markov", 200, 10, five, nil, "clients=100"},
		{"cafed-f2a", "leaf", "markov", 500, 10, sweep, nil, "kappa=100 bias-const=none"},
		{"cafed-f2b", "leaf", "markov", 500, 10, sweep, nil, "kappa=100 bias-const=none"},
		{
			"cafed-f3", "leaf", "markov", 200, 10, sweep,
			[]float64{0, 0.25, 0.5, 0.75, 1},
			"kappa=100 leaf-gamma=1 leaf-delta=1",
		},
		{"cafed-f4a", "mnist", "markov", 50, 10, []string{"ca-fed"}, priors, "prior=10000"},
		{"cafed-f4b", "mnist", "markov", 50, 10, five, priors, "prior=10000"},
		{"cafed-f5a", "mnist", "clusters", 100, 1, []string{"ca-fed"}, nil, "clusters=10 split=even"},
		{"cafed-f5b", "mnist", "clusters", 100, 1, []string{"ca-fed"}, nil, "clusters=10 split=clusters"},
		{"cafed-f5c", "mnist", "clusters", 100, 1, []string{"ca-fed"}, nil, "clusters=10 split=classes"},
		{"cafed-f5d", "mnist", "clusters", 100, 10, five, nil, "clusters=10 split=classes"},
	} {
		f, err := FigureByID(c.id)
		if err != nil {
			t.Error(err)
			continue
		}
		series, xs := map[string]int{}, map[float64]bool{}
		var order []string
		for _, r := range f.Runs {
			if series[r.Series]++; series[r.Series] == 1 {
				order = append(order, r.Series)
			}
			xs[r.X] = true
			if r.Data != c.data || r.Availability != c.availability {
				t.Errorf("%s: %s under %s, want %s under %s", c.id, r.Data, r.Availability, c.data, c.availability)
			}
		}
		if c.x == nil {
			c.x = []float64{0}
		}
		if !slices.Equal(order, c.series) || !slices.Equal(slices.Sorted(maps.Keys(xs)), c.x) ||
			len(f.Runs) != len(c.series)*len(c.x) {
			t.Errorf("%s: %d runs of %q at %v, want each of %q at each of %v",
				c.id, len(f.Runs), order, slices.Sorted(maps.Keys(xs)), c.series, c.x)
		}
		if f.Rounds != c.rounds || len(f.Seeds) != c.seeds || f.Measure == (Nothing{}) {
			t.Errorf("%s: %d rounds, %d seeds, want %d, %d", c.id, f.Rounds, len(f.Seeds), c.rounds, c.seeds)
		}
		last := f.Runs[len(f.Runs)-1]
		has(t, c.id, settingsOf(last.Column, last.Method, "paper"), c.settings)
	}
	f, err := FigureByID("cafed-i3")
	if err != nil || len(f.Runs) != 8 || f.Runs[0].Data != "binary" || f.Runs[7].Data != "mnist" || len(f.Seeds) != 3 {
		t.Errorf("cafed-i3: %v, %d runs, %d seeds, want four methods on binary and on mnist with three",
			err, len(f.Runs), len(f.Seeds))
	}
}
