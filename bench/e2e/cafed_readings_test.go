package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
)

// In single runs CA-Fed's methods have no momentum, FedAWE's clipping or crops in any preset, equal importance, and
// PyTorch's weights; the run says which reading it is of.
func TestCAFedRunsAlone(t *testing.T) {
	for _, preset := range []string{"", "code-no-momentum", "paper"} {
		out := t.TempDir()
		args := []string{
			"run", "--method", "more-available", "--data", "synthetic", "--net", "lenet5", "--availability", "markov",
			"--clients", "4", "--train-size", "40", "--test-size", "10", "--rounds", "1", "--batch", "8", "--out", out,
		}
		want := "code-no-momentum"
		if preset != "" {
			args, want = append(args, "--preset", preset), preset
		}
		pass(t, args...)
		var info struct {
			Settings map[string]any `json:"settings"`
		}
		must.OK(t, json.Unmarshal([]byte(contents(t, only(t, out, runPath))), &info))
		rows := curveRows(t, out)
		if rows[0]["preset"] != want {
			t.Errorf("preset %q: curve says %s, want %s", preset, rows[0]["preset"], want)
		}
		for name, value := range map[string]string{
			"momentum": "0", "server-momentum": "0", "clip": "none", "augment": "none", "weights": "equal",
			"init": "torch", "lr": "0.03", "server-lr": "3", "preset": want,
		} {
			if got := fmt.Sprint(info.Settings[name]); got != value {
				t.Errorf("preset %q: %s %s, want %s", preset, name, got, value)
			}
		}
	}
}

// LEAF by availability: 4 of 8 clients are more available, so s = 7000/44 = 159.09, and 1590 and 159 samples, of which
// nine tenths are for training: 1431 and 143. The importance by size says so.
func TestLEAFByAvailability(t *testing.T) {
	for _, preset := range []string{"code-no-momentum", "paper"} {
		out := t.TempDir()
		pass(t, "run", "--method", "unbiased", "--preset", preset, "--data", "leaf", "--leaf-augmentation",
			"--leaf-iid", "--weights", "size", "--availability", "markov", "--clients", "8", "--rounds", "1",
			"--decisions", "--out", out)
		decisions := must.Get(results.ReadDecisions(only(t, out, "run/*/seed-*/"+results.DecisionsFile)))(t)
		more := 0
		for _, d := range decisions {
			want := 143. / (4 * (1431 + 143))
			if d.Pi > 0.5 {
				want = 1431. / (4 * (1431 + 143))
				more++
			}
			if math.Abs(d.Target-want) > 1e-9 { // decisions.csv has ten digits or more
				t.Errorf("%s: client %d of π %g: importance %g, want %g", preset, d.Client, d.Pi, d.Target, want)
			}
		}
		if more != 4 || len(decisions) != 8 {
			t.Errorf("%s: %d of %d clients more available, want 4 of 8", preset, more, len(decisions))
		}
	}
}

// With --classes drawn the number of more available clients differs from seed to seed, without it it is half.
func TestDrawnClasses(t *testing.T) {
	counts := func(more ...string) (list []int) {
		for _, seed := range []string{"1", "2", "3", "4"} {
			out := t.TempDir()
			pass(t, append([]string{
				"run", "--method", "ca-fed", "--data", "binary", "--availability", "markov", "--clients", "20",
				"--rounds", "1", "--decisions", "--seed", seed, "--out", out,
			}, more...)...)
			decisions := must.Get(results.ReadDecisions(only(t, out, "run/*/seed-*/"+results.DecisionsFile)))(t)
			n := 0
			for _, d := range decisions {
				if d.Pi > 0.5 {
					n++
				}
			}
			list = append(list, n)
		}
		return list
	}
	if got := counts(); !slices.Equal(got, []int{10, 10, 10, 10}) {
		t.Errorf("%v more available of 20, want half for every seed", got)
	}
	if got := counts("--classes", "drawn"); len(slices.Compact(slices.Sorted(slices.Values(got)))) < 2 {
		t.Errorf("%v more available of 20 for four seeds, want different numbers", got)
	}
}
