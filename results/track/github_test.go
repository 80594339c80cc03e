package track

import (
	"strings"
	"testing"

	"rollcall/internal/must"
)

func TestWriteGitHub(t *testing.T) {
	h := slowed(64)
	for i := range h.Nights {
		h.Nights[i].Version += "|100%\n::error::x"
	}
	h.Nights[63].Values = h.Nights[63].Values[:2]
	var log, page strings.Builder
	must.OK(t, WriteGitHub(&log, &page, []Verdict{verdictOn(t, h)}))
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "::warning title=rollcall%3A not judged::gone: metric/02") ||
		!strings.HasPrefix(lines[1], "::error title=rollcall is slower::") ||
		!strings.Contains(lines[1], "v2|100%25%0A::error") {
		t.Errorf("annotations: got %q", lines)
	}
	for _, want := range []string{"| **open** | 2026-03-02 | v2\\|100% ::error::x | v1", "| metric/01 | +12 % |"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("summary:\n%s\nwant %q in it", page.String(), want)
		}
	}
}
