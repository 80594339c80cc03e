package e2e

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/bench/many"
	"rollcall/bench/settings"
	"rollcall/datasets/rng"
	"rollcall/internal/files"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/papers"
)

// smallTables are the tables that [TestSmallTables] runs, on tiny files in the real formats.
var smallTables = []struct {
	id   string
	rows int // methods × columns × entries
	args []string
}{
	{"fedawe-2", 2 * 2, []string{"--data", "svhn", "--availability", "sine", "--methods", "fedawe,mifa"}},
	{"fedawe-8", 2 * 4, []string{"--data", "svhn", "--availability", "sine", "--methods", "fedawe,mifa"}},
	{"fedawe-9", 3 * 2, []string{"--data", "svhn", "--availability", "sine", "--methods", "fedawe", "--rounds", "1"}},
	{"fedawe-10", 3 * 2, []string{"--data", "svhn", "--availability", "sine", "--methods", "fedawe", "--rounds", "1"}},
	{"cafed-1", 2 * 3, []string{"--data", "mnist", "--methods", "ca-fed,adafed", "--clients", "4", "--rounds", "4"}},
	{"fedar-mnist", 6 * 2 * 2, nil},
}

// smallFigures are the figures that [TestSmallFigures] draws, on tiny files in the real formats or without any.
var smallFigures = []struct {
	id   string
	rows int
	args []string
}{
	{"fedawe-f2", 20 * 20, nil},
	{"fedawe-f3", 16 * 2, []string{"--rounds", "1", "--clients", "3", "--seeds", "5"}},
	{"fedawe-f4", 20 * 10, []string{"--data", "mnist"}},
	{"fedawe-f5", 25, []string{"--data", "mnist"}},
	{"fedawe-f6", 4 * 3 * 5, []string{"--rounds", "5"}},
	{"fedawe-f7", 2 * 2, []string{
		"--rounds", "1", "--clients", "3", "--seeds", "5", "--data", "svhn", "--methods", "mifa,fedawe",
	}},
	{"cafed-s1", 4 * 41, nil},
}

// onStandIns are the tables and figures of CIFAR-10 alone, whose official files cannot be small. Package run tests them
// on generated pictures, in the files named here.
var onStandIns = map[string][]string{
	"../many/cafed_f1c_test.go": {"cafed-f1c"},
	"../many/fedar_test.go":     {"fedar-2", "fedar-3", "fedar-f1", "fedar-f2", "fedar-f3", "fedar-f4", "fedar-f5"},
}

// Every table and figure is run by a test from its command to its files.
func TestEveryItemIsRun(t *testing.T) {
	var run []string
	for _, c := range smallTables {
		run = append(run, c.id)
	}
	for _, c := range smallFigures {
		run = append(run, c.id)
	}
	for _, c := range smallCAFedFigures {
		run = append(run, c.id)
	}
	for path, ids := range onStandIns {
		text := contents(t, path)
		for _, id := range ids {
			if !strings.Contains(text, `"`+id+`"`) {
				t.Errorf("%s: has no %q, want a test of it", path, id)
			}
		}
		run = append(run, ids...)
	}
	slices.Sort(run)
	want := slices.Sorted(slices.Values(append(papers.TableNames(), papers.FigureNames()...)))
	if !slices.Equal(run, want) {
		t.Errorf("run by tests are\n%q, want each of\n%q once", run, want)
	}
}

// Every cell has a number of its one seed, beside the paper's where it prints one.
func TestSmallTables(t *testing.T) {
	if testing.Short() {
		t.Skip("nets for SVHN are not for -short")
	}
	dir := tinyData(t)
	for _, c := range smallTables {
		t.Run(c.id, func(t *testing.T) {
			out := t.TempDir()
			o := pass(t, slices.Concat([]string{
				"table", c.id, "--rounds", "2", "--clients", "3", "--seeds", "5", "--data-dir", dir, "--allow-altered",
				"--device", "cpu", "--out", out,
			}, c.args)...)
			rows := summaryRows(t, out, c.id)
			if len(rows) != c.rows {
				t.Fatalf("%d rows, want %d", len(rows), c.rows)
			}
			for _, r := range rows {
				// In two rounds no method gets near the accuracies whose rounds Table 8 counts.
				if never := c.id == "fedawe-8"; r["status"] != string(results.CellOK) || (r["mean"] == "") != never ||
					r["std"] != "" || r["device"] == "" || r["engine"] == "" {
					t.Errorf("row %v, want a number of one seed: %t", r, !never)
				}
				if !strings.Contains(o.stdout, r["method"]) {
					t.Errorf("stdout %q, want %s in it", o.stdout, r["method"])
				}
			}
		})
	}
}

