package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/algos"
	"rollcall/results"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares text with a file in testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if want := contents(t, path); text != want {
		t.Errorf("%s: got\n%s\nwant\n%s", path, text, want)
	}
}

// What a run says of its clients: everybody has a row in every round, the absent and the excluded have no weight,
// unbiased's is α/π, and the activity is that of the availability command.
func TestDecisions(t *testing.T) {
	out := t.TempDir()
	run := func(method string, more ...string) []results.DecisionRow {
		must(t, small(out, append([]string{
			"--method", method, "--availability", "markov", "--rounds", "5", "--weights", "equal", "--decisions",
		}, more...)...)...)
		rows, err := results.ReadDecisions(only(t, out, "run/"+method+"_*/seed-3/"+results.DecisionsFile))
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	_, trace := table(t,
		must(t, "availability", "--kind", "markov", "--clients", "6", "--rounds", "5", "--train-size", "300").stdout)
	for _, method := range []string{"unbiased", "ca-fed"} {
		rows := run(method)
		if len(rows) != 30 {
			t.Fatalf("%s: %d rows, want six clients in five rounds", method, len(rows))
		}
		for i, r := range rows {
			if r.Round != i/6+1 || r.Client != i%6 || r.Active != int(number(t, trace[i]["active"])) ||
				r.Target != 1./6 {
				t.Errorf("%s: row %d: %+v, want round %d, client %d, activity %s, α 1/6",
					method, i, r, i/6+1, i%6, trace[i]["active"])
			}
			want := 0.0
			if r.Active == 1 && r.Included == 1 {
				want = 1. / 6 / r.Pi // the same division: exact
			}
			if r.Weight != want || method == "unbiased" && r.Included != 1 {
				t.Errorf("%s: round %d client %d: weight %g, included %d, want %g and unbiased to include everybody",
					method, r.Round, r.Client, r.Weight, r.Included, want)
			}
		}
	}
	// A finished run without the file runs again when it is asked for.
	other := t.TempDir()
	args := small(other, "--method", "adafed", "--availability", "markov")
	must(t, args...)
	if o := must(t, append(args, "--decisions")...); strings.Contains(o.stdout, "kept") {
		t.Errorf("stdout %q, want the run anew", o.stdout)
	}
	if o := must(t, append(args, "--decisions")...); !strings.Contains(o.stdout, "kept") {
		t.Errorf("stdout %q, want the run kept", o.stdout)
	}
}

// The loss of ca-fed's clients can be of samples nobody trains on, their own test samples or those kept back; F* can be
// solved.
func TestHeldOutAndSolved(t *testing.T) {
	for name, args := range map[string][]string{
		"test":       {"--data", "binary", "--clients", "4"},
		"validation": {"--data", "binary", "--clients", "4", "--validation", "0.2"},
		"exact": {
			"--data", "binary", "--clients", "4", "--preset", "paper", "--fstar", "solved", "--losses", "held-out",
		},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			must(t, append([]string{
				"run", "--method", "ca-fed", "--availability", "markov", "--rounds", "3", "--lr", "0.1",
				"--server-lr", "0.1", "--out", out,
			}, args...)...)
			info, err := results.ReadRunInfo(only(t, out, runPath))
			if err != nil {
				t.Fatal(err)
			}
			recorded := info.Settings.(map[string]any)
			if recorded["fstar"] != "solved" || recorded["losses"] != algos.LossesHeldOut {
				t.Errorf("fstar %v, losses %v, want solved and held-out", recorded["fstar"], recorded["losses"])
			}
		})
	}
}

// Whole passes: clients take as many steps as their samples make batches.
func TestLocalEpochs(t *testing.T) {
	loss := map[string]string{}
	for _, epochs := range []string{"1", "2"} {
		out := t.TempDir()
		must(t, "run", "--data", "synthetic", "--train-size", "120", "--test-size", "50", "--clients", "3",
			"--rounds", "1", "--batch", "16", "--local-epochs", epochs, "--p", "1", "--out", out)
		_, rows := table(t, contents(t, only(t, out, curvePath)))
		loss[epochs] = rows[1]["test_loss"]
	}
	if loss["1"] == loss["2"] {
		t.Errorf("test loss %s after one pass and after two, want two numbers", loss["1"])
	}
}
