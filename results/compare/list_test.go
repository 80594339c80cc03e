package compare

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/resultstest"
)

// listed is a cell with a run of every kind, and what is known of those without an end.
func listed(t *testing.T) (runs []results.Run, work map[string]Progress) {
	t.Helper()
	out := t.TempDir()
	work = map[string]Progress{}
	for _, c := range []struct {
		seed   uint32
		status results.RunStatus
		acc    []float64
		work   Progress
	}{
		{3, results.RunComplete, []float64{0.1, 0.2, 0.3, 0.4, 0.5}, Progress{}},
		{4, "", []float64{0.1, 0.3}, Progress{Round: 3, Rounds: 4, Process: "7@here"}},
		{5, results.RunInterrupted, []float64{0.1, 0.4}, Progress{Process: "8@there"}},
		{6, "", []float64{0.1, 0.5}, Progress{Round: 2, Rounds: 4}},
		{7, results.RunFailed, []float64{0.1, 0.6}, Progress{}},
		{8, results.RunDiverged, []float64{0.1, 0.7}, Progress{Process: "9@late"}},
	} {
		dir := resultstest.WriteRun(t, out, resultstest.SmallRun{
			Table: "run", Method: "mifa", Seed: c.seed, Acc: c.acc, Rounds: 4, Status: c.status,
		})
		work[dir] = c.work
	}
	runs, bad := must.Get2(results.FindRuns(t.Context(), out))(t)
	resultstest.MustHold(t, bad)
	// One that has begun, and has no curve yet.
	begun := results.Run{Dir: runs[0].Dir + "9", Setup: runs[0].Setup, Seed: 39}
	work[begun.Dir] = Progress{Rounds: 4, Process: "7@here"}
	return append(runs, begun), work
}

func TestListRuns(t *testing.T) {
	runs, work := listed(t)
	rows := ListRuns(runs, work)
	if len(rows) != 1 {
		t.Fatalf("%d rows %+v, want 1", len(rows), rows)
	}
	r := rows[0]
	if want := "1 complete, 3 running, 1 diverged, 1 failed, 1 unfinished"; r.Status != want {
		t.Errorf("status %q, want %q", r.Status, want)
	}
	if r.Process != "7@here 8@there" {
		t.Errorf("processes %q, want those that make runs, each once", r.Process)
	}
	if r.Seeds != "3 4 5 6 7 8 39" || r.Rounds != 0 || r.Most != 4 || r.Total != files.Some(4) {
		t.Errorf("seeds %q, rounds %d … %d of %s, want 3 4 5 6 7 8 39 and 0 … 4 of 4",
			r.Seeds, r.Rounds, r.Most, r.Total)
	}
	var text strings.Builder
	must.OK(t, WriteList(&text, rows, math.MaxInt))
	want := "   0 … 4 of 4   1 complete, 3 running, 1 diverged, 1 failed, 1 unfinished   7@here 8@there\n"
	if !strings.HasSuffix(text.String(), want) {
		t.Errorf("%q, want %q at its end", text.String(), want)
	}
}

