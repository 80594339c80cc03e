package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/judge"
	"rollcall/results/metrics"
	"rollcall/results/papers"
	"rollcall/results/resultstest"
)

// Each rule of the verdicts, and the cases beside it.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		tally Tally
		want  Verdict
	}{
		{Tally{}, Computed},
		{Tally{Shown: 5}, Computed},
		{Tally{Agree: 1}, Reproduced},
		{Tally{Agree: 9, Differ: 1}, Reproduced}, // one in ten
		{Tally{Agree: 8, Differ: 1}, Partly},
		{Tally{Agree: 9, Differ: 1, wrong: 1}, Partly}, // a sentence
		{Tally{Agree: 9, NotRun: 1}, Partly},
		{Tally{Agree: 3, Untold: 2}, Reproduced},
		{Tally{Agree: 2, Untold: 2}, CannotTell}, // half of it is not most of it
		{Tally{Agree: 1, Differ: 1}, Partly},
		{Tally{Agree: 1, Differ: 2}, NotReproduced},
		{Tally{Differ: 1, wrong: 1}, NotReproduced},
		{Tally{NotRun: 3}, NotAtSize},
		{Tally{NotRun: 3, Untold: 1}, CannotTell},
		{Tally{Untold: 2}, CannotTell},
	} {
		if got := c.tally.verdict(); got != c.want {
			t.Errorf("%v: %s, want %s", &c.tally, got, c.want)
		}
	}
}

// summary writes a summary of fedawe-2 with one row for each method: fedawe as the paper has it, fedau 0.1 below it.
func summary(t *testing.T, dir, preset string, rounds, seeds int) {
	t.Helper()
	row := func(method string, mean float64) results.SummaryRow {
		r := resultstest.Row("fedawe-2", method, "svhn", "sine", metrics.TestAcc, mean, seeds)
		r.Preset, r.Rounds, r.Std = preset, rounds, files.Some(0.005)
		return r
	}
	put(t, filepath.Join(dir, results.SummaryFile), func(path string) error {
		return results.WriteSummary(path, []results.SummaryRow{row("fedawe", 0.856), row("fedau", 0.725)})
	})
}

// put makes the folder of a file and calls f with its path.
func put(t *testing.T, path string, f func(path string) error) {
	t.Helper()
	must.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.OK(t, f(path))
}

// figure writes figure 1a of ToN with CA-Fed ahead by 1.5 ± 0.3 points over ten seeds, where the paper has 1.56.
func figure(t *testing.T, dir string, info results.FigureInfo) {
	t.Helper()
	base := filepath.Join(dir, "cafed-f1a")
	info.Figure, info.PaperRounds, info.PaperSeeds, info.Trained = "cafed-f1a", 200, 10, true
	info.Clients, info.PaperClients, info.PaperMethods = []int{100}, []int{100}, []string{"ca-fed", "adafed"}
	info.Data, info.PaperData = map[string]string{"leaf": "seed-sha256"}, []string{"leaf"}
	put(t, base+".json", func(path string) error { return results.WriteFigureInfo(path, info) })
	put(t, base+papers.PaperSuffix, func(path string) error {
		return files.WriteCSVFile(path, []papers.Claim{
			{
				Item: "cafed-f1a", Where: "leaf", Says: "ca-fed over adafed by +1.56 points", Printed: files.Some(1.56),
				Ours: "+1.50 ± 0.30", N: 10, Outcome: judge.Outcome{Verdict: judge.Agrees},
			},
			{
				Item: "cafed-f1a", Says: "CA-Fed is ahead", Place: "V-B a", Ours: "+1.50",
				Outcome: judge.Outcome{Verdict: judge.Agrees},
			},
		})
	})
}

// seedsTo returns the seeds 1 … n.
func seedsTo(n uint32) (seeds []uint32) {
	for s := range n {
		seeds = append(seeds, s+1)
	}
	return seeds
}

// only returns the rows of an item.
func only(rows []Result, document, item string) (found []Result) {
	for _, r := range rows {
		if r.Document == document && r.Item == item {
			found = append(found, r)
		}
	}
	return found
}

