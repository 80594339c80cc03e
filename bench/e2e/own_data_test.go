package e2e

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/must"
)

// npzArray is an array of a test's .npz file, as [files.WriteNPY] writes it.
type npzArray struct {
	name  string
	write func(path string) error
}

func npzOf[T files.Element](name string, shape []int, data []T) npzArray {
	return npzArray{name, func(path string) error { return files.WriteNPY(path, shape, data) }}
}

// writeNPZ writes an .npz file, stored or compressed.
func writeNPZ(t *testing.T, path string, method uint16, arrays ...npzArray) {
	t.Helper()
	f := must.Get(os.Create(path))(t)
	z := zip.NewWriter(f)
	for _, a := range arrays {
		one := filepath.Join(t.TempDir(), "array.npy")
		must.OK(t, a.write(one))
		w := must.Get(z.CreateHeader(&zip.FileHeader{Name: a.name + ".npy", Method: method}))(t)
		must.Get(w.Write([]byte(contents(t, one))))(t)
	}
	must.OK(t, z.Close())
	must.OK(t, f.Close())
}

// ownImages returns images [n,h,w,c] whose classes can be told by their brightness, and their labels.
func ownImages(n, h, w, c, classes int, seed uint64) (images, labels []uint8) {
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range n {
		label := i % classes
		labels = append(labels, uint8(label))
		for range h * w * c {
			images = append(images, uint8(r.IntN(60)+label*190/classes))
		}
	}
	return images, labels
}

// writeOwn writes images of 12×16×2 in 5 classes, in the types that --data npz: reads.
func writeOwn(t *testing.T, dir string) (images, features string) {
	t.Helper()
	const h, w, c, classes = 12, 16, 2, 5
	x, y := ownImages(60, h, w, c, classes, 1)
	xt, yt := ownImages(20, h, w, c, classes, 2)
	floats := func(bytes []uint8) (f []float32) {
		for _, v := range bytes {
			f = append(f, float32(v)/128-1)
		}
		return f
	}
	images, features = filepath.Join(dir, "pictures.npz"), filepath.Join(dir, "maps.npz")
	train, test := []int{60, h, w, c}, []int{20, h, w, c}
	writeNPZ(t, images, zip.Deflate, npzOf("x", train, x), npzOf("y", train[:1], y), npzOf("x_test", test, xt),
		npzOf("y_test", test[:1], yt))
	writeNPZ(t, features, zip.Store, npzOf("x", train, floats(x)), npzOf("y", train[:1], y),
		npzOf("x_test", test, floats(xt)), npzOf("y_test", test[:1], yt))
	return images, features
}

// A run on a data set of the user's own is named by the content of the file: the same file elsewhere is the same run,
// another content is another. run.json says by what the images are normalised.
func TestOwnData(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	images, features := writeOwn(t, dir)
	line := func(file string, more ...string) []string {
		return append(strings.Fields("run --method fedavg-active --data npz:"+file+" --clients 4 --rounds 2 --p 1 "+
			"--local-steps 2 --batch 4 --lr 0.02 --out "+out), more...)
	}
	passAlone(t, line(images)...)
	first := only(t, out, curvePath)
	elsewhere := filepath.Join(t.TempDir(), "pictures.npz")
	must.OK(t, os.Link(images, elsewhere))
	if o := passAlone(t, line(elsewhere)...); !strings.Contains(o.stdout, "kept") {
		t.Errorf("the same file elsewhere: %q, want the run kept", o.stdout)
	}
	// The command that repeats the run names the file.
	if o := passAlone(t, "results", "show", filepath.Dir(first)); !strings.Contains(o.stdout, "--data npz:"+images) {
		t.Errorf("results show: %s, want --data npz:%s in it", o.stdout, images)
	}
	var info struct {
		Settings           map[string]any
		Mean               []float64 `json:"data_mean"`
		Std                []float64 `json:"data_std"`
		DataChecksum, Data string
	}
	must.OK(t, json.Unmarshal([]byte(contents(t, filepath.Join(filepath.Dir(first), "run.json"))), &info))
	if info.Settings["data"] != "pictures" || info.Settings["data-sha256"] == nil || len(info.Mean) != 2 ||
		len(info.Std) != 2 || !(info.Mean[0] > 0.3 && info.Mean[0] < 0.5) {
		t.Errorf("run.json: %+v, want data pictures, its SHA-256, and two means and deviations", info)
	}
	// A file of other content under this name is another run; features need no mean, and no augmentation.
	must.OK(t, os.Remove(elsewhere))
	must.OK(t, os.Link(features, elsewhere))
	passAlone(t, line(elsewhere)...)
	if n := len(must.Get(filepath.Glob(filepath.Join(out, curvePath)))(t)); n != 2 {
		t.Errorf("%d runs, want 2", n)
	}
	oneLineError(t, alone(t, line(features, "--augment", "batch")...), statusUsage, "--augment batch: of no use")
	oneLineError(t, alone(t, line(images+".none")...), statusUsage, "no such file or directory")
	oneLineError(t, alone(t, line(dir)...), statusFailure, "a folder, want a file")
	oneLineError(t, alone(t, line("")...), statusUsage, `datasets: "npz:": want npz:FILE`)
	// The list and the export show the runs; a plan and a Slurm script name the file.
	for _, args := range [][]string{{"results", "list", out}, {"results", "export", "run", out}} {
		if o := passAlone(t, args...); !strings.Contains(o.stdout, "pictures") {
			t.Errorf("%v: %s, want pictures in it", args, o.stdout)
		}
	}
	sweep := strings.Fields("sweep --methods fedavg-active,mifa --data npz:" + images + ",npz:" + features +
		" --clients 4 --rounds 2 --p 1 --local-steps 2 --batch 4 --eval-every 1 --out " + out)
	for _, more := range []string{"--plan --format json", "--slurm --dry-run"} {
		o := passAlone(t, append(sweep, strings.Fields(more)...)...)
		if !strings.Contains(o.stdout, "--data=npz:"+images) {
			t.Errorf("%s: %s, want --data=npz:%s in it", more, o.stdout, images)
		}
	}
	if o := passAlone(t, sweep...); !strings.Contains(o.stdout, "pictures") || !strings.Contains(o.stdout, "maps") {
		t.Errorf("sweep: %s, want both data sets", o.stdout)
	}
	scenario := filepath.Join(t.TempDir(), "scenario")
	passAlone(t, "scenario", "export", scenario, "--data", "npz:"+images, "--net", "own: conv 4 3x3 pool",
		"--clients", "4", "--rounds", "1", "--p", "1")
	for _, want := range []string{"--data=npz:" + images, "net=own: conv 4 3x3 pool"} {
		if text := contents(t, filepath.Join(scenario, "scenario.json")); !strings.Contains(text, want) {
			t.Errorf("scenario.json: %s, want %s in its command", text, want)
		}
	}
	if o := passAlone(t, "data", "verify", "npz:"+images); !strings.Contains(o.stdout,
		"60 training and 20 test images of 12×16×2 in 5 classes") {
		t.Errorf("data verify: %s", o.stdout)
	}
}

