package e2e

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Every other method of a folder is compared with a baseline, whatever its learning rates and its own parameters, cell
// by cell, in the order in which the sweep was asked for.
func TestDiffBaseline(t *testing.T) {
	top := t.TempDir()
	sweep := func(name, more string) string {
		out := filepath.Join(top, name)
		pass(t, smallSweep(out, strings.Fields(more)...)...)
		return out
	}
	out := sweep("out", "--methods mifa,fedau,fedawe --availability sine,stationary --seeds 1,2,3 "+
		"--rates fedau=0.2/1 --fedau-cutoff 7")
	_, rows := table(t, pass(t, "results", "diff", out, "--baseline", "fedau", "--format", "csv").stdout)
	var got []string
	for _, r := range rows {
		got = append(got, r["availability"]+" "+r["method"])
		p, err := strconv.ParseFloat(r["p"], 64)
		holm, wrong := strconv.ParseFloat(r["p_holm"], 64)
		if r["n"] != "3" || r["baseline"] != "fedau" || err != nil || wrong != nil || holm < p {
			t.Errorf("%v, want 3 pairs, and a p-value and a corrected one that is no smaller", r)
		}
	}
	if want := "sine mifa, sine fedawe, stationary mifa, stationary fedawe"; strings.Join(got, ", ") != want {
		t.Errorf("rows of %s, want %s", strings.Join(got, ", "), want)
	}

	// The same difference as of two folders, of which one has the baseline.
	cells := func(method string) string { return only(t, out, "sweep/"+method+"_leaf_sine_*") }
	_, pair := table(t, pass(t, "results", "diff", cells("fedau"), cells("mifa"), "--ignore", "method,params",
		"--format", "csv").stdout)
	for _, column := range []string{"difference", "std", "low", "high"} {
		if pair[0][column] != rows[0][column] {
			t.Errorf("%s: %s, of two folders %s", column, rows[0][column], pair[0][column])
		}
	}

	// A second setting of the baseline has to be named, and is then compared as well.
	pass(t, smallSweep(out, strings.Fields("--methods fedau --availability sine --seeds 1,2,3")...)...)
	oneLineError(t, rollcall(t, "results", "diff", out, "--baseline", "fedau"), statusFailure, `2 in leaf, sine`,
		`"fedau fedau-cutoff=50 lr=0.05", "fedau fedau-cutoff=7 lr=0.2", want one of these`)
	text := pass(t, "results", "diff", out, "--baseline", "fedau lr=0.20", "--metric", "last50,rounds_to_1").stdout
	for _, want := range []string{
		"\nleaf, sine: test_acc\n", "\nmifa ", "\nfedau ", "\nfedawe ", "\nleaf, stationary: rounds_to_acc_1\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nwant %q", text, want)
		}
	}
	_, tables, _ := strings.Cut(text, "\n\n") // below what the metrics are
	for line := range strings.Lines(tables) {
		if n := len([]rune(line)); n > 101 {
			t.Errorf("line of %d characters, want at most 100: %s", n-1, line)
		}
	}
	one := sweep("one", "--methods mifa,fedau --availability sine --seeds 1")
	other := sweep("other", "--methods mifa --availability sine --seeds 1,2")
	if text := pass(t, "results", "diff", one, "--baseline", "fedau").stdout; !strings.Contains(text, "one seed") {
		t.Errorf("%s\nwant no verdict of one seed", text)
	}
	for line, parts := range map[string][]string{
		one + " --baseline fedx":                    {"did you mean fedau", "want one of fedau, mifa"},
		one + " --baseline fedau --ignore method":   {"--ignore method: of no use with --baseline"},
		one + " " + other + " --baseline fedau":     {"2 folders named, want one with --baseline"},
		one:                                         {"1 folders named, want two, or one with --baseline"},
		one + " --baseline fedau --metric accuracy": {"--metric"},
	} {
		oneLineError(t, rollcall(t, strings.Fields("results diff "+line)...), statusUsage, parts...)
	}
	const alone = "has these settings and a partner"
	oneLineError(t, rollcall(t, "results", "diff", other, "--baseline", "mifa"), statusFailure, alone)
	oneLineError(t, rollcall(t, "results", "diff", one, "--baseline", "fedau lr=9"), statusFailure, alone)
}
