package e2e

import (
	"path/filepath"
	"testing"

	"rollcall/bench/run"
	"rollcall/datasets"
	"rollcall/internal/files/filestest"
	"rollcall/internal/must"
)

// A dump of data that the suite makes holds what the plan reads: features and labels of every place, zeros in padding.
func TestDumpFeatures(t *testing.T) {
	const clients, E, batch, seed = 6, 3, 64, 3 // batches of more than the 50 samples of a client
	dir := filepath.Join(t.TempDir(), "dump")
	pass(t, "run", "--method", "fedavg-active", "--data", "binary", "--preset", "code", "--clients", "6",
		"--p", "1", "--rounds", "1", "--local-steps", "3", "--batch", "64", "--local-epochs", "none", "--lr", "0.1",
		"--out", t.TempDir(), "--dump", dir)
	set := must.Get(datasets.Open(t.Context(), "binary", datasets.Options{
		Seed: seed, Clients: clients, Reading: datasets.ReadCode,
	}))(t)
	index := array[int32](t, dir, "index", clients, E, batch)
	x, y := array[float32](t, dir, "x", clients, E, batch, 10), array[uint8](t, dir, "y", clients, E, batch)
	padding := 0
	for at, i := range index {
		for j := range 10 {
			want := float32(0)
			if i >= 0 {
				want = set.Train.Features[int(i)*10+j]
			}
			if x[at*10+j] != want {
				t.Fatalf("place %d, sample %d: feature %d is %g, want %g", at, i, j, x[at*10+j], want)
			}
		}
		switch {
		case i < 0 && y[at] == 0:
			padding++
		case i < 0 || y[at] != set.Train.Labels[i]:
			t.Fatalf("place %d, sample %d: label %d", at, i, y[at])
		}
	}
	if want := clients * E * (batch - 50); padding != want {
		t.Errorf("%d places of padding, want %d", padding, want)
	}
	var names run.DumpNames
	if names, _ = readNames(t, dir); names.Net != "linear-binary" || names.Mean != nil {
		t.Errorf("names.json: net %s, mean %v, want linear-binary and none", names.Net, names.Mean)
	}
	if _, _, err := filestest.ReadNPY[float32](filepath.Join(dir, "w1.npy")); err != nil {
		t.Error(err)
	}
}
