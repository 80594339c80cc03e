package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// writeLEAF writes a FEMNIST of so many writers in LEAF's layout, in files of ten writers. Writer w has w%3 + 4
// training samples and one test sample.
func writeLEAF(t testing.TB, dir string, writers int) {
	t.Helper()
	type user struct {
		X [][]float64 `json:"x"`
		Y []int       `json:"y"`
	}
	for part, name := range []string{"train", "test"} {
		must.OK(t, os.MkdirAll(filepath.Join(dir, name), 0o777))
		for from := 0; from < writers; from += 10 {
			users, sizes, data := []string{}, []int{}, map[string]user{}
			for w := from; w < min(writers, from+10); w++ {
				n := 1
				if part == 0 {
					n = w%3 + 4
				}
				u := user{}
				for i, picture := range tinyPictures(n, 28*28) {
					x := make([]float64, len(picture))
					for k, v := range picture {
						x[k] = float64(255-v) / 255
					}
					u.X, u.Y = append(u.X, x), append(u.Y, (w+i)%62)
				}
				id := fmt.Sprintf("f%04d_%02d", w, w%50)
				users, sizes, data[id] = append(users, id), append(sizes, n), u
			}
			file := fmt.Sprintf("all_data_%d_niid_0_keep_0_%s_9.json", from/10, name)
			content := must.Get(json.Marshal(map[string]any{
				"users": users, "num_samples": sizes, "user_data": data,
			}))(t)
			must.OK(t, os.WriteFile(filepath.Join(dir, name, file), content, 0o666))
		}
	}
}

// FEMNIST is trained by writer, cut in other ways, and looked at; what cannot be is refused in a line.
func TestFEMNISTByWriter(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	writeLEAF(t, filepath.Join(dir, "femnist"), 23)
	run := func(line string) []string {
		return append(strings.Fields("run --data femnist --net lenet5 --rounds 2 --local-steps 1 --batch 4 "+
			"--eval-every 1 --out "+out+" --data-dir "+dir), strings.Fields(line)...)
	}
	for _, line := range []string{
		"--split natural --clients 23", "--split natural --clients 9 --method ca-fed --losses held-out",
		"--split natural --clients 9 --hold-out 0.2", "--split classes --clients 5 --availability sine",
	} {
		if o := pass(t, run(line)...); !strings.Contains(o.stdout, "curve.csv: complete") {
			t.Errorf("%s: %q, want a complete run", line, o.stdout)
		}
	}
	if o := pass(t, run("--split natural --clients 23")...); !strings.Contains(o.stdout, "kept") {
		t.Errorf("again: %q, want the kept run", o.stdout)
	}
	if o := rollcall(t, run("--split natural --clients 24")...); o.status != statusFailure ||
		!strings.Contains(o.stderr, "24 clients, want 1 … 23, the writers of femnist") {
		t.Errorf("24 clients: status %d, %q, want how many writers there are", o.status, o.stderr)
	}
	oneLineError(t, rollcall(t, "run", "--data", "cifar100", "--split", "natural", "--out", out), statusUsage,
		"--split natural: with --data cifar100, whose images are of no known writers, want femnist")
	oneLineError(t, rollcall(t, run("--swap-pairs 2 --split natural --clients 4")...), statusUsage,
		"--split natural: of no use with ")
	for _, args := range [][]string{{"data", "verify", "femnist"}, {"data", "fetch", "femnist"}} {
		o := pass(t, append(args, "--data-dir", dir)...)
		if args[1] == "verify" && (strings.Count(o.stdout, ": unchecked: ") != 6 ||
			!strings.Contains(o.stdout, "nothing is recorded or published")) {
			t.Errorf("%v: %q, want six files that nothing is known of", args, o.stdout)
		}
	}
	empty := t.TempDir()
	oneLineError(t, rollcall(t, "data", "fetch", "femnist", "--data-dir", empty), statusFailure,
		"nobody publishes it: make it with data/femnist/preprocess.sh -s niid")
	if o := pass(t, "data", "list", "--data-dir", empty); !strings.Contains(o.stdout, "; make it with data/femnist/") {
		t.Errorf("data list: %q, want how to make femnist", o.stdout)
	}
}

// MNIST's real files are not Fashion-MNIST's, in whatever folder they lie and whatever is allowed.
func TestMNISTIsNotFashion(t *testing.T) {
	real := filepath.Join(os.Getenv("ROLLCALL_DATA"), "MNIST", "raw")
	for _, at := range []string{"FashionMNIST/raw", "fashion-mnist", "."} {
		dir := t.TempDir()
		for _, name := range []string{
			"train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1",
		} {
			content, err := os.ReadFile(filepath.Join(real, name+"-ubyte.gz"))
			if err != nil {
				t.Skip("the real MNIST is not in $ROLLCALL_DATA: ", err)
			}
			must.OK(t, os.MkdirAll(filepath.Join(dir, at), 0o777))
			must.OK(t, os.WriteFile(filepath.Join(dir, at, name+"-ubyte.gz"), content, 0o666))
		}
		o := rollcall(t, "data", "verify", "fashion-mnist", "--data-dir", dir)
		oneLineError(t, o, statusFailure, "has t10k-labels-idx1-ubyte.gz of mnist)")
		o = rollcall(t, "data", "verify", "mnist", "--data-dir", filepath.Join(dir, at))
		if o.status != 0 || bytes.Count([]byte(o.stdout), []byte(": official")) != 4 {
			t.Errorf("%s: mnist: status %d, %q, want four official files", at, o.status, o.stdout)
		}
	}
}