// figureRows returns the rows of a figure, of which there have to be so many, and a drawing beside.
func figureRows(t *testing.T, base string, want int) []map[string]string {
	t.Helper()
	_, rows := table(t, contents(t, base+".csv"))
	if len(rows) != want {
		t.Errorf("%d rows, want %d", len(rows), want)
	}
	svg := contents(t, base+".svg")
	if !strings.Contains(svg, "<path") || !strings.HasSuffix(strings.TrimSpace(svg), "</svg>") {
		t.Errorf("%s.svg is no drawing", base)
	}
	return rows
}

// Every figure has its rows and a drawing, and both are named.
func TestSmallFigures(t *testing.T) {
	if testing.Short() {
		t.Skip("nets for SVHN are not for -short")
	}
	dir := tinyData(t)
	for _, c := range smallFigures {
		t.Run(c.id, func(t *testing.T) {
			out := t.TempDir()
			args := []string{"figure", c.id, "--data-dir", dir, "--allow-altered", "--device", "cpu", "--out", out}
			o := pass(t, append(args, c.args...)...)
			base := filepath.Join(out, c.id, c.id)
			if !strings.Contains(o.stdout, base+".csv\n") || !strings.Contains(o.stdout, base+".svg\n") {
				t.Errorf("stdout %q, want both files named", o.stdout)
			}
			clients := 0.0
			for _, r := range figureRows(t, base, c.rows) {
				if c.id == "fedawe-f5" {
					clients += number(t, r["count"])
				}
			}
			if c.id == "fedawe-f5" && clients != 100 {
				t.Errorf("%g clients in the histogram, want 100", clients)
			}
		})
	}
}

// Figure 4 counts the training images of the clients: the tiny MNIST has 60 of each class, and a client's shares are of
// its own images.
func TestFedAWEFigure4(t *testing.T) {
	out := t.TempDir()
	pass(t, "figure", "fedawe-f4", "--data", "mnist", "--clients", "7", "--seeds", "9", "--data-dir", tinyMNIST(t),
		"--allow-altered", "--out", out)
	_, rows := table(t, contents(t, filepath.Join(out, "fedawe-f4", "fedawe-f4.csv")))
	if len(rows) != 7*10 {
		t.Fatalf("%d rows, want ten classes of seven clients", len(rows))
	}
	classes, clients := map[string]float64{}, map[string]float64{}
	for _, r := range rows {
		classes[r["class"]] += number(t, r["n"])
		clients[r["client"]] += number(t, r["n"])
	}
	for class, n := range classes {
		if n != 60 {
			t.Errorf("class %s: %g images, want 60", class, n)
		}
	}
	for _, r := range rows {
		if want := number(t, r["n"]) / max(1, clients[r["client"]]); number(t, r["share"]) != want {
			t.Errorf("%v: want the share %g of the client's images", r, want)
		}
	}
}

