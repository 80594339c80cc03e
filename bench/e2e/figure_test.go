package e2e

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/papers"
)

// Figure 7's cells are those of Table 2 under sine: what the table has run, the figure keeps, and the other way round.
func TestFigureSharesRunsWithTable(t *testing.T) {
	data, out := t.TempDir(), t.TempDir()
	writeTinyData(t, data)
	common := strings.Fields("--data svhn --methods mifa --rounds 1 --clients 3 --seeds 5 --allow-altered --data-dir " +
		filepath.Join(data, "data") + " --out " + out)
	pass(t, append([]string{"figure", "fedawe-f7"}, common...)...)
	_, rows := table(t, contents(t, filepath.Join(out, "fedawe-f7", "fedawe-f7.csv")))
	if len(rows) != 2 || rows[0]["round"] != "0" || rows[1]["round"] != "1" {
		t.Errorf("rows %v, want rounds 0 and 1 of one method", rows)
	}
	o := pass(t, append([]string{"table", "fedawe-2", "--availability", "sine"}, common...)...)
	if !strings.Contains(o.stderr, "1 finished run kept") {
		t.Errorf("stderr %q, want the figure's run kept", o.stderr)
	}
}

// FIGURE.json says what was run and how large the paper's figure is, of figures with runs and of others.
func TestFigureInfo(t *testing.T) {
	out := t.TempDir()
	for _, c := range []struct {
		args string
		want results.FigureInfo
	}{
		{"cafed-i2 --methods ca-fed,adafed --rounds 2 --clients 4 --seeds 5,6", results.FigureInfo{
			Settings: map[string]string{"methods": "ca-fed,adafed", "rounds": "2", "clients": "4", "seeds": "5,6"},
			Trained:  true, Runs: 4, Rounds: 2, PaperRounds: 150, Seeds: []uint32{5, 6}, PaperSeeds: 1,
			Clients: []int{4}, PaperClients: []int{24}, Methods: []string{"adafed", "ca-fed"},
			PaperMethods: []string{"unbiased", "f3ast", "adafed", "ca-fed"},
			Data:         map[string]string{"binary": "seed-sha256"}, PaperData: []string{"binary"},
		}},
		{"cafed-f4a --preset code --seeds 1 --clients 8", results.FigureInfo{
			Preset: "code", Settings: map[string]string{"seeds": "1", "clients": "8"}, Rounds: 50, PaperRounds: 50,
			Seeds: []uint32{1}, PaperSeeds: 10, Clients: []int{8}, PaperClients: []int{100},
		}},
		{"fedawe-f2", results.FigureInfo{}},
		{"fedawe-f5 --data synthetic --clients 20", results.FigureInfo{
			Settings: map[string]string{"data": "synthetic", "clients": "20"}, Seeds: []uint32{3}, PaperSeeds: 1,
			Clients: []int{20}, PaperClients: []int{100}, Data: map[string]string{"synthetic": "seed-sha256"},
			PaperData: []string{"cifar10"},
		}},
		{"fedawe-f6 --rounds 5", results.FigureInfo{
			Settings: map[string]string{"rounds": "5"}, Rounds: 5, PaperRounds: 80, Seeds: []uint32{3}, PaperSeeds: 1,
		}},
	} {
		args := strings.Fields(c.args)
		c.want.Figure = args[0]
		t.Run(c.want.Figure, func(t *testing.T) {
			pass(t, append([]string{"figure", "--out", out}, args...)...)
			path := filepath.Join(out, c.want.Figure, c.want.Figure+".json")
			if text := contents(t, path); strings.Contains(text, "null") {
				t.Errorf("%s, want nothing null", text)
			}
			got := must.Get(results.ReadFigureInfo(path))(t)
			trained := len(got.Numerics) == 1 && len(got.Revisions) > 0
			if trained != c.want.Trained || got.Version == "" {
				t.Errorf("numerics %q, revisions %q, version %q, want them of trained runs",
					got.Numerics, got.Revisions, got.Version)
			}
			if c.want.Preset == "" {
				c.want.Preset = "code"
			}
			got.Schema, got.Numerics, got.Revisions, got.Version = 0, nil, nil, ""
			withoutEmpty(&got)
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// withoutEmpty sets the lists and maps of an info that are empty to nil.
func withoutEmpty(info *results.FigureInfo) {
	v := reflect.ValueOf(info).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); (f.Kind() == reflect.Slice || f.Kind() == reflect.Map) && f.Len() == 0 {
			f.SetZero()
		}
	}
}

// A flag that makes no difference to a figure is refused by its name, of all figures and all flags; the others are
// tested in package run, and no flag is in neither test.
func TestFiguresRefuseFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	refused := func(line, want string) {
		t.Helper()
		oneLineError(t, rollcall(t, strings.Fields("figure "+line)...), statusUsage, want)
	}
	values := map[string]string{
		"data": "cifar10", "methods": "ca-fed", "seeds": "5", "preset": "code", "rounds": "5", "clients": "5",
		"eval-every": "2", "ema": "0.5", "loss-as-coded": "true",
	}
	known := slices.Clone(papers.FigureFlags())
	for _, f := range papers.Figures() {
		for _, o := range f.Options {
			known = append(known, o.Name)
		}
	}
	for _, f := range papers.Figures() {
		taken := f.Measure.Takes()
		for _, o := range f.Options {
			taken = append(taken, o.Name)
		}
		for _, flag := range known {
			if !slices.Contains(taken, flag) {
				refused(f.ID+" --"+flag+"="+values[flag], "--"+flag+": of no use with figure "+f.ID)
			}
		}
		if f.OneSeed {
			refused(f.ID+" --seeds 1,2", "--seeds: 2 seeds, want one: figure "+f.ID+" shows a single run")
		}
	}
	if left := filesBelow(t, "."); len(left) > 0 {
		t.Errorf("left %q, want nothing", left)
	}
}
