package e2e

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/datasets/rng"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/results"
)

// tinyMNIST writes MNIST's four files with 600 and 100 pictures: dim noise and a bright row that says the class.
func tinyMNIST(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	folder := filepath.Join(dir, "MNIST", "raw")
	must.OK(t, os.MkdirAll(folder, 0o777))
	for part, f := range []struct {
		name string
		n    int
	}{{"train", 600}, {"t10k", 100}} {
		images := binary.BigEndian.AppendUint32([]byte{0, 0, 8, 3}, uint32(f.n))
		images = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(images, 28), 28)
		labels := binary.BigEndian.AppendUint32([]byte{0, 0, 8, 1}, uint32(f.n))
		for i := range f.n {
			s := rng.Key{Seed: 1, Purpose: rng.Generated}.Stream(part, i, 9)
			labels = append(labels, byte(i%10))
			for pixel := range 28 * 28 {
				value := 60 * s.Float64()
				if pixel/28 == 2*(i%10)+3 {
					value += 180
				}
				images = append(images, byte(value))
			}
		}
		for name, text := range map[string][]byte{"-images-idx3-ubyte": images, "-labels-idx1-ubyte": labels} {
			must.OK(t, os.WriteFile(filepath.Join(folder, f.name+name), text, 0o666))
		}
	}
	return dir
}

// smallCAFedFigures are the figures that [TestCAFedFigures] draws.
var smallCAFedFigures = []struct {
	id     string
	rows   int
	claims int
	args   []string
}{
	{"cafed-i1", 4 * 3, 0, []string{"--seeds", "1"}},
	{"cafed-i2", 4 * 4, 0, []string{"--seeds", "1"}},
	{"cafed-i3", 2 * 4 * (3 + 1), 2, nil},
	{"cafed-f1a", 5 * (3 + 1), 1, nil},
	{"cafed-f1b", 5 * (3 + 1), 1, nil},
	{"cafed-f1d", 5 * 3, 0, nil},
	{"cafed-f2a", 7 * (3 + 1), 2, nil},
	{"cafed-f2b", 3, 0, nil},
	{"cafed-f3", 7 * 5, 3, nil},
	{"cafed-f4a", 7 * 2 * 2, 0, nil},
	{"cafed-f4b", 5 * 7, 0, nil},
	{"cafed-f5a", 20 * 3, 0, []string{"--seeds", "1", "--clients", "20"}},
	{"cafed-f5b", 20 * 3, 0, []string{"--seeds", "1", "--clients", "20"}},
	{"cafed-f5c", 20 * 3, 0, []string{"--seeds", "1", "--clients", "20"}},
	{"cafed-f5d", 5 * (3 + 1), 1, []string{"--clients", "20"}},
}

// Every figure of CA-Fed but f1c, small: rows for every line and point, a drawing, and the paper's numbers beside. The
// official files of CIFAR-10 cannot be small; package run tests f1c on other pictures.
func TestCAFedFigures(t *testing.T) {
	longtest.Only(t, "every figure of both papers, small")
	dir, out := tinyMNIST(t), t.TempDir()
	for _, c := range smallCAFedFigures {
		t.Run(c.id, func(t *testing.T) {
			args := append([]string{
				"figure", c.id, "--rounds", "3", "--clients", "4", "--data-dir", dir, "--allow-altered", "--out", out,
			}, c.args...)
			if !slices.Contains(c.args, "--seeds") {
				args = append(args, "--seeds", "1,2")
			}
			if c.id == "cafed-f3" && testing.Short() {
				t.Skip("seventy runs are not for -short")
			}
			o := pass(t, args...)
			base := filepath.Join(out, c.id, c.id)
			_, rows := table(t, contents(t, base+".csv"))
			if len(rows) != c.rows {
				t.Errorf("%d rows, want %d", len(rows), c.rows)
			}
			for _, r := range rows {
				if of, ok := r["kappa"]; ok && "ca-fed κ̄²="+of != r["best"] {
					t.Errorf("%v: κ̄² %s, want that of its series", r, of)
				}
			}
			if svg := contents(t, base+".svg"); !strings.HasSuffix(strings.TrimSpace(svg), "</svg>") ||
				!strings.Contains(svg, "<path") {
				t.Errorf("%s.svg is no drawing", base)
			}
			_, claims := table(t, contents(t, base+"-paper.csv"))
			sentences := len(claims)
			claims = slices.DeleteFunc(claims, func(r map[string]string) bool { return r["says"] != "" })
			if sentences -= len(claims); sentences == 0 || strings.Count(o.stdout, "paper, V-B") != sentences {
				t.Errorf("%d sentences of the paper, stdout %q, want some in both", sentences, o.stdout)
			}
			info, err := results.ReadFigureInfo(base + ".json")
			if err != nil || info.Figure != c.id || len(info.PaperClients) != 1 ||
				slices.Equal(info.Clients, info.PaperClients) {
				t.Errorf("%s.json: %+v, %v, want other clients than the paper's", base, info, err)
			}
			if len(claims) != c.claims || strings.Count(o.stdout, "percentage points: ours ") != c.claims {
				t.Errorf("%d claims, stdout %q, want %d", len(claims), o.stdout, c.claims)
			}
			for _, r := range claims {
				if reached := c.id != "cafed-f2a"; (r["points"] != "") != reached { // that is about rounds 40 and 500
					t.Errorf("claim %v: ours is %q, want one: %t", r, r["points"], reached)
				}
			}
		})
	}
	// Of several seeds figure 5a shows the first, and says what all of them have left out, in each reading.
	for _, preset := range []string{"paper", "code", "code-no-momentum"} {
		o := pass(t, "figure", "cafed-f5a", "--preset", preset, "--rounds", "3", "--clients", "20", "--seeds", "1,2",
			"--data-dir", dir, "--allow-altered", "--out", out)
		base := filepath.Join(out, "cafed-f5a", "cafed-f5a")
		_, rows := table(t, contents(t, base+".csv"))
		_, says := table(t, contents(t, base+"-paper.csv"))
		if len(rows) != 20*3 || len(says) != 1 || !strings.Contains(o.stdout, says[0]["ours"]) {
			t.Fatalf("%s: %d rows of activity, %v, stdout %q, want 60 of one seed and a sentence in both",
				preset, len(rows), says, o.stdout)
		}
		if ours := says[0]["ours"]; !strings.Contains(ours, "rounds of 2 seeds") || strings.Count(ours, "±") != 10 {
			t.Errorf("%s: ours %q, want ten clusters over two seeds", preset, ours)
		}
	}
	// The figure of importance has the runs of the figure of activity: ca-fed's is not run twice.
	o := pass(t, "figure", "cafed-i2", "--methods", "ca-fed", "--rounds", "3", "--clients", "4", "--seeds", "1",
		"--out", out)
	if !strings.Contains(o.stderr, "1 finished run kept") {
		t.Errorf("stderr %q, want figure 1's run kept", o.stderr)
	}
}

