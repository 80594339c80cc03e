package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/bench/run"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/papers"
)

const summaryColumns = "table,method,preset,data,net,availability,clients,alpha,params,rounds,metric,n,mean,std," +
	"paper_mean,paper_std,status,error,version,engine,precision,device,numerics,revisions,data_checksum"

// Without data every cell fails, and stays a row that says why; the printed numbers are there all the same.
func TestTableWithoutData(t *testing.T) {
	out := t.TempDir()
	o := rollcall(t, "table", "fedawe-2", "--data", "cifar10", "--methods", "mifa,fedawe", "--availability", "sine",
		"--seeds", "3,4", "--rounds", "1", "--clients", "4", "--out", out)
	if o.status != statusFailure || !strings.HasSuffix(o.stderr, "rollcall: table fedawe-2: 2 of 2 cells failed\n") {
		t.Errorf("status %d, stderr %q, want 1 and 2 of 2 cells failed", o.status, o.stderr)
	}
	header, rows := table(t, contents(t, filepath.Join(out, "fedawe-2", results.SummaryFile)))
	if got := strings.Join(header, ","); got != summaryColumns {
		t.Errorf("columns:\n got %s\nwant %s", got, summaryColumns)
	}
	if len(rows) != 4 {
		t.Fatalf("%d rows, want 2 methods × 2 metrics", len(rows))
	}
	for _, row := range rows {
		if row["status"] != "failed" || row["n"] != "0" || row["mean"] != "" ||
			!strings.Contains(row["error"], "cifar10: not found") || row["paper_mean"] == "" || row["paper_std"] == "" {
			t.Errorf("row %v, want failed, why, and the printed number", row)
		}
	}
	if rows[0]["method"] != "fedawe" || rows[len(rows)-1]["method"] != "mifa" {
		t.Errorf("methods %s … %s, want the table's order", rows[0]["method"], rows[len(rows)-1]["method"])
	}
	for _, want := range []string{"fedawe", "mifa", "failed [1]", "\n[1] ", "±", "sine"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("stdout, want %q in it:\n%s", want, o.stdout)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(out, "fedawe-2", "*", "seed-*", "*")); len(found) > 0 {
		t.Errorf("left over: %q", found)
	}
}

// One cell on the real data, twice: the second time its runs are kept.
func TestTableOnCIFAR10(t *testing.T) {
	longtest.Only(t, "60,000 images are evaluated five times: a minute")
	data, out := cifar10(t), t.TempDir()
	args := []string{
		"table", "fedawe-2", "--data", "cifar10", "--methods", "fedavg-active", "--availability", "sine",
		"--seeds", "3", "--rounds", "1", "--clients", "4", "--data-dir", data, "--out", out,
	}
	o := pass(t, args...)
	_, rows := table(t, contents(t, filepath.Join(out, "fedawe-2", results.SummaryFile)))
	if len(rows) != 2 {
		t.Fatalf("%d rows, want test and train accuracy", len(rows))
	}
	for _, row := range rows {
		if row["status"] != "ok" || row["n"] != "1" || number(t, row["mean"]) <= 0 || row["std"] != "" ||
			row["error"] != "" || row["paper_mean"] == "" || row["device"] == "" || row["engine"] == "" {
			t.Errorf("row %v, want a mean of one seed beside the printed number", row)
		}
	}
	curve := only(t, out, "fedawe-2/*/seed-3/curve.csv")
	long := time.Now().Add(-time.Hour)
	must.OK(t, os.Chtimes(curve, long, long))
	again := pass(t, args...)
	info, err := os.Stat(curve)
	if err != nil || !info.ModTime().Equal(long) || again.stdout != o.stdout ||
		!strings.Contains(again.stderr, "kept") {
		t.Errorf("second time: %v, file written %v\n%s\nwant the same table from the kept run:\n%s%s",
			err, !info.ModTime().Equal(long), again.stdout, o.stdout, again.stderr)
	}

	// Interrupted before its second seed: the first one's numbers are in the row.
	ctl := interrupted(t, "seed 4: round 0/1", append(args, "--seeds", "3,4")...)
	_, rows = table(t, contents(t, filepath.Join(out, "fedawe-2", results.SummaryFile)))
	if ctl.status != statusInterrupted || len(rows) != 2 || rows[0]["status"] != "interrupted" || rows[0]["n"] != "1" {
		t.Errorf("interrupted: status %d, rows %v, want 130 and one seed's mean", ctl.status, rows)
	}
}

