package many

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/must"
	"rollcall/results/metrics"
	"rollcall/results/papers"
)

// Cells that are one and the same run train it once, whichever begins; a reference is known before its column is
// summarised. The summary is the same, however many runs are made at once.
func TestAtOnceSharedRuns(t *testing.T) {
	column := papers.Column{Data: "leaf", Availability: "stationary"}
	var cells []Cell
	for _, method := range []string{"fedavg-active", "mifa", "mifa", "fedavg-active", "fedvarp", "mifa"} {
		s := must.Get(settings.Defaults(method, "code", "leaf"))(t)
		s.Clients, s.Rounds, s.LocalSteps, s.Batch, s.EvalEvery = 4, 4, 1, 4, 1
		cells = append(cells, Cell{Settings: s, Column: column})
	}
	of := papers.Sweep("pairs", "Pairs", nil, []uint32{1, 2, 3})
	paired := must.Get(papers.TableByID("fedar-2"))(t)
	of.Entries, of.Reference = paired.Entries, "fedavg-active"
	want := ""
	for _, pack := range []int{1, 2, 5} {
		machine := run.Machine{Device: "cpu", Threads: 1, Out: t.TempDir(), AtOnce: pack}
		for _, again := range []bool{false, true} {
			var log bytes.Buffer
			pool := NewPool(&log, machine, Keep{Keep: run.Keep{Again: again}})
			made := must.Get(pool.Table(t.Context(), &of, cells))(t)
			must.OK(t, pool.Close())
			if n := strings.Count(log.String(), ": round 0/4"); n != 9 {
				t.Errorf("pack %d, again %t: %d runs begun, want 3 methods × 3 seeds:\n%s", pack, again, n, &log)
			}
			if n := strings.Count(log.String(), "3 finished runs kept\n"); n != 3 && !again {
				t.Errorf("pack %d: %d cells kept, want the three that others made:\n%s", pack, n, log.String())
			}
			p := map[string]int{}
			for _, row := range made.Rows {
				if row.Method != "fedavg-active" && row.Mean.Valid {
					p[string(row.Metric)]++
				}
			}
			// Three cells of mifa and one of fedvarp are asked for, which is what p_holm corrects for.
			if p[string(metrics.PSeeds)] != 4 || p[string(metrics.PHolm)] != 4 {
				t.Errorf("pack %d, again %t: %v, want a p-value of each cell of mifa and fedvarp", pack, again, p)
			}
			text := string(must.Get(os.ReadFile(made.Path))(t))
			if want == "" {
				want = text
			}
			if text != want {
				t.Errorf("pack %d, again %t: summary.csv\n%s\nwant\n%s", pack, again, text, want)
			}
		}
	}
}
