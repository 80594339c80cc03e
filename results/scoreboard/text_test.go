package scoreboard

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
)

// The slides' figures are those of the journal paper, whose sentences are listed once; what was not judged says why.
func TestMarkdown(t *testing.T) {
	dir := t.TempDir()
	figure(t, filepath.Join(dir, "cafed-f1a"), results.FigureInfo{
		Preset: "paper", Rounds: 20, Seeds: seedsTo(10), Methods: []string{"ca-fed", "adafed"},
	})
	rows, _ := must.Get2(Read(t.Context(), dir))(t)
	var b bytes.Buffer
	must.OK(t, WriteMarkdown(&b, rows))
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
