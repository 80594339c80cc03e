// Package queue says which job of many comes next: what failed comes again after all others, and what another process
// does when that may have ended.
package queue

import "time"

// Queue is jobs that some workers do. The numbers of the jobs are their order. It is not safe for concurrent use.
type Queue struct {
	turn  time.Duration
	jobs  []job
	ended time.Time // when a job last came to an end that was not begun only to be looked at; zero: none has
}

type job struct {
	run    string
	state  state
	failed int       // attempts
	asked  bool      // it was begun only to see whether another process still does it
	first  time.Time // when another process was found to do it
	tried  time.Time // when that was last so
}

type state int

const (
	waits state = iota
	runs
	elsewhere // another process does it, as far as is known
	done
)

// New returns a queue of jobs, each named after the run that it makes: two of the same run are not done at the same
// time. What another process does is looked at again after a turn, and the less often the longer it takes: see [Pause].
func New(turn time.Duration, runs []string) *Queue {
	q := &Queue{turn: turn, jobs: make([]job, len(runs))}
	for i, run := range runs {
		q.jobs[i].run = run
	}
	return q
}

// Begin returns the job that is to be begun now, and counts it as running; -1: there is none. It may then be asked
// again when a job has ended, and at the time it returns, which is zero if no time alone changes anything.
//
// What other processes did some time ago comes first: they may have ended, and to see that takes no time. Then come the
// jobs in order, and after them those that failed, the least often first. Once none of all these is left or runs, what
// others do is looked at without waiting for the turn.
func (q *Queue) Begin(now time.Time) (n int, again time.Time) {
	alone := q.alone()
	n = -1
	for i := range q.jobs {
		j := &q.jobs[i]
		if j.state != elsewhere {
			continue
		}
		due := j.tried.Add(Pause(q.turn, j.tried.Sub(j.first)))
		if !now.Before(due) || alone && j.tried.Before(q.ended) {
			n = i
			break
		}
		if again.IsZero() || due.Before(again) {
			again = due
		}
	}
	if n < 0 {
		n = q.next()
	}
	if n < 0 {
		return -1, again
	}
	q.jobs[n].asked = q.jobs[n].state == elsewhere
	q.jobs[n].state = runs
	return n, time.Time{}
}

// next returns the first of the waiting jobs that failed the least often and can be begun; -1: there is none.
func (q *Queue) next() int {
	busy := map[string]bool{}
	for _, j := range q.jobs {
		if j.state == runs {
			busy[j.run] = true
		}
	}
	n := -1
	for i, j := range q.jobs {
		if j.state == waits && !busy[j.run] && (n < 0 || j.failed < q.jobs[n].failed) {
			n = i
		}
	}
	return n
}

// Over reports whether all jobs are done.
func (q *Queue) Over() bool { return q.alone() && q.Elsewhere() == nil }

// alone reports whether nothing is left but what other processes do.
func (q *Queue) alone() bool {
	for _, j := range q.jobs {
		if j.state == waits || j.state == runs {
			return false
		}
	}
	return true
}

// Elsewhere returns the jobs that other processes do, if nothing else is left; nil: something is, or nothing at all.
func (q *Queue) Elsewhere() (jobs []int) {
	if !q.alone() {
		return nil
	}
	for i, j := range q.jobs {
		if j.state == elsewhere {
			jobs = append(jobs, i)
		}
	}
	return jobs
}

// Done ends a job.
func (q *Queue) Done(n int, now time.Time) {
	q.jobs[n].state = done
	q.end(n, now)
}

// Failed puts a job that failed behind all that failed less often.
func (q *Queue) Failed(n int, now time.Time) {
	q.jobs[n].state = waits
	q.jobs[n].failed++
	q.end(n, now)
}

func (q *Queue) end(n int, now time.Time) {
	if !q.jobs[n].asked {
		q.ended = now
	}
}

// Found says that another process does a job.
func (q *Queue) Found(n int, now time.Time) {
	j := &q.jobs[n]
	if j.first.IsZero() {
		j.first = now
	}
	j.state, j.tried = elsewhere, now
	q.end(n, now)
}

// Pause returns how long to wait before what another process does is looked at again: a twentieth of the time that it
// has been waited for, between a turn and 50 turns. So little is lost by waiting, and many processes that wait for
// hours do not keep a file server busy.
func Pause(turn, waited time.Duration) time.Duration { return min(max(turn, waited/20), 50*turn) }

// Return puts a job back that another worker is to do.
func (q *Queue) Return(n int) { q.jobs[n].state = waits }

// Failures returns how often a job has failed.
func (q *Queue) Failures(n int) int { return q.jobs[n].failed }

// Begun reports whether a job was begun, now or earlier.
func (q *Queue) Begun(n int) bool { return q.jobs[n].state != waits || q.jobs[n].failed > 0 }

// Running reports whether a job is under way.
func (q *Queue) Running(n int) bool { return q.jobs[n].state == runs }

// IsDone reports whether a job has ended.
func (q *Queue) IsDone(n int) bool { return q.jobs[n].state == done }
