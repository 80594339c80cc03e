package e2e

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/scoreboard"
)

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

// docs/reproduction.md has what its commands print of the results in the repository.
func TestReproductionPage(t *testing.T) {
	t.Chdir("../..")
	const source = "docs/reproduction.md"
	copied := filepath.Join(t.TempDir(), "page.md")
	must.OK(t, os.WriteFile(copied, []byte(contents(t, source)), 0o600))
	o := pass(t, "results", "fill", copied)
	if !strings.Contains(o.stderr, "precision: no table or figure of a paper: left out") {
		t.Errorf("stderr %q, want a note on the runs that are of no table", o.stderr)
	}
	if contents(t, copied) != contents(t, source) {
		t.Errorf("%s is not what its commands print, want `rollcall results fill %s`", source, source)
	}
}

// A page whose command is wrong stays as it is, and the error says in which line it is.
func TestFill(t *testing.T) {
	out := t.TempDir()
	path := filepath.Join(out, "page.md")
	for _, c := range []struct {
		line   string
		status int
		parts  []string
	}{
		{"results merge a --out b", statusUsage, []string{"line 2", "merge", "that writes nothing"}},
		{"results fill page.md", statusUsage, []string{"line 2", "that writes nothing"}},
		{"run --data leaf", statusUsage, []string{"line 2", "run --data leaf", "a command of results"}},
		{"results", statusUsage, []string{"line 2", "a command of results"}},
		{"results compare fedawe-2 " + out, statusFailure, []string{"line 2", "no run of fedawe-2"}},
		{"results scoreboard --format tex", statusUsage, []string{"line 2", `--format "tex"`}},
		{"results scorebord", statusUsage, []string{"line 2", "scorebord", "a command of results"}},
	} {
		text := "# Title\n<!-- rollcall " + c.line + " -->\n" + scoreboard.BlockEnd + "\n"
		must.OK(t, os.WriteFile(path, []byte(text), 0o600))
		oneLineError(t, rollcall(t, "results", "fill", path), c.status, append(c.parts, "page.md")...)
		if contents(t, path) != text {
			t.Errorf("%s: the page was written", c.line)
		}
	}
	oneLineError(t, rollcall(t, "results", "fill", out), statusFailure, out)
	oneLineError(t, rollcall(t, "results", "fill"), statusUsage, "want a page")
}

// A figure of the command is a row; in CSV too.
func TestScoreboard(t *testing.T) {
	out := t.TempDir()
	pass(t, "figure", "cafed-i1", "--rounds", "2", "--clients", "4", "--out", out)
	_, rows := table(t, pass(t, "results", "scoreboard", out, "--format", "csv").stdout)
	found := 0
	for _, r := range rows {
		if r["document"] != "CA-Fed, INFOCOM" || r["item"] != "Figure 1" {
			continue
		}
		found++
		if r["run"] != "2 of 150 rounds, 4 clients in place of 24" || r["verdict"] != string(scoreboard.NotAtSize) ||
			r["command"] != "figure cafed-i1 --clients 4 --rounds 2" || r["not_judged"] != "1" {
			t.Errorf("row %v", r)
		}
	}
	if found != 1 {
		t.Errorf("%d rows of the figure, want one", found)
	}
	for _, c := range []struct {
		args   []string
		status int
		parts  []string
	}{
		{[]string{"a", "b"}, statusUsage, []string{"results scoreboard: 2 folders named, want one at most"}},
		{[]string{out, "--format", "tex"}, statusUsage, []string{`--format "tex"`, "markdown", "csv"}},
		{[]string{filepath.Join(out, "none")}, statusFailure, []string{"scoreboard", "none"}},
	} {
		oneLineError(t, rollcall(t, append([]string{"results", "scoreboard"}, c.args...)...), c.status, c.parts...)
	}
}
