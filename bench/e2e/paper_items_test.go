package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
	"run/cafed_f1c_test.go": {"cafed-f1c"},
	"run/fedar_test.go":     {"fedar-2", "fedar-3", "fedar-f1", "fedar-f2", "fedar-f3", "fedar-f4", "fedar-f5"},
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
			_, rows := table(t, contents(t, filepath.Join(out, c.id, results.SummaryFile)))
			if len(rows) != c.rows {
				t.Fatalf("%d rows, want %d", len(rows), c.rows)
			}
			for _, r := range rows {
				// In two rounds no method gets near the accuracies whose rounds Table 8 counts.
				if never := c.id == "fedawe-8"; r["status"] != string(results.CellOK) || (r["mean"] == "") != never {
					t.Errorf("row %v, want a number: %t", r, !never)
				}
				if !strings.Contains(o.stdout, r["method"]) {
					t.Errorf("stdout %q, want %s in it", o.stdout, r["method"])
				}
			}
		})
	}
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
			if svg := contents(t, base+".svg"); !strings.Contains(svg, "<path") ||
				!strings.HasSuffix(strings.TrimSpace(svg), "</svg>") {
				t.Errorf("%s.svg is no drawing", base)
			}
			if _, rows := table(t, contents(t, base+".csv")); len(rows) != c.rows {
				t.Errorf("%d rows, want %d", len(rows), c.rows)
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
