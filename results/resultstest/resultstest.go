// Package resultstest makes small runs for the tests of packages that read them.
package resultstest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/metrics"
)

// Accuracies returns a curve with these test accuracies in rounds 0, 1, ….
func Accuracies(x ...float64) (rows []results.CurveRow) {
	for round, v := range x {
		rows = append(rows, results.CurveRow{Round: round, TestAcc: files.Some(v)})
	}
	return rows
}

// Decisions are two rounds of two clients: weights 1 and 0, then 0.5 and 2; client 1 was excluded once when it was
// there.
func Decisions() []results.DecisionRow {
	return []results.DecisionRow{
		{Round: 1, Client: 0, Active: 1, Included: 1, Weight: 1, Pi: 0.1, Lambda: 0.9, Target: 0.25},
		{Round: 1, Client: 1, Active: 1, Included: 0, Weight: 0, Pi: 0.9, Lambda: 0.01, Target: 0.75},
		{Round: 2, Client: 0, Active: 1, Included: 1, Weight: 0.5, Pi: 0.1, Lambda: 0.9, Target: 0.25},
		{Round: 2, Client: 1, Active: 1, Included: 1, Weight: 2, Pi: 0.9, Lambda: 0.01, Target: 0.75},
	}
}

// SineRow is what of a row of ours [results.PrintedFor] looks at.
func SineRow(method, data string, alpha float64, params results.Params, m metrics.Metric) results.SummaryRow {
	return results.SummaryRow{Cell: results.Cell{
		Method: method, Data: data, Availability: "sine",
		Alpha: files.Some(alpha),
	}, Params: params, Metric: m}
}

// Run says what [writeRun] writes.
type Run struct {
	Table, Method string
	Seed          uint32
	Acc           []float64 // test accuracy of round 0, 1, …
	Params        results.Params
	Version       string
	Status        results.RunStatus // none: no run.json
	Checksum      string
}

// WriteRun writes a run's folder below out, and returns it.
func WriteRun(t *testing.T, out string, r Run) string {
	t.Helper()
	cell := results.Cell{
		Table: r.Table, Method: r.Method, Preset: "code", Data: "cifar10", Net: "cnn-cifar10",
		Availability: "sine", Clients: 100, Alpha: files.Some(0.1),
	}
	settings := map[string]any{"method": r.Method, "params": r.Params}
	dir := filepath.Join(out, r.Table, r.Method+"_cifar10_sine_"+results.Hash(settings), fmt.Sprintf("seed-%d", r.Seed))
	var rows []results.CurveRow
	for i, acc := range r.Acc {
		rows = append(rows, results.CurveRow{
			Cell: cell, Seed: r.Seed, Round: i, TestAcc: files.Some(acc),
			TrainAcc: files.Some(acc / 2), Params: r.Params, Version: r.Version, Engine: "cpu-avx2", Precision: "fp32",
		})
	}
	if err := results.WriteCurve(filepath.Join(dir, results.CurveFile), rows); err != nil {
		t.Fatal(err)
	}
	if r.Status != "" {
		info := results.RunInfo{
			Status: r.Status, Rounds: len(r.Acc) - 1, Settings: settings, Seed: r.Seed,
			DataChecksum: "sha256:" + r.Checksum, Device: "a machine",
		}
		if err := results.WriteRunInfo(filepath.Join(dir, results.RunFile), info); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// MustHold checks that errors are as many as parts, and each holds its part.
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
