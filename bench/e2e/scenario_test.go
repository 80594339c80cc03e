package e2e

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/bench/run"
	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
	"rollcall/internal/must"
)

// exported exports a scenario and returns its folder and what scenario.json says.
func exported(t *testing.T, flags ...string) (dir string, info run.ScenarioJSON) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "scenario")
	pass(t, append([]string{"scenario", "export", dir}, flags...)...)
	// The settings are read as a map: only the writer has them as such.
	var read struct {
		run.ScenarioJSON
		Settings map[string]any `json:"settings"`
	}
	must.OK(t, json.Unmarshal([]byte(contents(t, filepath.Join(dir, run.ScenarioInfo))), &read))
	return dir, read.ScenarioJSON
}

// member reads one array of a scenario and checks its shape.
func member[T files.Element](t *testing.T, dir, file, name string, want ...int) []T {
	t.Helper()
	shape, data := must.Get2(filestest.ReadNPZ[T](filepath.Join(dir, file+".npz"), name))(t)
	if want != nil && !slices.Equal(shape, want) {
		t.Fatalf("%s: %s: shape %v, want %v", file, name, shape, want)
	}
	return data
}

// A scenario has the trace that `rollcall availability` writes, digit by digit.
func TestScenarioAvailability(t *testing.T) {
	const N, T = 12, 25
	trace := filepath.Join(t.TempDir(), "trace.csv")
	must.OK(t, os.WriteFile(trace, []byte("client,start,end\n0,0,20\n3,5,25\n11,1,2\n"), 0o666))
	for name, flags := range map[string]string{
		"sine":            "--availability sine --data synthetic --train-size 200 --alpha 0.3",
		"numpy":           "--availability staircase --data synthetic --train-size 200 --draws numpy",
		"markov":          "--availability markov --data leaf --seed 9",
		"own seeds":       "--availability markov-q --data leaf --seed-split 4 --seed-availability 8",
		"outages":         "--data synthetic --train-size 200 --outages 0.2:0.5:3 --population arrival:0:0.5",
		"clients without": "--data synthetic --train-size 20 --p 0.5",
		"trace":           "--availability trace --data leaf --trace " + trace,
	} {
		t.Run(name, func(t *testing.T) {
			line := fmt.Sprintf("%s --preset code --clients %d --rounds %d", flags, N, T)
			dir, _ := exported(t, strings.Fields(line)...)
			csv := filepath.Join(t.TempDir(), "trace.csv")
			pass(t, strings.Fields("availability --csv "+csv+" "+line)...)
			active := member[bool](t, dir, "scenario", "active", T, N)
			probability := member[float64](t, dir, "scenario", "probability", T, N)
			constant := map[string][]float64{}
			for _, name := range []string{"p", "pi", "lambda"} {
				constant[name] = member[float64](t, dir, "scenario", name, N)
			}
			_, rows := table(t, contents(t, csv))
			there := 0
			for at, row := range rows {
				is := row["active"] == "1"
				if is {
					there++
				}
				if active[at] != is || probability[at] != number(t, row["probability"]) {
					t.Fatalf("round %s, client %s: %t with probability %g, want %s with %s", row["round"],
						row["client"], active[at], probability[at], row["active"], row["probability"])
				}
				for name, values := range constant {
					if values[at%N] != number(t, row[name]) {
						t.Fatalf("client %s: %s %g, want %s", row["client"], name, values[at%N], row[name])
					}
				}
			}
			if len(rows) != T*N || there == 0 || there == T*N {
				t.Errorf("%d rows with %d active, want %d, and some of them: the test is of nothing", len(rows), there,
					T*N)
			}
		})
	}
}