// The defaults that the usage of table and figure names are those of the papers' tables and figures.
func TestUsageNamesDefaults(t *testing.T) {
	columns := map[string]papers.Table{}
	for _, id := range []string{"fedawe-2", "cafed-1", "fedar-2"} {
		of := must.Get(papers.TableByID(id))(t)
		columns[id] = of
	}
	value := func(id, name string) string {
		of := columns[id]
		w := run.Wanted{Preset: of.Preset, Methods: of.Methods[:1]}
		if w.Preset == "" {
			w.Preset = "code"
		}
		cells := must.Get(run.Cells(&of, &w))(t)
		return cells[0].Settings.Values()[name]
	}
	flags := (&app{io.Discard, io.Discard}).tableCommand().Flags()
	for flag, want := range map[string]string{
		"rounds": fmt.Sprintf("fedawe's %s, cafed-1 %s; fedar's %s, which",
			value("fedawe-2", "rounds"), value("cafed-1", "rounds"), value("fedar-2", "rounds")),
		"clients": fmt.Sprintf("fedawe's and fedar's %s, cafed-1 %s)",
			value("fedawe-2", "clients"), value("cafed-1", "clients")),
		"eval-every": fmt.Sprintf("fedawe's %s, and %s among the last %d; cafed-1 %s, fedar's %s)",
			value("fedawe-2", "eval-every"), value("fedawe-2", "eval-last"), results.ProtocolRounds,
			value("cafed-1", "eval-every"), value("fedar-2", "eval-every")),
	} {
		if got := flags.Lookup(flag).Usage; !strings.Contains(got, want) {
			t.Errorf("--%s: %q, want %q in it", flag, got, want)
		}
	}
	seeds := strings.Trim(strings.ReplaceAll(fmt.Sprint(columns["fedawe-2"].Seeds), " ", ","), "[]")
	for id, of := range columns {
		if !slices.Equal(of.Seeds, columns["fedawe-2"].Seeds) || !strings.Contains(flags.Lookup("seeds").Usage, seeds) {
			t.Errorf("%s: seeds %v, the usage says %q", id, of.Seeds, flags.Lookup("seeds").Usage)
		}
	}
	if fedar, fedawe := value("fedar-2", "clients"), value("fedawe-2", "clients"); fedar != fedawe {
		t.Errorf("%s and %s clients, the usage has one number for both", fedar, fedawe)
	}
	figures := (&app{io.Discard, io.Discard}).figureCommand().Flags()
	for _, f := range papers.Figures() {
		data := ""
		switch of := f.Measure.(type) {
		case papers.ClassShares:
			data = "of " + f.ID + " and -f5 the one whose split is shown (default " + of.Data + ")"
		case papers.BaseAvailability:
			data = "and " + strings.TrimPrefix(f.ID, "fedawe") + " the one whose split is shown (default " +
				of.Data + ")"
		}
		if got := figures.Lookup("data").Usage; !strings.Contains(got, data) {
			t.Errorf("--data: %q, want %q in it", got, data)
		}
		for _, o := range f.Options {
			own := figures.Lookup(o.Name)
			if own == nil || own.Usage != f.ID+": "+o.Help || own.DefValue != fmt.Sprint(o.Default) {
				t.Errorf("--%s of %s: %+v, want the option's usage and default %v", o.Name, f.ID, own, o.Default)
			}
		}
	}
}
