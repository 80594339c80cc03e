package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/judge"
	"rollcall/results/papers"
)

// The pages in the repository are what the results in the repository give, and have a block for every item.
func TestPages(t *testing.T) {
	pages := append(must.Get(filepath.Glob("../../docs/reproduction/*.md"))(t), "../../README.md")
	dir, args, all := t.TempDir(), []string{"../replay"}, ""
	for i, page := range pages {
		copied := filepath.Join(dir, fmt.Sprint(i, ".md"))
		text := must.Get(os.ReadFile(page))(t)
		must.OK(t, os.WriteFile(copied, text, 0o600))
		args, all = append(args, copied), all+string(text)
	}
	var stderr bytes.Buffer
	if status := run(args, &stderr); status != 0 {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	if !strings.Contains(stderr.String(), "precision: no table or figure of a paper: left out") {
		t.Errorf("%s\nwant a note on the runs that are of no table", &stderr)
	}
	for i, page := range pages {
		if !bytes.Equal(must.Get(os.ReadFile(args[1+i]))(t), must.Get(os.ReadFile(page))(t)) {
			t.Errorf("%s is not what results/replay has, want `make scoreboard`", page)
		}
	}
	for _, d := range papers.Documents() {
		for _, item := range d.Items {
			if item.ID == "" {
				continue
			}
			for _, folder := range []string{"/*/", "/*/*/"} { // of the default reading, and of others
				for _, path := range must.Get(filepath.Glob("../replay/" + item.ID + folder + "seed-*/run.json"))(t) {
					if v := must.Get(results.ReadRunInfo(path))(t).Version; !strings.Contains(all, v) {
						t.Errorf("%s was made by version %s, which no page names", path, v)
					}
				}
			}
			if n := strings.Count(all, "\n<!--"+item.ID+"-->\n") + strings.Count(all, "\n<!--"+item.ID+": "); n != 1 {
				t.Errorf("%s: %d blocks, want one", item.ID, n)
			}
		}
	}
}

// Blocks are written anew, everything else stays, and a filled page can be filled again.
func TestFill(t *testing.T) {
	rows := []Result{{ID: "cafed-f1c", Command: "figure cafed-f1c", Run: "not run", Verdict: NotTried}}
	text := "# Title\n\n<!--cafed-f1c: 39 hours-->\nold\n<!--end-->\n\nBetween. <!-- a comment -->\n\n" +
		"<!--cafed-f1c-->\n<!--end-->\nThe rest"
	want := "# Title\n\n<!--cafed-f1c: 39 hours-->\n\n`figure cafed-f1c`, 39 hours: not run.\n\n<!--end-->\n\n" +
		"Between. <!-- a comment -->\n\n<!--cafed-f1c-->\n\n`figure cafed-f1c`: not run.\n\n<!--end-->\nThe rest"
	for range 2 {
		got, err := fillPage(text, rows)
		if err != nil || got != want {
			t.Fatalf("%v\n%s\nwant\n%s", err, got, want)
		}
		text = got
	}
}

// Every error says in which line it is, and no page is written.
func TestFillRefuses(t *testing.T) {
	const begin = "<!--cafed-f1c-->\n"
	rows := []Result{{ID: "cafed-f1c"}}
	for text, want := range map[string]string{
		"# Title\n" + blockEnd + "\n":    "line 2: \"" + blockEnd + "\" without",
		begin + "old\n":                  "line 1: the block has no end",
		begin + begin + blockEnd:         "line 2: a block starts in the block of line 1",
		"\n<!--cafed-f9-->\n" + blockEnd: "line 2: cafed-f9: no table or figure",

		"<!--cafed-f1c/paper: sine, mnist-->\n" + blockEnd: "line 1: cafed-f1c/paper: no numbers at \"sine, mnist\"",
	} {
		if _, err := fillPage(text, rows); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	dir := t.TempDir()
	must.OK(t, os.WriteFile(filepath.Join(dir, "a.md"), []byte("<!--cafed-f1c-->\n<!--end-->\n"), 0o600))
	must.OK(t, os.WriteFile(filepath.Join(dir, "b.md"), []byte(begin), 0o600))
	var stderr bytes.Buffer
	status := run([]string{"../replay", filepath.Join(dir, "a.md"), filepath.Join(dir, "b.md")}, &stderr)
	if status != 1 || !strings.Contains(stderr.String(), "b.md: line 1") {
		t.Errorf("status %d, %s, want 1 and b.md", status, &stderr)
	}
	if text := must.Get(os.ReadFile(filepath.Join(dir, "a.md")))(t); strings.Contains(string(text), "figure") {
		t.Errorf("a.md was written: %s", text)
	}
	for _, args := range [][]string{{}, {"../replay", "none.md"}, {"none"}} { // this folder has no results and no pages
		if status := run(args, &stderr); status == 0 {
			t.Errorf("%q: status 0", args)
		}
	}
}

// A block has a column for each reading but those that are there as the ones before, in which a claim stands once, and
// the verdicts of readings that were chosen late are marked.
func TestBlock(t *testing.T) {
	said := func(ours string, v judge.Verdict, seeds int) []papers.Claim {
		return []papers.Claim{{
			Where: "mnist", Says: "a over b by +1 points", Printed: files.Some(1), Ours: ours,
			Outcome: judge.Outcome{Verdict: v, Seeds: seeds},
		}}
	}
	rows := []Result{
		{
			ID: "x", Command: "figure x", Reading: "paper", Run: "whole, 10 seeds", Verdict: NotReproduced,
			Picture: true, Item: "Figure 9", Late: true, Before: CannotTell, reading: "paper", before: "paper,min",
			Claims: said("+0.10 ± 0.20 (10 seeds) after round 200", judge.Differs, 0),
		},
		{
			ID: "x", Command: "figure x --reading min", Reading: "min", reading: "paper,min", Run: "whole, 10 seeds",
			Verdict: CannotTell, Claims: said("+0.70", judge.Untold, 12),
		},
		{
			ID: "x", Command: "figure x --preset code", Reading: "code", reading: "code", Run: "1 of 10 seeds",
			Verdict: CannotTell, Claims: said("+0.80", judge.Untold, 12),
		},
	}
	want := `| the paper says | paper | code |
|---|---|---|
| mnist: a over b by +1 points | +0.10 ± 0.20 ✗ | +0.80 ? n=12 |
| verdict | not reproduced † (before: cannot be told) | cannot be told |

` + "`figure x`, a minute: whole, 10 seeds; 1 of 10 seeds.\n\n![Figure 9](../../results/replay/x/paper/x.svg)\n"
	if got := itemBlock(rows, "a minute"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The numbers of a table stand in a grid, whose heading has what all of them have.
func TestGrid(t *testing.T) {
	of := func(place, method, metric, ours, printed string, v judge.Verdict) number {
		return number{place, method, metric, "after the last round", papers.Claim{
			Ours: ours, Says: printed, Outcome: judge.Outcome{Verdict: v},
		}}
	}
	r := Result{Verdict: Partly, Numbers: []number{
		of("uniform, mnist", "a", "accuracy mean (%)", "52.8 ± 0.9", "40.9", judge.Differs),
		of("uniform, mnist", "a", "accuracy std (%)", "9.6", "9.5", judge.Agrees),
		of("uniform, svhn", "a", "accuracy mean (%)", "", "40.9", judge.NotJudged), // not run
		of("uniform, mnist", "b", "accuracy std (%)", "9.7", "20.7", judge.Differs),
	}}
	want := `| ours (printed), uniform, mnist, after the last round: accuracy … (%) | mean | std |
|---|---|---|
| a | 52.8 ± 0.9 (40.9) ✗ | 9.6 (9.5) ✓ |
| b |  | 9.7 (20.7) ✗ |

`
	var b strings.Builder
	if r.grid(&b, false); b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
	one, err := columnBlock([]Result{{ID: "x"}, r}, "", "uniform, mnist")
	if err != nil || one+"\n" != want {
		t.Errorf("%v\n%s\nwant the same, which is of one column", err, one)
	}
	b.Reset()
	r.Numbers = r.Numbers[2:3]
	if r.grid(&b, false); b.String() != "" {
		t.Errorf("%q of nothing", &b)
	}
}

func TestShort(t *testing.T) {
	const three = "adafed 1.04, 0.94; ca-fed 0.93, 0.94; f3ast 1.0 of the target"
	for _, c := range []struct{ ours, want string }{
		{"8 of 10 seeds (49 … 94 % of all runs); left out in 19 % of the rounds", "8 of 10"},
		{"3 of 3; cifar10 rounds", "3 of 3"},
		{"+1.21 ± 0.34 (10 seeds) after round 100", "+1.21 ± 0.34"},
		{"mnist: -0.45 ± 0.31 points over unbiased", "-0.45 ± 0.31 over unbiased"},
		{
			"markov, binary: -0.32 ahead of adafed; markov, mnist: +2.55 ahead of f3ast",
			"binary: -0.32 over adafed; mnist: +2.55 over f3ast",
		},
		{
			"mnist, t=1: +2 points over a; mnist, t=2: -0.5 ± 1 points over b; mnist, t=3: +1 points over a",
			"t=2: -0.5 ± 1 over b, least of 3",
		},
		{three, three},
		{"Kendall's τ -0.30 ± 0.22; stale 0: -8 ± 73 %", "Kendall's τ -0.30 ± 0.22"},
		{"", ""},
	} {
		if got := short(c.ours); got != c.want {
			t.Errorf("%q: %q, want %q", c.ours, got, c.want)
		}
	}
}

// The sum counts each item of a document once, in the default reading, also those that the slides repeat.
func TestSum(t *testing.T) {
	dir := t.TempDir()
	figure(t, filepath.Join(dir, "cafed-f1a"), results.FigureInfo{
		Preset: "paper", Rounds: 200, Seeds: seedsTo(10), Methods: []string{"ca-fed", "adafed"},
	})
	rows, _ := must.Get2(Read(t.Context(), dir))(t)
	text := must.Get(sum(rows))(t)
	for _, want := range []string{
		"| FedAWE | 0 | 0 | 0 | 0 | 10 | 5 |",
		"| CA-Fed, ToN | 1 | 0 | 0 | 0 | 12 | 2 | Figure 1a (not tried before) |",
		"Figure 1a: leaf: ca-fed over adafed by +1.56 points; ours: +1.50 ± 0.30 ✓ |",
		"| CA-Fed, slides | 1 | 0 | 0 | 0 | 3 | 2 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nwant %s", text, want)
		}
	}
}
