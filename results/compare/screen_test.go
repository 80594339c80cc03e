package compare

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"rollcall/internal/files"
	"rollcall/results"
)

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
