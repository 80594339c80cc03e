package e2e

import (
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/algos"
	"rollcall/bench/settings"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/results"
)

// Huge and odd numbers on every flag of a run that takes one: refused as usage errors, or a run that verifies.
func TestOddNumbers(t *testing.T) {
	out := t.TempDir()
	odd := func(more ...string) []string {
		line := smallRun(out, "--method", "mifa", "--data", "binary", "--rounds", "1")
		return append(line, more...)
	}
	values := []string{
		"99999999999999999999", "9223372036854775807", "2147483648", "1e308", "-1", "NaN", "Inf", "-0", "5e-324",
		"0x10", "1_0",
	}
	for _, row := range settings.Rows() {
		if row.Kind == algos.Word || row.Kind == algos.Switch {
			continue
		}
		for _, value := range values {
			o := rollcall(t, odd("--"+row.Name+"="+value)...)
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
		oneLineError(t, rollcall(t, odd("--availability", "trace", "--trace", path)...),
			statusUsage, "--trace")
	}
}

// schema1 writes a run as programs before schema 2 did, without what holds it to its names. Its rows are of round 0
// and of the last one.
func schema1(t *testing.T, out, name, method, last string) *damaged {
	t.Helper()
	d := &damaged{T: t, out: out, dir: filepath.Join(out, name, "x", "seed-3")}
	cell := results.Setup{
		Table: name, Method: method, Preset: "code", Data: "svhn", Net: "cnn-svhn", Availability: "sine", Clients: 100,
	}
	d.check(results.WriteCurve(d.path(results.CurveFile), []results.CurveRow{
		{Setup: cell, Seed: 3},
		{Setup: cell, Seed: 3, Round: 1},
	}))
	both(put(allRounds, "alpha", "0.1"), put(allRounds, "test_acc", "0.5"), file(results.RunFile,
		`{"status":"complete","rounds":`+last+`,"settings":{},"settings_hash":"`+results.Hash(map[string]any{})+
			`","seed":3}`))(d)
	if last != "1" {
		put(1, "round", last)(d)
	}
	return d
}

// What is not the name of a method, a data set or a table gets nowhere: not into a page, a file's name, or a CSV that a
// spreadsheet opens. Runs of schema 1 have nothing else that holds them to their names.
func TestHostileNames(t *testing.T) {
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
			put(allRounds, column, name)(schema1(t, out, "old", "mifa", "1"))
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

// Numbers that no setting and no mean has are named with their line by whoever reads them, and crash nobody: NaN is
// equal to nothing, not even to itself, and so finds no cell.
func TestHostileNumbers(t *testing.T) {
	for column, value := range map[string]string{"alpha": "nan", "clients": "-4"} {
		out := t.TempDir()
		put(allRounds, column, value)(schema1(t, out, "old", "mifa", "1"))
		for _, line := range []string{
			"results list OUT", "results verify OUT", "results curves OUT", "results diff OUT OUT",
			"results merge OUT --out OUT-into", "report OUT --to OUT/page",
		} {
			o := rollcall(t, strings.Fields(strings.ReplaceAll(line, "OUT", out))...)
			if o.status != statusFailure || !strings.Contains(o.stderr, "line 2: "+column) {
				t.Errorf("%s %s: %s: status %d, %q, want 1 and the line", column, value, line, o.status, o.stderr)
			}
		}
	}
	source := t.TempDir()
	pass(t, smallSweep(source, "--methods", "mifa")...)
	text := contents(t, filepath.Join(source, "sweep", results.SummaryFile))
	rows := must.Get(csv.NewReader(strings.NewReader(text)).ReadAll())(t)
	for column, values := range map[string][]string{
		"alpha": {"nan", "-1", "0"}, "mean": {"nan", "inf", "-inf"}, "std": {"-0.1", "nan"}, "n": {"-3"},
		"clients": {"-9223372036854775808"}, "rounds": {"-1"}, "version": {"a\n\nb"}, "numerics": {"a\nb"}, "": {""},
	} {
		for _, value := range values {
			out := t.TempDir()
			other := slices.Concat(rows[:1], [][]string{slices.Clone(rows[1])})
			if i := slices.Index(rows[0], column); i >= 0 {
				other[1][i] = value
			} else {
				other = append(other, other[1]) // the same number twice
			}
			path := filepath.Join(out, "sweep", results.SummaryFile)
			must.OK(t, os.Mkdir(filepath.Dir(path), 0o777))
			f := must.Get(os.Create(path))(t)
			must.OK(t, errors.Join(csv.NewWriter(f).WriteAll(other), f.Close()))
			for _, line := range []string{"results export sweep OUT", "report OUT --to OUT/page"} {
				o := rollcall(t, strings.Fields(strings.ReplaceAll(line, "OUT", out))...)
				if column == "" && strings.HasPrefix(line, "report") { // which reads many, and the same number in two
					continue
				}
				if o.status != statusFailure || !strings.Contains(o.stderr, path+": ") {
					t.Errorf("%s %q: %s: status %d, %q, want 1 and the file", column, value, line, o.status, o.stderr)
				}
			}
		}
	}
}

// A run whose settings are of no process has no place among the paths of a page, which has all the rest.
func TestReportOfOddProcesses(t *testing.T) {
	out := t.TempDir()
	pass(t, smallRun(out, "--availability", "sine", "--p", "0.9")...)
	info := only(t, out, runPath)
	text := contents(t, info)
	period := regexp.MustCompile(`"period": \d+`)
	for _, value := range []string{"0", "1.5", `"x"`, "-3"} {
		must.OK(t, os.WriteFile(info, []byte(period.ReplaceAllString(text, `"period": `+value)), 0o666))
		to := t.TempDir()
		o := rollcall(t, "report", out, "--to", to)
		if page := contents(t, filepath.Join(to, "index.html")); o.status != statusFailure ||
			!strings.Contains(o.stderr, info) || !strings.Contains(page, "mifa") {
			t.Errorf("period %s: status %d, %q, want 1, the run named and a page", value, o.status, o.stderr)
		}
	}
}

// Rounds that no run has are looked at as fast as others, wherever a round is counted up to: in the tables' own metrics
// too.
func TestHugeRounds(t *testing.T) {
	for round, status := range map[string]int{
		"2147483647": statusOK, "9223372036854775807": statusFailure, "-1": statusFailure,
	} {
		out := filepath.Join(t.TempDir(), "out")
		schema1(t, out, "fedawe-8", "fedawe", round)
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
func TestHostileNamesInSummary(t *testing.T) {
	top := t.TempDir()
	out, to := filepath.Join(top, "out"), filepath.Join(top, "page")
	pass(t, smallSweep(out, "--methods", "fedawe")...)
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