// A scenario has the initial weights, rates, clients, batches and samples of a run's dump and curve.
func TestScenarioRun(t *testing.T) {
	for name, flags := range map[string]string{
		"images": "--data synthetic --net lenet5 --train-size 150 --test-size 20 --augment sample " +
			"--lr-schedule constant",
		"norm":  "--data synthetic --net resnet20 --train-size 40 --test-size 20 --init torch",
		"leaf":  "--data leaf --preset code --local-epochs none",
		"swaps": "--data svhn --data-dir data --allow-altered --swap-pairs 1",
	} {
		t.Run(name, func(t *testing.T) {
			if name == "swaps" {
				data := t.TempDir()
				writeTinyData(t, data)
				flags = strings.Replace(flags, "data --allow", filepath.Join(data, "data")+" --allow", 1)
			}
			line := strings.Fields(flags + " --method fedavg-active --availability sine --clients 6 --batch 8 " +
				"--local-steps 3 --seed 5")
			dir, info := exported(t, append(line, "--rounds", "4", "--batches")...)
			out, dump := t.TempDir(), filepath.Join(t.TempDir(), "dump")
			line = append(line, "--device", "cpu", "--out")
			pass(t, append([]string{"run", "--rounds", "1", "--dump", dump}, append(line, out)...)...)

			names, P := readNames(t, dump)
			w0 := array[float32](t, dump, "w0", P)
			var weights []float32
			for _, p := range names.Params {
				weights = append(weights, member[float32](t, dir, "weights", p.Name, p.Shape...)...)
			}
			if !slices.Equal(weights, w0) {
				t.Error("weights.npz and w0 of the dump differ")
			}
			_, active := must.Get2(filestest.ReadNPY[int32](filepath.Join(dump, "clients.npy")))(t)
			K := len(active)
			first := member[int64](t, dir, "batches", "round_offsets", 5)
			if got := member[int32](t, dir, "batches", "client")[:first[1]]; !slices.Equal(got, active) || K == 0 {
				t.Fatalf("entries of round 0: clients %d, the dump has %d", got, active)
			}
			if got := member[int64](t, dir, "batches", "step_offsets")[:K+1]; got[1] != 3 || got[K] != int64(3*K) {
				t.Errorf("steps %d, want three for each client", got)
			}
			index := array[int32](t, dump, "index", K, 3, 8)
			if got := member[int32](t, dir, "batches", "index")[:len(index)]; !slices.Equal(got, index) {
				t.Errorf("index %d, the dump has %d", got, index)
			}
			for at, c := range array[int32](t, dump, "crop", K, 3, 8, 2) {
				if got := member[uint8](t, dir, "batches", "crop")[at]; int32(got) != c {
					t.Fatalf("crop %d: %d, the dump has %d", at, got, c)
				}
			}
			flips := member[uint8](t, dir, "batches", "flip")[:len(index)]
			if want := array[uint8](t, dump, "flip", K, 3, 8); !slices.Equal(flips, want) {
				t.Errorf("flip %d, the dump has %d", flips, want)
			}
			train, offsets := member[int32](t, dir, "scenario", "train_index"),
				member[int64](t, dir, "scenario", "train_offsets", 7)
			for at, i := range index {
				client := active[at/(3*8)]
				if own := train[offsets[client]:offsets[client+1]]; i >= 0 && !slices.Contains(own, i) {
					t.Fatalf("client %d holds samples %d, the dump has its sample %d", client, own, i)
				}
			}
			if name == "leaf" { // whose samples a dump has
				const size = 60
				x, y := array[float32](t, dump, "x", K, 3, 8, size), array[uint8](t, dump, "y", K, 3, 8)
				own, labels := member[float32](t, dir, "data", "x"), member[uint8](t, dir, "data", "y")
				for at, i := range index {
					if i >= 0 && (!slices.Equal(x[at*size:][:size], own[int(i)*size:][:size]) || y[at] != labels[i]) {
						t.Fatalf("sample %d is another in the dump", i)
					}
				}
			}
			if info.ServerLR != names.ServerLR || info.Momentum != names.Momentum || info.WeightDecay != names.Decay ||
				info.Clip != nil || names.Clip != nil { // fedavg-active clips only if it is told to
				t.Errorf("scenario.json %+v, the dump has %+v", info, names)
			}

			// The other rounds: rates and how many are active.
			out = t.TempDir()
			pass(t, append([]string{"run", "--rounds", "4", "--eval-every", "1"}, append(line, out)...)...)
			lr, there := member[float64](t, dir, "scenario", "lr", 4), member[bool](t, dir, "scenario", "active", 4, 6)
			for round, row := range curveRows(t, out)[1:] {
				n := 0
				for _, is := range there[round*6:][:6] {
					if is {
						n++
					}
				}
				if lr[round] != number(t, row["lr"]) || fmt.Sprint(n) != row["active"] {
					t.Errorf("round %d: rate %g, %d active, the run has %s, %s", round, lr[round], n, row["lr"],
						row["active"])
				}
			}
			var of struct {
				DataChecksum string `json:"data_checksum"`
			}
			must.OK(t, json.Unmarshal([]byte(contents(t, only(t, out, runPath))), &of))
			if info.DataChecksum != of.DataChecksum {
				t.Errorf("data %s, the run has %s", info.DataChecksum, of.DataChecksum)
			}
		})
	}
}