// Without a test set of its own a file needs samples to be held out.
func TestOwnDataHeldOut(t *testing.T) {
	x, y := ownImages(60, 8, 8, 1, 3, 1)
	file, out := filepath.Join(t.TempDir(), "train-only.npz"), t.TempDir()
	writeNPZ(t, file, zip.Store, npzOf("x", []int{60, 8, 8}, x), npzOf("y", []int{60}, y))
	line := strings.Fields("run --method mifa --data npz:" + file + " --clients 3 --rounds 1 --p 1 --local-steps 1 " +
		"--batch 4 --out " + out)
	oneLineError(t, alone(t, line...), statusUsage, "the file has no test set, want one, x_test and y_test, or "+
		"--hold-out above 0")
	passAlone(t, append(line, "--hold-out", "0.25")...)
	if rows := curveRows(t, out); rows[0]["test_acc"] == "" {
		t.Errorf("curve %v, want a test accuracy", rows)
	}
}

// 60,000 zeros of 28×28 in a file of 50 KB are more than such a file may stand for.
func TestOwnDataBomb(t *testing.T) {
	const n = 120_000
	file := filepath.Join(t.TempDir(), "bomb.npz")
	writeNPZ(t, file, zip.Deflate, npzOf("x", []int{n, 28, 28}, make([]uint8, n*28*28)),
		npzOf("y", []int{n}, make([]uint8, n)))
	oneLineError(t, alone(t, "run", "--data", "npz:"+file), statusFailure,
		fmt.Sprintf("x: %d bytes of |u1 of shape [%d 28 28], want at most 67108864 in a file of this size", n*28*28, n))
}

// What is wrong with the samples themselves is one error before anything is trained, however many runs want them.
func TestOwnDataDamaged(t *testing.T) {
	dir := t.TempDir()
	images, _ := writeOwn(t, dir)
	stored := filepath.Join(dir, "damaged.npz")
	content := []byte(contents(t, images))
	content[len(content)/4] ^= 0x55 // in the samples, which come first
	must.OK(t, os.WriteFile(stored, content, 0o600))
	nan := filepath.Join(dir, "nan.npz")
	floats := []float32{0, 1, 2, float32(math.NaN()), 4, 5, 6, 7}
	writeNPZ(t, nan, zip.Store, npzOf("x", []int{4, 2}, floats), npzOf("y", []int{4}, []uint8{0, 1, 0, 1}),
		npzOf("x_test", []int{1, 2}, floats[:2]), npzOf("y_test", []int{1}, []uint8{0}))
	for _, c := range []struct{ file, says string }{
		{stored, "damaged.npz: x: "},
		{nan, "nan/train: sample 1: feature 1 is NaN, want a finite number"},
	} {
		for _, command := range []string{
			"data verify npz:", "run --data npz:", "sweep --methods mifa,fedau --data npz:",
			"tune --methods mifa,fedau --data npz:",
		} {
			out := filepath.Join(t.TempDir(), "out")
			args := strings.Fields(command + c.file)
			if args[0] != "data" {
				args = append(args, "--clients=4", "--rounds=1", "--p=1", "--local-steps=1", "--batch=4", "--out="+out)
			}
			oneLineError(t, alone(t, args...), statusFailure, c.says)
			if _, err := os.Stat(out); err == nil {
				t.Errorf("%s: a folder %s, want none", command, out)
			}
		}
	}
}