// Small figures to the last digit, on the kernels that every machine has. Origin: this program, when its parts had been
// tested.
func TestCAFedGoldens(t *testing.T) {
	t.Setenv("ROLLCALL_CPU", "generic")
	for _, id := range []string{"cafed-i1", "cafed-i2", "cafed-f4a"} {
		out := t.TempDir()
		pass(t, "figure", id, "--rounds", "4", "--clients", "4", "--seeds", "5", "--out", out)
		golden(t, id+".csv", contents(t, filepath.Join(out, id, id+".csv")))
	}
	out := t.TempDir()
	pass(t, "table", "cafed-1", "--data", "binary", "--rounds", "4", "--clients", "4", "--seeds", "5,6", "--out", out)
	rows := summaryRows(t, out, "cafed-1")
	var text strings.Builder
	for _, r := range rows {
		text.WriteString(strings.Join([]string{
			r["method"], r["params"], r["metric"], r["n"], r["mean"], r["std"], r["paper_mean"], r["status"],
		}, ",") + "\n")
	}
	golden(t, "cafed-1.csv", text.String())
}

// The estimators' errors fall with the history, and λ's are larger (ToN, figure 4a), here with 20 clients and ten
// seeds.
func TestEstimatorErrors(t *testing.T) {
	out := t.TempDir()
	pass(t, "figure", "cafed-f4a", "--clients", "20", "--out", out)
	_, rows := table(t, contents(t, filepath.Join(out, "cafed-f4a", "cafed-f4a.csv")))
	mean := map[string]float64{}
	for _, r := range rows {
		mean[r["what"]+" "+r["round"]+" "+r["x"]] = number(t, r["mean"])
	}
	// After t' independent rounds π̂ is off by about √(π(1−π)/t')·√(2/π'), that is 0.24/√t' on average over π = 0.1 and
	// 0.9; correlated clients have (1+λ)/(1−λ) = 19 times the variance. So the mean lies between 0.24/√t' and 4.4 times
	// as much, and another half for ten seeds.
	for _, x := range []string{"100", "1000", "10000"} {
		least := 0.24 / math.Sqrt(number(t, x))
		if got := mean["pi_error 0 "+x]; got < 0.5*least || got > 6*least {
			t.Errorf("π̂ after a history of %s rounds: mean error %.4f, want %.4f … %.4f", x, got, 0.5*least, 6*least)
		}
		if mean["lambda_error 0 "+x] <= mean["pi_error 0 "+x] {
			t.Errorf("after a history of %s rounds: errors %.4f of λ̂, %.4f of π̂, want the first larger",
				x, mean["lambda_error 0 "+x], mean["pi_error 0 "+x])
		}
	}
	if mean["lambda_error 0 10000"] >= mean["lambda_error 0 100"] {
		t.Errorf("errors of λ̂ %.4f after 10000 rounds, %.4f after 100, want them to fall",
			mean["lambda_error 0 10000"], mean["lambda_error 0 100"])
	}
}
