// Package resultstest writes small runs for the tests of packages that read runs.
package resultstest

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/track"
)

// Accuracies returns a curve with the given test accuracies in rounds 0, 1, ….
func Accuracies(x ...float64) (rows []results.CurveRow) {
	for round, v := range x {
		rows = append(rows, results.CurveRow{Round: round, TestAcc: files.Some(v)})
	}
	return rows
}

// Decisions returns two rounds of two clients, with weights 1 and 0 in round 1, and 0.5 and 2 in round 2. Client 1 was
// available in round 1 but excluded.
func Decisions() []results.DecisionRow {
	return []results.DecisionRow{
		{Round: 1, Client: 0, Active: 1, Included: 1, Weight: 1, Pi: 0.1, Lambda: 0.9, Target: 0.25},
		{Round: 1, Client: 1, Active: 1, Included: 0, Weight: 0, Pi: 0.9, Lambda: 0.01, Target: 0.75},
		{Round: 2, Client: 0, Active: 1, Included: 1, Weight: 0.5, Pi: 0.1, Lambda: 0.9, Target: 0.25},
		{Round: 2, Client: 1, Active: 1, Included: 1, Weight: 2, Pi: 0.9, Lambda: 0.01, Target: 0.75},
	}
}

// SineRow returns a row of ours under sine availability, with the fields that [results.PrintedFor] looks at.
func SineRow(method, data string, alpha float64, params results.Params, m metrics.Metric) results.SummaryRow {
	return results.SummaryRow{Setup: results.Setup{
		Method: method, Data: data, Availability: "sine", Alpha: files.Some(alpha),
	}, Params: params, Metric: m}
}

// Row returns a row of ours under a data set and an availability: a mean over n seeds, with a spread of 0.01 if there
// are several. What makes an experiment the paper's is as in FedAWE's tables.
func Row(table, method, data, availability string, m metrics.Metric, mean float64, n int) results.SummaryRow {
	r := results.SummaryRow{Setup: results.Setup{
		Table: table, Method: method, Preset: "code", Data: data, Net: "cnn-" + data, Availability: availability,
		Clients: 100, Alpha: files.Some(0.1),
	}, Rounds: 2000, Metric: m, N: n, Mean: files.Some(mean), Status: results.CellOK}
	if n > 1 {
		r.Std = files.Some(0.01)
	}
	return r
}

// AsPrinted returns a row of ours that has the paper's number, from the paper's experiment.
func AsPrinted(p results.Printed) results.SummaryRow {
	r := Row(p.Table, p.Method, p.Data, p.Availability, p.Metric, 0, p.N)
	r.Params, r.Rounds, r.Clients, r.Alpha, r.Mean, r.Std = p.Params, p.Rounds, p.Clients, p.Alpha, p.Mean, p.Std
	r.Paper(p)
	return r
}

// SmallRun describes the run that [WriteRun] writes.
type SmallRun struct {
	Table, Method string
	Seed          uint32
	Acc           []float64 // test accuracy of round 0, 1, …
	Rounds        int       // planned; 0: as many as Acc has
	Params        results.Params
	Version       string
	Status        results.RunStatus // empty: the run has no run.json
	Checksum      string
	Numerics      string // empty: cpu-fp32
	Revisions     results.Revisions
}

// Complete describes a complete run.
func Complete(table, method string, seed uint32, acc ...float64) SmallRun {
	return SmallRun{Table: table, Method: method, Seed: seed, Acc: acc, Status: results.RunComplete}
}

// Runs returns runs as they are read back from their files; those without a table are single runs.
func Runs(t *testing.T, list ...SmallRun) []results.Run {
	t.Helper()
	out := t.TempDir()
	for _, r := range list {
		r.Table = cmp.Or(r.Table, "run")
		WriteRun(t, out, r)
	}
	runs, bad := must.Get2(results.FindRuns(t.Context(), out))(t)
	MustHold(t, bad)
	return runs
}

