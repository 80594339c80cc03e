package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
)

// One CSV holds all rows of all runs that are whole, with the settings of each run.
func TestResultsCurves(t *testing.T) {
	out := t.TempDir()
	pass(t, small(out, "--method", "fedawe")...)
	pass(t, small(out, "--method", "mifa")...)
	curves := func(status int, folders ...string) (header []string, rows []map[string]string) {
		t.Helper()
		o := rollcall(t, append([]string{"results", "curves"}, folders...)...)
		if o.status != status {
			t.Fatalf("status %d, want %d\n%s", o.status, status, o.stderr)
		}
		return table(t, o.stdout)
	}
	header, rows := curves(statusOK, out)
	of, _ := table(t, contents(t, only(t, out, "run/mifa_*/seed-3/curve.csv")))
	settings := header[min(len(header), len(of)+2):]
	if want := append(of, "status", "folder"); !slices.Equal(header[:len(header)-len(settings)], want) {
		t.Errorf("columns %q, want first %q", header, want)
	}
	if unique := slices.Compact(slices.Sorted(slices.Values(header))); len(unique) != len(header) {
		t.Errorf("columns %q, want each once", header)
	}
	if len(rows) != 6 {
		t.Fatalf("%d rows, want 2 runs of rounds 0, 1 and 2", len(rows))
	}
	for name, want := range map[string][2]string{ // of fedawe and mifa
		"method": {"fedawe", "mifa"}, "round": {"2", "2"}, "seed": {"3", "3"}, "status": {"complete", "complete"},
		"batch": {"8", "8"}, "eval-train": {"true", "true"}, "eval-last": {"none", "none"},
		"fedawe-model": {"mean", ""}, "settings.lr": {"0.1", "0.05"},
	} {
		if got := [2]string{rows[2][name], rows[5][name]}; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if folder := rows[5]["folder"]; folder != filepath.Dir(only(t, out, "run/mifa_*/seed-3/curve.csv")) {
		t.Errorf("folder %q, want the run's", folder)
	}
	t.Run("unfinished", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "out")
		must.OK(t, os.CopyFS(dir, os.DirFS(out)))
		must.OK(t, os.Remove(only(t, dir, "run/mifa_*/seed-3/run.json")))
		_, rows := curves(statusOK, dir)
		if r := rows[5]; len(rows) != 6 || r["status"] != "unfinished" || r["batch"] != "" ||
			!strings.Contains(r["params"], "batch=8") {
			t.Errorf("%d rows, the last %v, want 6, unfinished, without settings", len(rows), r)
		}
	})
	t.Run("empty", func(t *testing.T) {
		if header, rows := curves(statusOK, t.TempDir()); !slices.Equal(header, append(of, "status", "folder")) ||
			rows != nil {
			t.Errorf("columns %q, rows %v, want those of every run, and no row", header, rows)
		}
	})
	none := filepath.Join(out, "none")
	oneLineError(t, rollcall(t, "results", "curves", none), statusFailure, none, "no such file")
}

// foreign makes of every run below from a run of a method that this program does not know, as a program with that
// method leaves it, in the same tables below into.
func foreign(t *testing.T, from, into string) {
	t.Helper()
	runs, _ := must.Get2(results.FindRuns(t.Context(), from))(t)
	for _, r := range runs {
		for i := range r.Curve {
			row := &r.Curve[i]
			row.Method, row.Params = "fedaum", "fedaum-beta=0.3;"+row.Params
		}
		info := *r.Info
		settings := info.Settings.(map[string]any)
		settings["method"], settings["fedaum-beta"], settings["method-sha256"] = "fedaum", "0.3", "12345e67"
		cell := results.CellFolder(r.Curve[0].Setup, results.Hash(settings))
		dir := filepath.Join(into, r.Table, cell, filepath.Base(r.Dir))
		must.OK(t, results.WriteCurve(filepath.Join(dir, results.CurveFile), r.Curve))
		must.OK(t, results.WriteRunInfo(filepath.Join(dir, results.RunFile), info, nil))
	}
}

// Reading results needs no method: runs of a method that this program lacks are read as any others.
func TestResultsOfUnknownMethod(t *testing.T) {
	from, out, into := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "into")
	writeTinyData(t, from)
	t.Setenv("ROLLCALL_DATA", filepath.Join(from, "data"))
	const (
		tiny    = " --methods fedavg-active --availability sine --rounds 3 --clients 4 --device cpu --out "
		leaf    = "sweep --data leaf --eval-every 1 --seeds 3,4" + tiny
		crossed = "sweep --data leaf --eval-every 1 --name crossed --crossed 5" + tiny
		paper   = "table fedawe-2 --data svhn --allow-altered --seeds 3,4" + tiny
	)
	for _, line := range []string{leaf, crossed, paper} {
		pass(t, strings.Fields(line+from)...)
	}
	foreign(t, from, out)
	cell := filepath.Dir(filepath.Dir(only(t, out, "sweep/fedaum_*/seed-3/curve.csv")))
	for _, c := range []struct{ line, want string }{ // in their order
		{"results list " + out, "fedaum"},
		{"results list --failed " + out, ""},
		{"results show " + cell, "fedaum-beta"},
		{"results curves " + out, "fedaum-beta"},
		{"results verify " + out, "29 runs: 29 complete"},
		{"results diff " + out + " " + out, "fedaum"},
		{"results diff " + out + "/sweep " + from + "/sweep --ignore method,params", "1 rows"},
		{"results power " + out + "/crossed", "fedaum"},
		{"results merge " + out + " " + from + " --out " + into, "58 runs copied"},
		{"results summarise sweep " + into + "/sweep", "4 runs"},
		{"results export sweep " + into, "| fedaum fedaum-beta=0.3 |"},
		{"results export fedawe-2 --printed " + into, "| fedaum fedaum-beta=0.3 |"},
		{"results compare fedawe-2 " + into, "fedaum"},
		{"report " + into + " --to " + into + "/report", "58 runs"},
		{leaf + into, "fedavg-active"}, // keeps what is there, and summarises all of it
		{paper + into, "fedavg-active"},
	} {
		o := rollcall(t, strings.Fields(c.line)...)
		if o.status != statusOK || !strings.Contains(o.stdout, c.want) {
			t.Errorf("rollcall %s: status %d\n%s%s\nwant status 0, %q", c.line, o.status, o.stdout, o.stderr, c.want)
		}
	}
	for _, table := range []string{"sweep", "fedawe-2"} {
		if text := contents(t, filepath.Join(into, table, results.SummaryFile)); !strings.Contains(text, ",fedaum,") {
			t.Errorf("summary of %s\n%s\nwant fedaum in it", table, text)
		}
	}
}
