package track

import (
	"fmt"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// TestWriteOpenMetrics has a small file as a whole; TestTrackOpenMetrics reads one with Prometheus's own parser.
func TestWriteOpenMetrics(t *testing.T) {
	h := slowed(64)
	h.Machine = Machine{Device: `a "CPU"`, Name: `x\y`}
	v := verdictOn(t, h)
	var text strings.Builder
	must.OK(t, WriteOpenMetrics(&text, []Verdict{v}))
	for _, want := range []string{
		"# TYPE rollcall_open_regressions gauge\n",
		fmt.Sprintf(`rollcall_open_regressions{machine="x\\y, a \"CPU\"%s",fingerprint="%s"} 1`+"\n",
			strings.TrimPrefix(v.Machine, `x\y, a "CPU"`), v.Fingerprint),
		`event="` + v.Events[0].ID + `",state="open",version="v2",metric="metric/01",unit="ms"} 0.1`,
		"} 1772416800\n", // 2026-03-02 02:00:00 UTC
		"# EOF\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("got\n%s\nwant %q in it", text.String(), want)
		}
	}
}
