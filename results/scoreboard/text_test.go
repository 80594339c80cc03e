package scoreboard

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/results"
)

// The page keeps everything outside its marked lines, and what is between them is written anew.
func TestUpdate(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	rows := []Row{{Document: "FedAWE", Item: "Table 2", Run: "whole, 3 seeds", Verdict: Partly}}
	text := "# Title\n\n" + Begin + "\nold\n" + End + "\n\nThe rest.\n"
	for range 2 { // twice: what it writes can be written over
		write(t, page, func(path string) error { return os.WriteFile(path, []byte(text), 0o600) })
		if err := Update(page, rows); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if s := string(got); !strings.HasPrefix(s, "# Title\n\n"+Begin+"\n\n| document |") ||
			!strings.HasSuffix(s, "\n\n"+End+"\n\nThe rest.\n") || strings.Contains(s, "old") ||
			!strings.Contains(s, "| FedAWE | Table 2 |") {
			t.Errorf("page %q", s)
		}
		text = string(got)
	}
	write(t, page, func(path string) error { return os.WriteFile(path, []byte(End+"\n"+Begin+"\n"), 0o600) })
	if err := Update(page, rows); err == nil || !strings.Contains(err.Error(), page) {
		t.Errorf("%v, want an error that names the page", err)
	}
}

// The slides' figures are those of the journal paper, whose sentences are listed once; what was not judged says why.
func TestMarkdown(t *testing.T) {
	dir := t.TempDir()
	figure(t, filepath.Join(dir, "cafed-f1a"), results.FigureInfo{
		Preset: "paper", Rounds: 20, Seeds: seedsTo(10), Methods: []string{"ca-fed", "adafed"},
	})
	rows, _, err := Read(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteMarkdown(&b, rows); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{
		"| CA-Fed, ToN, Figure 1a | leaf: ca-fed over adafed by +1.56 points |  | +1.50 ± 0.30 | " +
			"not judged: 20 of 200 rounds |",
		"| CA-Fed, ToN, Figure 1a | CA-Fed is ahead | V-B a | +1.50 | not judged: 20 of 200 rounds |",
		"| CA-Fed, ToN, Figure 1b | mnist: ca-fed over adafed by +0.94 points |  |  | not tried |",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%s\nwant once: %s", text, want)
		}
	}
	if strings.Contains(text, "slides, Results (a) |  |") || strings.Count(text, "by +1.56 points") != 1 {
		t.Error("the slides repeat the sentences of the journal paper")
	}
}