// tinyData returns a folder with tiny MNIST and SVHN.
func tinyData(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	writeTinyData(t, dir)
	return filepath.Join(dir, "data")
}

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
			for _, r := range figureRows(t, base, c.rows) {
				if of, ok := r["kappa"]; ok && "ca-fed κ̄²="+of != r["best"] {
					t.Errorf("%v: κ̄² %s, want that of its series", r, of)
				}
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

// Defaults are what the papers say. FedAWE, section 7 and appendix J: 100 clients, Dirichlet 0.1, 10 local steps of 128
// samples, 2000 rounds, cycles of 20 rounds with γ = 0.3, cut off at 0.1, a lower step of 0.4. FedAR, section 6.1, in
// the runs of its methods.
func TestDefaultsAreThePapers(t *testing.T) {
	for _, c := range []struct{ methods, preset, want string }{
		{
			"fedawe", "code", "clients=100 alpha=0.1 local-steps=10 batch=128 rounds=2000 lr=0.1 server-lr=1 " +
				"period=20 gamma=0.3 cutoff=0.1 low=0.4 net=cnn-cifar10 weights=equal momentum=0 weight-decay=0 " +
				"eval-every=10 eval-last=2 eval-train=true",
		},
		{
			"fedar fedavg-is fedavg-s scaffold", "paper", "split=two-class batch=64 local-steps=5 weight-decay=0.001 " +
				"lr=0.1 server-lr=1 augment=none clip=none fedar-rho=0.1 fedar-t0=50 fedar-b=4 fedavg-s-limit=none " +
				"p-min=0.1",
		},
	} {
		for method := range strings.FieldsSeq(c.methods) {
			s := must.Get(settings.Defaults(method, c.preset, "cifar10"))(t)
			values := s.Values()
			for setting := range strings.FieldsSeq(c.want) {
				flag, want, _ := strings.Cut(setting, "=")
				if values[flag] != want {
					t.Errorf("%s: --%s is %s by default, want %s", method, flag, values[flag], want)
				}
			}
		}
	}
	// The name of a run depends on what t_0 is, and not on how it is written.
	s := must.Get(settings.Defaults("fedar", "paper", "cifar10"))(t)
	same, other := s, s
	must.OK(t, errors.Join(same.Set("fedar-t0", "50.0"), same.Set("fedavg-s-limit", "none"),
		other.Set("fedar-t0", "none")))
	if results.Hash(s) != results.Hash(same) || results.Hash(s) == results.Hash(other) ||
		other.MethodOptions().Values["fedar-t0"] != "none" {
		t.Error("the name of a run depends on how t_0 is written, or not on what it is")
	}
}

// Table 8 on a made curve: CIFAR-10's target is 60 %, and accuracy grows by 1 % every 10 rounds.
func TestRoundsToGet(t *testing.T) {
	var curve []results.CurveRow
	for round := 0; round <= 700; round += 10 {
		curve = append(curve, results.CurveRow{Round: round, TestAcc: files.Some(float64(round) / 1000)})
	}
	table8 := must.Get(papers.TableByID("fedawe-8"))(t)
	list := table8.Entries
	want := []float64{150, 300, 450, 600}
	if len(list) != len(want) {
		t.Fatalf("%d entries, want %d", len(list), len(want))
	}
	for i, e := range list {
		r := results.SummaryRow{Setup: results.Setup{Data: "cifar10"}, Metric: e.Metric}
		must.OK(t, e.Fill(&r, papers.Runs{Curves: [][]results.CurveRow{curve, curve}}, papers.Runs{}))
		if !r.Mean.Valid || r.Mean.Value != want[i] || r.N != 2 {
			t.Errorf("%s: %+v over %d seeds, want %g over 2", e.Metric, r.Mean, r.N, want[i])
		}
	}
}

// What the tables say of the papers' experiments is what their cells run, and of a row of theirs nothing is its own but
// what sets its column apart.
func TestTablesSayWhatTheyRun(t *testing.T) {
	for _, id := range papers.TableNames() {
		of := must.Get(papers.TableByID(id))(t)
		for _, preset := range of.Columns[0].Presets() {
			if of.Preset != "" && of.Preset != preset {
				continue
			}
			cells := must.Get(many.Cells(&of, &many.Wanted{Preset: preset}))(t)
			for _, c := range cells {
				r := results.SummaryRow{Setup: c.Settings.Setup(id), Params: c.Settings.Params()}
				if own := of.Own(&r).Without(c.Column.Set.Names()...); own != "" {
					t.Errorf("%s %s %s: own settings %q, want none", id, preset, r.Method, own)
				}
				for _, e := range of.Entries {
					r.Metric = e.Metric
					p, ok := results.PrintedFor(of.Printed, r)
					if values := c.Settings.Values(); ok &&
						(fmt.Sprint(p.Rounds) != values["rounds"] || fmt.Sprint(p.Clients) != values["clients"]) {
						t.Errorf("%s %s: printed of %d rounds and %d clients, runs have %s and %s",
							id, r.Method, p.Rounds, p.Clients, values["rounds"], values["clients"])
					}
				}
			}
		}
	}
}