// tinyScenario are the flags of the scenario of docs/scenario.md, smaller.
const tinyScenario = "--method fedavg-active --data synthetic --net lenet5 --availability sine --train-size 300 " +
	"--test-size 50 --clients 10 --batch 16 --local-steps 1 --clip 2 "

// The command of scenario.json writes the same bytes, and the checksums are those of the files.
func TestScenarioSameBytes(t *testing.T) {
	dir, info := exported(t, strings.Fields(tinyScenario+
		"--rounds 5 --hold-out 0.1 --batches --with-data --seed 11")...)
	again := filepath.Join(t.TempDir(), "again")
	line := strings.Replace(strings.TrimPrefix(info.Command, "rollcall "), " DIR ", " "+again+" ", 1)
	pass(t, strings.Fields(line)...)
	for _, f := range info.Files {
		for _, of := range []string{dir, again} {
			raw := must.Get(os.ReadFile(filepath.Join(of, f.Name)))(t)
			if sum := fmt.Sprintf("%x", sha256.Sum256(raw)); sum != f.SHA256 {
				t.Errorf("%s: SHA-256 %s, the first scenario.json has %s", filepath.Join(of, f.Name), sum, f.SHA256)
			}
		}
	}
	if contents(t, filepath.Join(dir, run.ScenarioInfo)) != contents(t, filepath.Join(again, run.ScenarioInfo)) {
		t.Errorf("%s: another scenario.json", info.Command)
	}
	for _, of := range []string{dir, again} {
		if names := filestest.FileNames(t, of); names != "batches.npz data.npz scenario.json scenario.npz weights.npz" {
			t.Errorf("%s: files %s", of, names)
		}
	}
}

// docs/scenario.md has every array of every scenario, with its axes and type, and no other.
func TestScenarioDocs(t *testing.T) {
	text := contents(t, "../../docs/scenario.md")
	listed := map[string]string{} // axes and type, by name
	for line := range strings.Lines(text) {
		cells := strings.Split(line, " | ")
		if len(cells) != 4 || !strings.HasPrefix(cells[0], "| `") || !strings.HasPrefix(cells[1], "[") {
			continue
		}
		axes, types := strings.Split(cells[1], ", "), strings.Split(cells[2], ", ")
		for i, name := range strings.Split(strings.TrimPrefix(cells[0], "| "), ", ") {
			listed[strings.Trim(name, "`")] = axes[min(i, len(axes)-1)] + " " + types[min(i, len(types)-1)]
		}
	}
	types := map[string]string{
		"<f4": "float32", "<f8": "float64", "<i4": "int32", "<i8": "int64", "|u1": "uint8", "|b1": "bool",
	}
	met := map[string]bool{}
	for _, flags := range []string{
		tinyScenario + "--batches --validation 0.2 --hold-out 0.1 --rounds 3",
		"--data leaf --preset code --rounds 3 --clients 4",
		"--data leaf --preset code --rounds 3 --clients 4 --hold-out 0.1",
		"--data synthetic --train-size 400 --test-size 100 --split two-class --clients 5 --rounds 3",
	} {
		_, info := exported(t, strings.Fields(flags)...)
		for _, f := range info.Files {
			for _, a := range f.Arrays {
				if f.Name == "weights.npz" {
					continue
				}
				met[a.Name] = true
				got := a.Axes + " " + types[a.Type]
				if a.Type == "<f4" && strings.HasPrefix(a.Name, "x") {
					got = a.Axes + " uint8" // the page says that it may be float32
				}
				if want := listed[a.Name]; got != want {
					t.Errorf("%s: %s is %s, the page says %q", flags, a.Name, got, want)
				}
			}
		}
	}
	for name := range listed {
		if !met[name] {
			t.Errorf("%s of the page is in no scenario", name)
		}
	}
}

