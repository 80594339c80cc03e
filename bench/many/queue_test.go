package many

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"rollcall/bench/run"
)

const turn = 10 * time.Second

// begin begins a job, which has to be the one that is wanted; -1: none.
func begin(t *testing.T, q *queue, now time.Time, want int) (again time.Time) {
	t.Helper()
	n, again := q.Begin(now)
	if n != want {
		t.Fatalf("after %s: job %d, want %d: %+v", now.Sub(time.Time{}), n, want, q.jobs)
	}
	return again
}

// Jobs come in order; what failed comes after all others, what failed less often first.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		name string
		runs string // of the jobs, a letter each
		fail string // jobs, as often as they fail
		want string // the jobs, one at a time
	}{
		{"nothing fails", "abcd", "", "0123"},
		{"one fails", "abcd", "1", "01231"},
		{"some fail, one of them twice", "abcd", "0023", "0123023" + "0"},
		{"the first fails three times, the last once", "abc", "0002", "012" + "02" + "0" + "0"},
		{"jobs of one run", "aab", "0", "0120"},
	} {
		q := newQueue(turn, strings.Split(c.runs, ""))
		now, got, left := time.Time{}, "", c.fail
		for {
			now = now.Add(time.Second)
			n, again := q.Begin(now)
			if n < 0 {
				if !again.IsZero() || !q.Over() {
					t.Errorf("%s: again at %s, over %t, want never, and true", c.name, again, q.Over())
				}
				break
			}
			name := fmt.Sprint(n)
			got += name
			if strings.Contains(left, name) {
				left = strings.Replace(left, name, "", 1)
				q.Failed(n, now)
			} else {
				q.Done(n, now)
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Jobs with more work come first, equal ones in order, and what failed comes after all others all the same.
func TestMostFirst(t *testing.T) {
	q, now := newQueue(turn, []string{"a", "b", "b", "c", "d"}), time.Time{}
	q.MostFirst([]float64{1, 5, 7, 5, 9})
	begin(t, q, now, 4)
	begin(t, q, now, 2)
	q.Failed(4, now)
	begin(t, q, now, 3) // and not 1, whose run is at work
	q.Done(2, now)
	begin(t, q, now, 1)
	begin(t, q, now, 0)
	begin(t, q, now, 4)
	for n := range 5 {
		if !q.jobs[n].begun {
			t.Errorf("job %d has not begun, want all", n)
		}
	}
	q.Return(1)
	if begin(t, q, now, 1); !q.jobs[1].begun || q.jobs[1].state != jobRuns {
		t.Error("a job that was put back does not run again")
	}
}

// Two jobs of one run are not done at the same time, and none is begun twice.
func TestAtTheSameTime(t *testing.T) {
	q, now := newQueue(turn, []string{"a", "a", "b"}), time.Time{}
	begin(t, q, now, 0)
	begin(t, q, now, 2)
	if again := begin(t, q, now, -1); !again.IsZero() || q.Over() {
		t.Errorf("again at %s, over %t, want that only the end of a job changes anything", again, q.Over())
	}
	q.Return(2)
	begin(t, q, now, 2)
	q.Done(0, now)
	begin(t, q, now, 1)
	q.Done(1, now)
	q.Done(2, now)
	if begin(t, q, now, -1); !q.Over() {
		t.Error("it is not over, want that it is")
	}
}

// What other processes do is looked at after a turn, before new jobs begin; and once when nothing else is left.
func TestElsewhere(t *testing.T) {
	q := newQueue(turn, []string{"a", "b", "c", "d"})
	at := func(sec int) time.Time { return time.Time{}.Add(time.Duration(sec) * time.Second) }
	begin(t, q, at(1), 0)
	q.Found(0, at(1))
	begin(t, q, at(1), 1)
	q.Found(1, at(2))
	begin(t, q, at(3), 2)
	if got, want := begin(t, q, at(4), 3), (time.Time{}); got != want {
		t.Errorf("with a job: again at %s, want %s", got, want)
	}
	if got, want := begin(t, q, at(5), -1), at(11); got != want || q.Elsewhere() != nil {
		t.Errorf("while others run: again at %s, elsewhere alone %v, want %s, none", got, q.Elsewhere(), want)
	}
	begin(t, q, at(11), 0) // after a turn
	q.Found(0, at(11))
	q.Failed(2, at(12))
	begin(t, q, at(12), 1) // before the job that failed
	q.Found(1, at(13))
	begin(t, q, at(13), 2)
	q.Done(2, at(14))
	q.Done(3, at(14))
	begin(t, q, at(14), 0) // nothing else is left
	q.Found(0, at(14))
	begin(t, q, at(14), 1)
	q.Found(1, at(15))
	again := begin(t, q, at(15), -1)
	if got := fmt.Sprint(q.Elsewhere()); got != "[0 1]" || !again.Equal(at(24)) || q.Over() {
		t.Errorf("elsewhere alone: %s, again at %s, over %t, want [0 1], %s, false", got, again, q.Over(), at(24))
	}
	begin(t, q, at(24), 0)
	q.Done(0, at(24)) // which was only looked at
	if again := begin(t, q, at(24), -1); !again.Equal(at(25)) {
		t.Errorf("again at %s, want %s", again, at(25))
	}
	q.Done(1, at(24)) // given up
	if begin(t, q, at(24), -1); !q.Over() || q.Elsewhere() != nil {
		t.Errorf("over %t, elsewhere %v, want true, none", q.Over(), q.Elsewhere())
	}
}

// What takes others long is looked at less and less often.
func TestPause(t *testing.T) {
	q, now := newQueue(turn, []string{"a"}), time.Time{}.Add(time.Hour)
	began, looks := now, 0
	for now.Sub(began) < 24*time.Hour {
		n, again := q.Begin(now)
		if n < 0 {
			if wait := again.Sub(now); wait < turn || wait > 50*turn {
				t.Fatalf("looked at again after %s, want %s … %s", wait, turn, 50*turn)
			}
			now = again
			continue
		}
		looks++
		q.Found(n, now)
	}
	if waited := q.jobs[0].tried.Sub(q.jobs[0].first); looks < 170 || looks > 300 || waited < 23*time.Hour {
		t.Errorf("%d looks in a day, the last after %s, want about one in 500 s once the first hours are over",
			looks, waited)
	}
	if got := run.Pause(turn, 2000*time.Second); got != 100*time.Second {
		t.Errorf("pause %s after 2000 s, want a twentieth", got)
	}
}