// Rows of methods that a table does not have change nothing: neither with more seeds or other rounds than the others,
// nor in a preset of their own.
func TestReadFurtherMethods(t *testing.T) {
	dir := t.TempDir()
	summary(t, filepath.Join(dir, "fedawe-2"), "code", 2000, 1)
	read := func() string {
		rows, _, err := Read(t.Context(), dir)
		must.OK(t, err)
		return fmt.Sprintf("%+v", only(rows, "FedAWE", "Table 2"))
	}
	before := read()
	path := filepath.Join(dir, "fedawe-2", results.SummaryFile)
	rows := must.Get(results.ReadSummary(path))(t)
	for i, preset := range []string{"code", "code", "paper"} {
		r := rows[0]
		r.Method, r.Preset, r.N, r.Rounds = []string{"scaffold", "new"}[i%2], preset, 3, 2000-i
		rows = append(rows, r)
	}
	must.OK(t, results.WriteSummary(path, rows))
	if after := read(); after != before || !strings.Contains(before, "1 of 3 seeds") {
		t.Errorf("%s\nwant as before\n%s", after, before)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	both := []string{"ca-fed", "adafed"}
	summary(t, filepath.Join(dir, "fedawe-2", "short"), "code", 100, 1)
	summary(t, filepath.Join(dir, "fedawe-2", "whole"), "paper", 2000, 3)
	figure(t, filepath.Join(dir, "cafed-f1a"), results.FigureInfo{
		Preset: "paper", Rounds: 200, Seeds: seedsTo(10), Methods: both,
	})
	figure(t, filepath.Join(dir, "cafed-f1a", "code"), results.FigureInfo{
		Preset: "code", Rounds: 20, Seeds: seedsTo(2), Methods: both[:1], Diverged: 1,
		Settings: map[string]string{"seeds": "1,2", "rounds": "20"},
	})
	for _, folder := range []string{"precision", "cafed-f1c/fedawe_leaf_sine_0a/seed-3"} {
		must.OK(t, os.MkdirAll(filepath.Join(dir, folder), 0o700))
	}
	rows, notes, err := Read(t.Context(), dir)
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "precision") {
		t.Fatalf("notes %q, %v, want one of precision", notes, err)
	}
	for _, c := range []struct {
		document, item, reading, command, run string
		tally                                 Tally
		verdict                               Verdict
	}{
		{
			"FedAWE", "Table 2", "short", "table fedawe-2", "100 of 2000 rounds, 1 of 3 seeds, 2 of 192 numbers",
			Tally{NotRun: 193},
			NotAtSize,
		},
		{ // 0.856 beside 0.856; 0.725 beside 0.825; fedawe is ahead of fedau, but the other methods were not run
			"FedAWE", "Table 2", "whole", "table fedawe-2 --preset paper", "2 of 192 numbers",
			Tally{Differ: 1, Untold: 2, NotRun: 190},
			CannotTell,
		},
		{"FedAWE", "Table 8", "", "table fedawe-8", "not run", Tally{}, NotTried},
		{"FedAWE", "Table 1", "", "", "text", Tally{}, NothingToRun},
		{"CA-Fed, ToN", "Figure 1a", "", "figure cafed-f1a", "whole, 10 seeds", Tally{Agree: 2}, Reproduced},
		{
			"CA-Fed, ToN", "Figure 1a", "code", "figure cafed-f1a --preset code --rounds 20 --seeds 1,2",
			"20 of 200 rounds, 2 of 10 seeds, 1 of 2 methods, 1 run diverged",
			Tally{NotRun: 2},
			NotAtSize,
		},
		{
			"CA-Fed, slides", "Results (a)", "", "figure cafed-f1a", "whole, 10 seeds",
			Tally{Agree: 2},
			Reproduced,
		},
		{"CA-Fed, ToN", "Figure 1c", "", "figure cafed-f1c", "not run", Tally{}, NotTried},
	} {
		found := only(rows, c.document, c.item)
		i := 0
		for i < len(found)-1 && found[i].Reading != c.reading {
			i++
		}
		if len(found) == 0 {
			t.Errorf("%s, %s: no row", c.document, c.item)
			continue
		}
		if r := found[i]; r.Reading != c.reading || r.Command != c.command || r.Run != c.run || r.Tally != c.tally ||
			r.Verdict != c.verdict {
			t.Errorf("%s, %s:\ngot  %q, %q, %q, %+v, %s\nwant %q, %q, %q, %+v, %s", c.document, c.item,
				r.Reading, r.Command, r.Run, r.Tally, r.Verdict, c.reading, c.command, c.run, c.tally, c.verdict)
		}
	}
	// Every item of every document has a row, and two have two readings each: table 2, and figure 1a, also of the
	// slides.
	items := 0
	for _, d := range papers.Documents() {
		items += len(d.Items)
	}
	if len(rows) != items+3 {
		t.Errorf("%d rows of %d items, want three more", len(rows), items)
	}
}

// Files that are not what they should be are errors that name them.
func TestReadErrors(t *testing.T) {
	for name, c := range map[string]struct {
		path string
		make func(t *testing.T, dir string)
		want string
	}{
		"another table": {
			"cafed-1", func(t *testing.T, dir string) { summary(t, dir, "code", 2000, 3) }, "a row of fedawe-2",
		},
		"another figure": {"cafed-f1b", func(t *testing.T, dir string) {
			figure(t, dir, results.FigureInfo{})
			must.OK(t, os.Rename(filepath.Join(dir, "cafed-f1a.json"), filepath.Join(dir, "cafed-f1b.json")))
		}, "figure cafed-f1a, want cafed-f1b"},
		"no summary": {"fedawe-2", func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, results.SummaryFile), func(path string) error {
				return os.WriteFile(path, []byte("nonsense\n"), 0o600)
			})
		}, "summary.csv"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.make(t, filepath.Join(dir, c.path))
			if _, _, err := Read(t.Context(), dir); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if _, _, err := Read(t.Context(), filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no folder: no error")
	}
}
