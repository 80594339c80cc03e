package report

import (
	"slices"
	"testing"

	"rollcall/results"
	"rollcall/results/plot"
)

// Measurements of two precisions, or of two variants of one precision, are two lines, never one history.
func TestSpeedByPrecision(t *testing.T) {
	row := results.BenchRow{
		Data: "cifar10", Net: "cnn-cifar10", Engine: "cpu-avx512", Precision: "fp32", Threads: 2, ClientStepsPerSec: 1,
	}
	var rows []results.BenchRow
	for i, of := range [][2]string{
		{"cpu-avx512", "fp32"},
		{"cpu-avx512", "bf16"},
		{"cpu-avx512", "fp32"},
		{"cpu-amx", "bf16"},
		{"cpu-avx512", "bf16x3"},
		{"cpu-avx512", "bf16"},
	} {
		row.Engine, row.Precision, row.ClientStepsPerSec = of[0], of[1], float64(i)
		rows = append(rows, row)
	}
	b := builder{Input: Input{Bench: rows}}
	b.speed()
	lines, ok := b.figures[0].drawn.Panels[0][0].(plot.LineChart)
	if !ok || len(b.figures) != 1 {
		t.Fatalf("%d figures, want one of lines", len(b.figures))
	}
	got := map[string][]float64{}
	for _, s := range lines.Series {
		got[s.Name] = s.Y
	}
	for name, want := range map[string][]float64{
		"cpu-avx512 fp32": {0, 2}, "cpu-avx512 bf16": {1, 5}, "cpu-amx bf16": {3}, "cpu-avx512 bf16x3": {4},
	} {
		if y := got["cifar10 cnn-cifar10, "+name+", 2 threads"]; !slices.Equal(y, want) {
			t.Errorf("%s: %v, want %v; all lines are %v", name, y, want, got)
		}
	}
	if len(got) != 4 {
		t.Errorf("%d lines, want 4: %v", len(got), got)
	}
}