// WriteRun writes the folder of a run below out, and returns the path of the folder.
func WriteRun(t *testing.T, out string, r SmallRun) string {
	t.Helper()
	cell := results.Setup{
		Table: r.Table, Method: r.Method, Preset: "code", Data: "cifar10", Net: "cnn-cifar10",
		Availability: "sine", Clients: 100, Alpha: files.Some(0.1),
	}
	var rows []results.CurveRow
	for i, acc := range r.Acc {
		rows = append(rows, results.CurveRow{
			Setup: cell, Seed: r.Seed, Round: i, TestAcc: files.Some(acc), TrainLoss: files.Some(1 - acc),
			TrainAcc: files.Some(acc / 2), Params: r.Params, Version: r.Version, Engine: "cpu-avx2", Precision: "fp32",
		})
	}
	info := results.RunInfo{
		Status: r.Status, DataChecksum: results.OfFiles(r.Checksum), Device: "a machine",
		Numerics: cmp.Or(r.Numerics, "cpu-fp32"), Revisions: r.Revisions,
	}
	return WriteCurve(t, out, rows, cmp.Or(r.Rounds, len(r.Acc)-1), info)
}

// WriteCurve writes the folder of a run with the given rows and number of planned rounds, and returns the path of the
// folder. run.json takes settings, seed, rounds, version, engine and precision from the rows. An info without a status
// writes no run.json.
func WriteCurve(t testing.TB, out string, rows []results.CurveRow, rounds int, info results.RunInfo) string {
	t.Helper()
	first, last := rows[0], rows[len(rows)-1]
	settings := map[string]any{
		"method": first.Method, "preset": first.Preset, "data": first.Data, "net": first.Net,
		"availability": first.Availability, "clients": first.Clients, "alpha": first.Alpha.Value, "rounds": rounds,
		"eval-every": max(1, rows[min(1, len(rows)-1)].Round), "eval-last": "none", "eval-train": first.TrainLoss.Valid,
		"period": 20, "gamma": 0.3, "cutoff": 0.1, "low": 0.4,
	}
	for name, value := range first.Params.All() {
		settings[name] = value
	}
	info.Settings, info.Seed, info.Rounds, info.Data = settings, first.Seed, last.Round, first.Data
	info.Version, info.Engine, info.Precision = first.Version, first.Engine, first.Precision
	// The folder is named after the settings, as checkFolder of package results demands.
	dir := filepath.Join(out, first.Table, results.CellFolder(first.Setup, results.Hash(settings)),
		fmt.Sprintf("seed-%d", first.Seed))
	if err := results.WriteCurve(filepath.Join(dir, results.CurveFile), rows); err != nil {
		t.Fatal(err)
	}
	if info.Status != "" {
		Sign(t, dir, info)
	}
	return dir
}

// Sign writes run.json again, with checksums of all files of a run that are there now.
func Sign(t testing.TB, dir string, info results.RunInfo) {
	t.Helper()
	if err := results.WriteRunInfo(filepath.Join(dir, results.RunFile), info, Beside(t, dir)); err != nil {
		t.Fatal(err)
	}
}

// Beside returns the names of the files of a run that are in its folder besides the curve and run.json.
func Beside(t testing.TB, dir string) (names []string) {
	t.Helper()
	names, err := results.ModelFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{results.DecisionsFile, results.ClientsFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			names = append(names, name)
		}
	}
	return names
}

// MustHold fails the test unless there are as many errors as parts, and each error contains its part.
func MustHold(t *testing.T, bad []error, parts ...string) {
	t.Helper()
	if len(bad) != len(parts) {
		t.Errorf("%d complaints %v, want %d", len(bad), bad, len(parts))
		return
	}
	for i, part := range parts {
		if !strings.Contains(bad[i].Error(), part) {
			t.Errorf("complaint %q, want %q in it", bad[i], part)
		}
	}
}

// Nights puts so many nights with ten samples of about 100 ms each in a history, the last ones slower by a factor.
func Nights(t *testing.T, dir string, m track.Machine, nights, slow int, factor float64) {
	t.Helper()
	w := must.Get(track.NewWriter(dir))(t)
	defer w.Close()
	begin := time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC)
	for night := range nights {
		ms := 100 + float64(night*7%11)/10
		if night >= nights-slow {
			ms *= factor
		}
		v := track.Measurement{Metric: "round/cifar10", Unit: "ms"}
		for i := range 10 {
			v.Wall = append(v.Wall, ms*(1+float64(i%7)/1000))
		}
		at := begin.AddDate(0, 0, night)
		must.OK(t, w.Append(m, track.Night{
			Run: track.RunName(at), Time: at, Version: "v1", Go: "go1.26", Values: []track.Measurement{v},
		}))
	}
}
