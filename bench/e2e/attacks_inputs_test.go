//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollcall/algos"
	"rollcall/bench/cli"
	"rollcall/bench/settings"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/results"
)

// Huge and odd numbers on every flag of a run that takes one: refused as usage errors, or a run that verifies.
func TestAttackNumbers(t *testing.T) {
	out := t.TempDir()
	values := []string{
		"99999999999999999999", "9223372036854775807", "2147483648", "1e308", "-1", "NaN", "Inf", "-0", "5e-324",
		"0x10", "1_0",
	}
	if testing.Short() { // which is for the race detector
		values = values[:2]
	}
	for _, row := range settings.Rows() {
		if row.Kind == algos.Word || row.Kind == algos.Switch {
			continue
		}
		for _, value := range values {
			o := rollcall(t, append(attackRun(out), "--"+row.Name+"="+value)...)
			lines := strings.Split(strings.TrimSpace(o.stderr), "\n")
			last := lines[len(lines)-1]
			switch {
			case o.status == statusUsage && len(lines) == 1 && strings.Contains(last, row.Name):
			case o.status == statusFailure && strings.HasPrefix(last, "rollcall: ") && !strings.Contains(last, "panic"):
			case o.status == statusOK:
			default:
				t.Errorf("--%s=%s: status %d, %q, want one line that names the flag, a failure or a run",
					row.Name, value, o.status, o.stderr)
			}
		}
	}
	if o := rollcall(t, "results", "verify", out); o.status != statusOK {
		t.Errorf("verify: %s", o.stderr)
	}
	for _, path := range []string{"a;lr=7", "a\nb"} { // which would be settings of their own in params
		oneLineError(t, rollcall(t, append(attackRun(out), "--availability", "trace", "--trace", path)...),
			statusUsage, "--trace")
	}
}

// attackRun are the arguments of a run of some milliseconds.
func attackRun(out string) []string {
	return strings.Fields("run --method mifa --data binary --clients 4 --rounds 1 --local-steps 1 --batch 2 " +
		"--device cpu --threads 1 --out " + out)
}

// What is not the name of a method, a data set or a table gets nowhere: not into a page, a file's name, or a CSV that a
// spreadsheet opens. Runs of schema 1 have nothing else that holds them to their names.
func TestAttackNames(t *testing.T) {
	for i, name := range []string{
		"=cmd|' /C calc'!A0", "+1+1", "@SUM(1)", "-2", "<script>alert(1)</script>", "../../../PWN", "/etc/passwd",
		`a\b`, "a\x00b", "a\nb", "a|b", "$(x)", `a}\input{x}`, ".hidden", "\ufeffa", "a\u202eb",
	} {
		for _, column := range []string{
			"table", "method", "preset", "data", "net", "availability", "engine", "precision", "version", "params",
		} {
			if i > 0 && column != "method" && !longtest.On() {
				continue
			}
			top := t.TempDir()
			out := filepath.Join(top, "a/b/out")
			c := &corrupt{t: t, out: out, dir: filepath.Join(out, "old/x/seed-3")}
			cell := results.Experiment{
				Table: "old", Method: "mifa", Preset: "code", Data: "leaf", Net: "n", Availability: "sine", Clients: 4,
			}
			c.check(results.WriteCurve(c.path(results.CurveFile), []results.CurveRow{
				{Experiment: cell, Seed: 3},
				{Experiment: cell, Seed: 3, Round: 1},
			}))
			c.put(-1, "test_acc", "0.5")
			c.put(-1, column, name)
			c.check(os.WriteFile(c.path(results.RunFile),
				[]byte(`{"status":"complete","rounds":1,"settings":{},"settings_hash":"`+
					results.Hash(map[string]any{})+`","seed":3}`), 0o666))
			before := filesBelow(t, top)
			for _, args := range [][]string{
				{"results", "list", out},
				{"results", "list", "--format", "csv", out},
				{"results", "verify", out},
				{"results", "merge", out, "--out", filepath.Join(top, "a/b/into")},
				{"results", "diff", out, out},
			} {
				o := rollcall(t, args...)
				if o.status != statusFailure || strings.Contains(o.stdout, name) ||
					!strings.Contains(o.stderr, column) {
					t.Errorf("%s %q: %s: status %d, stdout %q, stderr %q, want 1, the column named and no row",
						column, name, args[1], o.status, o.stdout, o.stderr)
				}
			}
			if after := filesBelow(t, top); len(after) != len(before) {
				t.Errorf("%s %q: wrote %q", column, name, after)
			}
		}
	}
}

// Rounds that no run has are looked at as fast as others, wherever a round is counted up to: in the tables' own metrics
// too.
func TestAttackHugeRounds(t *testing.T) {
	for round, status := range map[string]int{
		"2147483647": statusOK, "9223372036854775807": statusFailure, "-1": statusFailure,
	} {
		out := filepath.Join(t.TempDir(), "out")
		c := &corrupt{t: t, out: out, dir: filepath.Join(out, "fedawe-8/x/seed-3")}
		cell := results.Experiment{
			Table: "fedawe-8", Method: "fedawe", Preset: "code", Data: "svhn", Net: "cnn-svhn",
			Availability: "sine", Clients: 100,
		}
		rows := []results.CurveRow{
			{Experiment: cell, Seed: 3},
			{Experiment: cell, Seed: 3, Round: 10},
			{Experiment: cell, Seed: 3, Round: 20},
		}
		c.check(results.WriteCurve(c.path(results.CurveFile), rows))
		c.put(-1, "alpha", "0.1")
		c.put(-1, "test_acc", "0.5")
		c.put(2, "round", round)
		c.check(os.WriteFile(c.path(results.RunFile), []byte(`{"status":"complete","rounds":`+round+
			`,"settings":{},"settings_hash":"`+results.Hash(map[string]any{})+`","seed":3}`), 0o666))
		for _, line := range []string{
			"results list OUT", "results compare fedawe-8 OUT", "results export fedawe-8 OUT",
			"report OUT --to OUT/page", "results diff OUT OUT",
		} {
			began := time.Now()
			o := rollcall(t, strings.Fields(strings.ReplaceAll(line, "OUT", out))...)
			// a loop over them takes minutes, or years
			if took := time.Since(began); o.status != status || took > 20*time.Second {
				t.Errorf("round %s: %s: status %d after %v, want %d\n%s", round, line, o.status, took, status, o.stderr)
			}
		}
	}
}

