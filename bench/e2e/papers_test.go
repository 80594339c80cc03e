package e2e

import (
	"fmt"
	"maps"
	"testing"

	"rollcall/algos"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/papers"
)

// FedAWE, section 7 and appendix J: 100 clients, Dirichlet 0.1, 10 local steps of 128 samples, 2000 rounds, cycles of
// 20 rounds with γ = 0.3, cut off at 0.1, a lower step of 0.4.
func TestDefaultsAreFedAWEs(t *testing.T) {
	s := must.Get(settings.Defaults("fedawe", "code", "cifar10"))(t)
	values := s.Values()
	for flag, want := range map[string]string{
		"clients": "100", "alpha": "0.1", "local-steps": "10", "batch": "128", "rounds": "2000",
		"lr": "0.1", "server-lr": "1", "period": "20", "gamma": "0.3", "cutoff": "0.1", "low": "0.4",
		"net": "cnn-cifar10", "weights": "equal", "momentum": "0", "weight-decay": "0", "eval-every": "10",
		"eval-last": "2", "eval-train": "true",
	} {
		if values[flag] != want {
			t.Errorf("--%s is %s by default, want %s", flag, values[flag], want)
		}
	}
}

// What is given on the command line reaches the method.
func TestMethodOptions(t *testing.T) {
	s := must.Get(settings.Defaults("f3ast", "code", "synthetic"))(t)
	for flag, value := range map[string]string{
		"f3ast-memoryless": "true", "f3ast-limit": "7", "f3ast-mean": "true", "f3ast-beta": "0.5",
		"fedau-cutoff": "9", "fedawe-model": "last", "fedawe-clip": "3", "prior": "20", "server-momentum": "0.25",
		"server-weight-decay": "0.125", "kappa": "2", "bias-const": "none", "ca-fed-beta": "0.75", "ca-fed-tau": "0.5",
		"fstar": "min", "losses": "batch",
	} {
		must.OK(t, s.Set(flag, value))
	}
	values := s.MethodOptions().Values
	if want := (algos.Values{
		"f3ast-memoryless": "true", "f3ast-limit": "7", "f3ast-mean": "true", "f3ast-beta": "0.5",
		"prior": "20", "server-momentum": "0.25", "server-weight-decay": "0.125",
	}); !maps.Equal(values, want) {
		t.Errorf("f3ast gets %v, want %v", values, want)
	}
	s.Method = "ca-fed"
	values = s.MethodOptions().Values
	if want := (algos.Values{
		"prior": "20", "server-momentum": "0.25", "server-weight-decay": "0.125", "kappa": "2", "bias-const": "none",
		"ca-fed-beta": "0.75", "ca-fed-tau": "0.5", "fstar": "min", "losses": "batch",
	}); !maps.Equal(values, want) {
		t.Errorf("ca-fed gets %v, want %v", values, want)
	}
}

// The target importance of the clients matters to the methods that know it, here with everybody always there.
func TestWeights(t *testing.T) {
	loss := map[string]string{}
	for _, weights := range []string{"equal", "size"} {
		out := t.TempDir()
		pass(t, small(out, "--method", "unbiased", "--p", "1", "--rounds", "1", "--weights", weights)...)
		rows := curveRows(t, out)
		loss[weights] = rows[1]["test_loss"]
	}
	if loss["equal"] == loss["size"] {
		t.Errorf("test loss %s with equal weights and by size, want two numbers", loss["size"])
	}
}

// Table 8 on a made curve: CIFAR-10's target is 60 %, and accuracy grows by 1 % every 10 rounds.
func TestRoundsToGet(t *testing.T) {
	var curve []results.CurveRow
	for round := 0; round <= 700; round += 10 {
		curve = append(curve, results.CurveRow{Round: round, TestAcc: files.Some(float64(round) / 1000)})
	}
	table8 := must.Get(papers.TableByID("fedawe-8"))(t)
	list := table8.Entries
	want := []float64{150, 300, 450, 600}
	if len(list) != len(want) {
		t.Fatalf("%d entries, want %d", len(list), len(want))
	}
	for i, e := range list {
		r := results.SummaryRow{Cell: results.Cell{Data: "cifar10"}, Metric: e.Metric}
		must.OK(t, e.Fill(&r, papers.Runs{Curves: [][]results.CurveRow{curve, curve}}, papers.Runs{}))
		if !r.Mean.Valid || r.Mean.Value != want[i] || r.N != 2 {
			t.Errorf("%s: %+v over %d seeds, want %g over 2", e.Metric, r.Mean, r.N, want[i])
		}
	}
}

// What the tables say of the papers' experiments is what their cells run, and of a row of theirs nothing is its own but
// what sets its column apart.
func TestTablesSayWhatTheyRun(t *testing.T) {
	for _, id := range papers.TableNames() {
		of := must.Get(papers.TableByID(id))(t)
		for _, preset := range of.Columns[0].Presets() {
			if of.Preset != "" && of.Preset != preset {
				continue
			}
			cells := must.Get(run.Cells(&of, &run.Wanted{Preset: preset}))(t)
			for _, c := range cells {
				r := results.SummaryRow{Cell: c.Settings.Cell(id), Params: c.Settings.Params()}
				if own := of.Own(&r).Without(c.Column.Set.Names()...); own != "" {
					t.Errorf("%s %s %s: own settings %q, want none", id, preset, r.Method, own)
				}
				for _, e := range of.Entries {
					r.Metric = e.Metric
					p, ok := results.PrintedFor(of.Printed, r)
					if values := c.Settings.Values(); ok &&
						(fmt.Sprint(p.Rounds) != values["rounds"] || fmt.Sprint(p.Clients) != values["clients"]) {
						t.Errorf("%s %s: printed of %d rounds and %d clients, runs have %s and %s",
							id, r.Method, p.Rounds, p.Clients, values["rounds"], values["clients"])
					}
				}
			}
		}
	}
}