// How far a run is comes from what has seen most of it; of how many rounds, from whoever knows.
func TestListRounds(t *testing.T) {
	info := func(rounds int) *results.RunInfo {
		return &results.RunInfo{Rounds: rounds, Settings: map[string]any{"rounds": "9"}}
	}
	curve := resultstest.Accuracies(0.1, 0.2, 0.3) // rounds 0, 1, 2
	for name, c := range map[string]struct {
		run  results.Run
		work Progress
		want string
	}{
		"nothing known":   {results.Run{}, Progress{}, "0"},
		"curve":           {results.Run{Curve: curve}, Progress{}, "2"},
		"curve behind":    {results.Run{Curve: curve}, Progress{Round: 5, Rounds: 8}, "5 of 8"},
		"curve ahead":     {results.Run{Curve: curve}, Progress{Round: 1, Rounds: 8}, "2 of 8"},
		"params":          {results.Run{Curve: curve, Params: "lr=1;rounds=7"}, Progress{}, "2 of 7"},
		"run.json":        {results.Run{Curve: curve, Info: info(3)}, Progress{}, "3 of 9"},
		"run.json is off": {results.Run{Curve: curve, Damaged: true, Info: info(77)}, Progress{}, "2 of 9"},
		"done":            {results.Run{Curve: curve}, Progress{Rounds: 2}, "2"},
	} {
		t.Run(name, func(t *testing.T) {
			c.run.Dir = "out/run/cell/seed-3"
			rows := ListRuns([]results.Run{c.run}, map[string]Progress{c.run.Dir: c.work})
			if got := rows[0].rounds(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestListFailed(t *testing.T) {
	runs, work := listed(t)
	rows := ListFailed(runs, work, func(r *results.Run) string { return "since\n" + r.Dir[len(r.Dir)-1:] })
	var text strings.Builder
	must.OK(t, WriteFailed(&text, rows, math.MaxInt))
	want := "table   method   data      availability   seeds   rounds   status       error\n" +
		"run     mifa     cifar10   sine               6   2 of 4   unfinished   since 6\n" +
		"run     mifa     cifar10   sine               7   1 of 4   failed       since 7\n" +
		"run     mifa     cifar10   sine               8   1 of 4   diverged     since 8\n"
	if text.String() != want {
		t.Errorf("got\n%swant\n%s", text.String(), want)
	}
}

// screenRows are n cells: of three seeds each, the last at work and the one before interrupted.
func screenRows(n int) (rows []ListRow) {
	for i := range n {
		r := ListRow{
			Table: "fedawe-2", Seeds: "3 4 6", Rounds: 2000, Most: 2000, Total: files.Some(2000), Status: "complete",
			statuses: []results.RunStatus{results.RunComplete, results.RunComplete, results.RunComplete},
		}
		r.Method, r.Preset = fmt.Sprintf("fedavg-active-%02d", i), "code"
		r.Data, r.Availability = "cifar10", "interleaved-sine"
		r.Params = results.NewParams("local-steps=2", fmt.Sprintf("lr=0.%02d", i))
		switch i {
		case n - 1:
			r.Rounds, r.Most, r.Status, r.Process = 120, 340, "1 complete, 2 running", "7@here 8@there"
			r.statuses[1], r.statuses[2] = results.RunRunning, results.RunRunning
		case n - 2:
			r.Rounds, r.Status, r.statuses[2] = 40, "2 complete, 1 interrupted", results.RunInterrupted
		}
		rows = append(rows, r)
	}
	return rows
}

func TestListOnScreen(t *testing.T) {
	got := strings.Join(ListOnScreen(screenRows(4), 77, 23), "\n")
	want := `12 runs: 9 complete, 2 running, 1 interrupted; at work: 7@here, 8@there
table fedawe-2, data cifar10, availability interleaved-sine
method            setti…  seeds             rounds  status
fedavg-active-03  lr=0.…  3 4 6  120 … 340 of 2000  1 complete, 2 running
fedavg-active-02  lr=0.…  3 4 6  40 … 2000 of 2000  2 complete, 1 interrupted
fedavg-active-00  lr=0.…  3 4 6               2000  complete
fedavg-active-01  lr=0.…  3 4 6               2000  complete`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	got = strings.Join(ListOnScreen(screenRows(30), 120, 6), "\n")
	want = `90 runs: 87 complete, 2 running, 1 interrupted; at work: 7@here, 8@there
table fedawe-2, data cifar10, availability interleaved-sine
method            settings  seeds             rounds  status
fedavg-active-29  lr=0.29   3 4 6  120 … 340 of 2000  1 complete, 2 running
fedavg-active-28  lr=0.28   3 4 6  40 … 2000 of 2000  2 complete, 1 interrupted
… 28 more`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Whatever the terminal, nothing is longer or higher; and whatever is read, nothing commands it.
func TestListOnScreenFits(t *testing.T) {
	rows := screenRows(12)
	rows[3].Mark, rows[3].Process = "[\x1b[2J]", "9@\x1b]0;x\a"
	rows[5].Data, rows[6].Table, rows[7].Availability = "mnist", "run", "sine"
	for _, columns := range []int{1, 9, 20, 44, 79, 200} {
		for _, lines := range []int{0, 1, 2, 3, 4, 5, 14, 15, 16, 60} {
			for _, n := range []int{0, 1, len(rows)} {
				got := ListOnScreen(rows[:n], columns, lines)
				if len(got) > lines {
					t.Errorf("%d×%d, %d rows: %d lines", columns, lines, n, len(got))
				}
				for _, line := range got {
					if utf8.RuneCountInString(line) > columns || strings.ContainsAny(line, "\x1b\a\n") {
						t.Errorf("%d×%d, %d rows: line %q, want at most %d characters, all to be seen",
							columns, lines, n, line, columns)
					}
				}
				if text := strings.Join(got, "\n"); columns == 200 && lines > 3 {
					more := 0
					_, _ = fmt.Sscanf(got[len(got)-1], "… %d more", &more)
					if shown := strings.Count(text, "fedavg-active"); shown+more != n {
						t.Errorf("%d lines: %d rows shown and %d more, want %d in all:\n%s",
							lines, shown, more, n, text)
					}
				}
			}
		}
	}
}