// Names that are none in a summary without runs are named by report, and in none of what it writes; its page escapes
// them.
func TestAttackNamesInSummary(t *testing.T) {
	top := t.TempDir()
	out, to := filepath.Join(top, "out"), filepath.Join(top, "page")
	pass(t, attackSweep(out, "--methods", "fedawe")...)
	path := filepath.Join(out, "sweep", results.SummaryFile)
	text := contents(t, path)
	for _, name := range []string{"=cmd", "<script>alert(1)</script>", "../../PWN"} {
		must.OK(t, os.MkdirAll(filepath.Join(out, "other"), 0o777))
		hostile := strings.ReplaceAll(text, ",fedawe,", ","+name+",")
		must.OK(t, os.WriteFile(filepath.Join(out, "other", results.SummaryFile), []byte(hostile), 0o666))
		o := rollcall(t, "report", out, "--to", to)
		if o.status != statusFailure || !strings.Contains(o.stderr, "want a name") {
			t.Errorf("%s: status %d, %q, want 1 and the name", name, o.status, o.stderr)
		}
		for _, path := range filesBelow(t, top) {
			if !strings.HasPrefix(path, to) && !strings.HasPrefix(path, out) {
				t.Errorf("%s: %s is outside", name, path)
			}
		}
		if page := contents(t, filepath.Join(to, "index.html")); strings.Contains(page, "<script>alert") {
			t.Errorf("%s: in the page as it is", name)
		}
	}
}

// The order of lists, the number of threads and of runs at once change no number.
func TestAttackOrder(t *testing.T) {
	tree := func(more ...string) map[string]string {
		out := t.TempDir()
		pass(t, attackSweep(out, more...)...)
		files := timelessTree(t, out)
		delete(files, "sweep/"+results.SummaryFile) // whose rows come in the order that was asked for
		return files
	}
	want := tree("--methods", "fedawe,mifa,fedvarp", "--availability", "sine,uniform", "--seeds", "3,4")
	for _, line := range []string{
		"--methods fedvarp,mifa,fedawe --availability uniform,sine --seeds 4,3",
		"--methods fedawe,mifa,fedvarp --availability sine,uniform --seeds 3,4 --pack 4 --threads 2",
		"--methods mifa,fedvarp,fedawe --availability uniform,sine --seeds 4,3 --pack 3 --threads 3",
	} {
		sameTree(t, line, tree(strings.Fields(line)...), want)
	}
}

// removeAll removes a folder into which a process writes meanwhile: what is written between the listing and the removal
// of a folder makes os.RemoveAll fail.
func removeAll(dir string) (err error) {
	for range 100 {
		if err = os.RemoveAll(dir); err == nil {
			break
		}
	}
	return err
}

// An output folder that goes away in the middle, or whose place something else takes, ends in an error or in all files.
func TestAttackVanished(t *testing.T) {
	longtest.Only(t, "an output folder that vanishes at many moments")
	top := t.TempDir()
	for name, spoil := range map[string]func(out string) error{
		"removed": removeAll,
		"a file in its place": func(out string) error {
			if err := removeAll(out); err != nil {
				return err
			}
			return os.WriteFile(out, nil, 0o666)
		},
		"a link to nowhere in its place": func(out string) error {
			if err := removeAll(out); err != nil {
				return err
			}
			return os.Symlink(filepath.Join(top, "nowhere"), out)
		},
	} {
		out := filepath.Join(top, strings.Fields(name)[0]+"out")
		stderr := &trigger{text: "round 2/4", do: func() {
			if err := spoil(out); err != nil {
				t.Error(err)
			}
		}}
		var stdout strings.Builder
		status := cli.Run(t.Context(), attackSweep(out, "--methods", "fedawe", "--seeds", "3,4"), &stdout, stderr)
		if status == statusOK {
			pass(t, "results", "verify", out)
			if n := len(filesBelow(t, out)); n < 5 {
				t.Errorf("%s: status 0 and %d files, want two runs and a summary\n%s", name, n, stderr.String())
			}
		} else if status != statusFailure || !strings.Contains(stderr.String(), out) {
			t.Errorf("%s: status %d, want 1 and the folder in\n%s", name, status, stderr.String())
		}
	}
}

// A finished run of another version is kept, which is said in a line; versions differ, and numbers do not.
func TestAttackOtherVersion(t *testing.T) {
	out := t.TempDir()
	pass(t, attackRun(out)...)
	c := (&corrupt{t: t, out: out}).of("run/mifa_*/seed-3")
	c.put(-1, "version", "v0.1")
	c.set("version", "v0.1")
	c.forge()
	if o := pass(t, attackRun(out)...); !strings.Contains(o.stdout, "kept") ||
		!strings.Contains(o.stderr, "finished runs of rollcall v0.1 are kept") {
		t.Errorf("stdout %q, stderr %q, want the run kept and its version named", o.stdout, o.stderr)
	}
}
