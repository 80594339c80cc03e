package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rollcall/bench/run"
	"rollcall/datasets"
	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
	"rollcall/internal/must"
)

// dumpOf runs one round with --dump and returns the folder.
func dumpOf(t *testing.T, more ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "dump")
	pass(t, small(t.TempDir(), append([]string{
		"--method", "fedavg-active", "--rounds", "1", "--train-size", "100", "--local-steps", "3", "--dump", dir,
	}, more...)...)...)
	return dir
}

// array reads one array of a dump and checks its shape.
func array[T files.Element](t *testing.T, dir, name string, want ...int) []T {
	t.Helper()
	shape, data := must.Get2(filestest.ReadNPY[T](filepath.Join(dir, name+".npy")))(t)
	if !slices.Equal(shape, want) {
		t.Fatalf("%s: shape %v, want %v", name, shape, want)
	}
	return data
}

func readNames(t *testing.T, dir string) (names run.DumpNames, parameters int) {
	t.Helper()
	must.OK(t, json.Unmarshal([]byte(contents(t, filepath.Join(dir, "names.json"))), &names))
	for _, p := range names.Params {
		size := 1
		for _, d := range p.Shape {
			size *= d
		}
		parameters += size
	}
	return names, parameters
}

func TestDump(t *testing.T) {
	const N, E, B, samples, seed = 6, 3, 8, 100, 3
	dir := dumpOf(t)
	names, P := readNames(t, dir)
	if names.Net != "lenet5" || names.LocalSteps != E || names.Batch != B || names.Clip != nil ||
		names.Seed != seed || len(names.Mean) != 3 || names.Params[0].Name != "conv1.weight" ||
		!strings.HasPrefix(names.Engine, "cpu-") || names.Precision != "fp32" {
		t.Errorf("names.json: %+v", names)
	}

	shape, clients := must.Get2(filestest.ReadNPY[int32](filepath.Join(dir, "clients.npy")))(t)
	K := len(clients)
	if len(shape) != 1 || K < 2 || !slices.IsSorted(clients) || clients[0] < 0 || clients[K-1] >= N {
		t.Fatalf("clients %v, want at least 2 of 0 … %d, ascending", clients, N-1)
	}
	if want := activeClients(t, "--clients", "6", "--train-size", "100", "--kind", "stationary",
		"--rounds", "1")[0]; !slices.Equal(clients, want) {
		t.Errorf("clients %v, the availability command says %v", clients, want)
	}

	options := datasets.Options{Seed: seed, TrainSize: samples, TestSize: 1}
	set := must.Get(datasets.Open(t.Context(), "synthetic", options))(t)
	split := must.Get(datasets.Cut(set.Train, nil, datasets.SplitOptions{
		Kind: datasets.SplitClients, Clients: N, Alpha: 0.1,
	}, seed))(t)
	index := array[int32](t, dir, "index", K, E, B)
	for k, client := range clients {
		own := split.Train[client]
		for e := range E {
			step := index[(k*E+e)*B:][:B]
			n := len(step)
			for n > 0 && step[n-1] == -1 {
				n--
			}
			// A client with fewer than B samples has one batch of all of them; with none it would not be active.
			if want := min(B, len(own)); n != want {
				t.Errorf("client %d step %d: %d samples before the padding, want %d", client, e, n, want)
			}
			for b, i := range step[:n] {
				if !slices.Contains(own, i) || slices.Contains(step[:b], i) {
					t.Errorf("client %d step %d: samples %v, want different ones of its own", client, e, step)
				}
			}
		}
	}

	crop := array[int32](t, dir, "crop", K, E, B, 2)
	if low, high := slices.Min(crop), slices.Max(crop); low < 0 || high > 8 || low == high {
		t.Errorf("crop from %d to %d, want different values within 0 … 8", low, high)
	}
	// The synthetic classes are not symmetric, so that set is never mirrored.
	if flip := array[uint8](t, dir, "flip", K, E, B); slices.Max(flip) != 0 {
		t.Errorf("flip %v, want none for synthetic", flip)
	}
	if lr := array[float32](t, dir, "lr"); lr[0] != 0.05 {
		t.Errorf("lr %v, want fedavg-active's 0.05", lr)
	}

	w0, w1, server := array[float32](t, dir, "w0", P), array[float32](t, dir, "w1", K, P),
		array[float32](t, dir, "w_server", P)
	worst, moved := 0.0, 0.0
	for i := range P {
		sum := 0.0
		for k := range K {
			sum += float64(w1[k*P+i]) - float64(w0[i])
		}
		worst = max(worst, math.Abs(float64(w0[i])+sum/float64(K)-float64(server[i])))
		moved = max(moved, math.Abs(sum/float64(K)))
	}
	// Weights are below 2 and summed in float32 with K+1 roundings of at most 2⁻²⁴·2 each.
	if tolerance := float64(K+1) * 2 * math.Pow(2, -24); moved == 0 || worst > tolerance {
		t.Errorf("w_server is %g from w0 + mean(w1 − w0), which is up to %g from w0; want a move, and %g at most",
			worst, moved, tolerance)
	}
}

// A dump says in which precision the engine multiplied: a replay has to round as it did.
func TestDumpPrecision(t *testing.T) {
	for _, precision := range []string{"fp32", "bf16", "bf16x3"} {
		if names, _ := readNames(t, dumpOf(t, "--precision", precision)); names.Precision != precision ||
			!strings.HasPrefix(names.Engine, "cpu-") {
			t.Errorf("--precision %s: names.json has %s, %s", precision, names.Engine, names.Precision)
		}
	}
}

// Masks keep 0.8 of the elements; five standard errors allow one run in two million to fail.
func TestDumpDropout(t *testing.T) {
	dir := dumpOf(t, "--net", "cnn-cinic10")
	names, _ := readNames(t, dir)
	_, clients, err := filestest.ReadNPY[int32](filepath.Join(dir, "clients.npy"))
	if err != nil || len(names.Dropout) != 3 {
		t.Fatalf("%v, dropout layers %+v, want 3", err, names.Dropout)
	}
	for i, features := range []int{2048, 512, 256} {
		mask := array[uint8](t, dir, "dropout_"+names.Dropout[i].Name, len(clients), 3, 8, features)
		kept := 0
		for _, m := range mask {
			if m > 1 {
				t.Fatalf("%s: mask %d, want 0 or 1", names.Dropout[i].Name, m)
			}
			kept += int(m)
		}
		share, tolerance := float64(kept)/float64(len(mask)), 5*math.Sqrt(0.8*0.2/float64(len(mask)))
		if math.Abs(share-0.8) > tolerance {
			t.Errorf("%s: %.4f kept, want 0.8 ± %.4f", names.Dropout[i].Name, share, tolerance)
		}
	}
}

// A dump that breaks off is no dump: the names go first and come back last.
func TestDumpIncomplete(t *testing.T) {
	dir := dumpOf(t)
	must.OK(t, os.Remove(filepath.Join(dir, "lr.npy")))
	if err := os.Mkdir(filepath.Join(dir, "lr.npy"), 0o777); err != nil { // nothing can be renamed over a folder
		t.Fatal(err)
	}
	o := rollcall(t, small(t.TempDir(), "--rounds", "1", "--dump", dir)...)
	if _, err := os.Stat(filepath.Join(dir, "names.json")); o.status != statusFailure || err == nil {
		t.Errorf("status %d, names.json %v, want 1 and none\n%s", o.status, err, o.stderr)
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(fmt.Errorf("%q: %w", text, err))
	}
	return v
}

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