// pythonBlocks returns the programs of a page.
func pythonBlocks(t *testing.T, page string) (blocks []string) {
	t.Helper()
	for i, part := range strings.Split(contents(t, "../../docs/"+page), "```") {
		if program, is := strings.CutPrefix(part, "python\n"); is && i%2 == 1 {
			blocks = append(blocks, program)
		}
	}
	return blocks
}

// NumPy reads every array as scenario.json describes it, and the program of the page prints who is active.
func TestScenarioNumPy(t *testing.T) {
	interpreter := needsPython(t)
	dir, info := exported(t, strings.Fields(tinyScenario+"--rounds 4 --batches")...)
	const describe = `
import json, sys
import numpy as np
for f in json.load(open(sys.argv[1] + "/scenario.json"))["files"]:
    z = np.load(sys.argv[1] + "/" + f["name"])
    for name in z.files:
        print(f["name"], name, z[name].dtype.str, list(z[name].shape))
`
	var want strings.Builder
	for _, f := range info.Files {
		for _, a := range f.Arrays {
			shape := strings.ReplaceAll(fmt.Sprint(a.Shape), " ", ", ")
			fmt.Fprintf(&want, "%s %s %s %s\n", f.Name, a.Name, a.Type, shape)
		}
	}
	if got := python3(t, interpreter, describe, dir); got != want.String() {
		t.Errorf("NumPy reads\n%s\nscenario.json says\n%s", got, want.String())
	}

	program := strings.ReplaceAll(pythonBlocks(t, "scenario.md")[0], "tiny/", dir+"/")
	var lines strings.Builder
	offsets := member[int64](t, dir, "scenario", "train_offsets", 11)
	probability := member[float64](t, dir, "scenario", "probability", 4, 10)
	lr := member[float64](t, dir, "scenario", "lr", 4)
	for at, is := range member[bool](t, dir, "scenario", "active", 4, 10) {
		if i := at % 10; is {
			fmt.Fprintf(&lines, "%d %d %d %v %v\n", at/10, i, offsets[i+1]-offsets[i], probability[at], lr[at/10])
		}
	}
	if got := python3(t, interpreter, program); got != lines.String() || got == "" {
		t.Errorf("the program of the page prints\n%s\nwant\n%s", got, lines.String())
	}
}

// python3 runs a program in Python and returns what it prints.
func python3(t *testing.T, interpreter, program string, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), interpreter, append([]string{"-c", program}, args...)...)
	cmd.Stderr = &stderr
	printed, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	return string(printed)
}

// The page's program in PyTorch makes the round that a run with the same flags makes: two float32 programs agree to
// 1e-6 of the largest update after one step, and 2e-5 leaves room for sums of other orders.
func TestScenarioPyTorch(t *testing.T) {
	interpreter := needsPython(t)
	if text, err := exec.Command(interpreter, "-c", "import torch").CombinedOutput(); err != nil {
		t.Skipf("left out: no PyTorch in %s: %s", interpreter, text)
	}
	const mostLines, tolerance = 30, 2e-5
	program := pythonBlocks(t, "scenario.md")[1]
	n := 0
	for line := range strings.Lines(program) {
		if strings.TrimSpace(line) != "" {
			n++
		}
	}
	if n > mostLines {
		t.Errorf("%d lines of Python, want at most %d", n, mostLines)
	}
	dir, _ := exported(t, strings.Fields(tinyScenario+"--rounds 3 --batches --server-lr 0.7")...)
	out, dump := t.TempDir(), filepath.Join(t.TempDir(), "dump")
	pass(t, strings.Fields("run "+tinyScenario+"--rounds 1 --device cpu --server-lr 0.7 --out "+out+" --dump "+dump)...)
	model := filepath.Join(out, "model.npz")
	python3(t, interpreter, program, dir, model)
	names, P := readNames(t, dump)
	const compare = `
import json, sys
import numpy as np
folder, dump, model = sys.argv[1:]
names = [p["name"] for p in json.load(open(dump + "/names.json"))["params"]]
w0, got = (np.concatenate([z[n].ravel() for n in names]) for z in (np.load(folder + "/weights.npz"), np.load(model)))
want = np.load(dump + "/w_server.npy")
print(np.abs(got - want).max() / np.abs(want - w0).max(), np.abs(want - w0).max())
`
	values := strings.Fields(python3(t, interpreter, compare, dir, dump, model))
	apart, moved := number(t, values[0]), number(t, values[1])
	t.Logf("%d of %d parameters: %g of the largest update, which is %g", len(names.Params), P, apart, moved)
	if !(apart <= tolerance) || !(moved > 1e-3) {
		t.Errorf("%g of the largest update, which is %g; want at most %g, and more than 1e-3", apart, moved, tolerance)
	}
}

// Indices count in the order of the published files: the classes of every client's samples, looked up in these files,
// are those that the scenario has counted.
func TestScenarioOrder(t *testing.T) {
	for data, labels := range map[string]func(dir string) ([]byte, error){
		"cifar10": func(dir string) (all []byte, err error) {
			for n := 1; n <= 5; n++ {
				raw, err := os.ReadFile(filepath.Join(dir, "cifar-10-batches-bin", fmt.Sprintf("data_batch_%d.bin", n)))
				if err != nil {
					return nil, err
				}
				for record := range slices.Chunk(raw, 1+3*32*32) {
					all = append(all, record[0])
				}
			}
			return all, nil
		},
		"mnist": func(dir string) ([]byte, error) {
			path := filepath.Join(dir, "MNIST", "raw", "train-labels-idx1-ubyte")
			raw, err := os.ReadFile(path)
			if f, no := os.Open(path + ".gz"); err != nil && no == nil {
				defer func() { _ = f.Close() }() // nothing was written
				var unzipped *gzip.Reader
				if unzipped, err = gzip.NewReader(f); err == nil {
					raw, err = io.ReadAll(unzipped)
				}
			}
			return raw[min(8, len(raw)):], err
		},
	} {
		t.Run(data, func(t *testing.T) {
			folder := realData
			if data == "cifar10" {
				folder = cifar10(t)
			}
			all, err := labels(folder)
			if err != nil {
				t.Skipf("left out: %s is not in $ROLLCALL_DATA as files: %v", data, err)
			}
			const N = 20
			dir, _ := exported(t, "--data", data, "--data-dir", folder, "--clients", fmt.Sprint(N), "--rounds", "1",
				"--alpha", "1")
			index := member[int32](t, dir, "scenario", "train_index")
			offsets := member[int64](t, dir, "scenario", "train_offsets", N+1)
			counts := member[int32](t, dir, "scenario", "class_counts", N, 10)
			for i := range N {
				var own [10]int32
				for _, sample := range index[offsets[i]:offsets[i+1]] {
					own[all[sample]]++
				}
				if !slices.Equal(own[:], counts[i*10:][:10]) {
					t.Errorf("client %d: classes %d by the file, the scenario has %d", i, own, counts[i*10:][:10])
				}
			}
			// torchvision's CIFAR10 and MNIST begin with these labels.
			first := map[string][]byte{
				"cifar10": {6, 9, 9, 4, 1, 1, 2, 7, 8, 3}, "mnist": {5, 0, 4, 1, 9, 2, 1, 3, 1, 4},
			}[data]
			if got := all[:10]; !bytes.Equal(got, first) || len(index) != len(all) {
				t.Errorf("%d samples of %d, the first labels %d, want all, and %d", len(index), len(all), got, first)
			}
		})
	}
}
