package many

import (
	"time"

	"rollcall/bench/run"
)

// queue decides which job comes next. A job is named by its index, and lower ones come first. A job
// that failed comes again after all others, and a job that another process does comes again when that process may have
// finished it. A queue starts nothing and has no clock, so that tests can play any order of events. It is not safe for
// concurrent use.
type queue struct {
	turn  time.Duration
	jobs  []queuedJob
	ended time.Time // when a job last ended that was more than a look at another process; zero: none has
}

type queuedJob struct {
	run     string
	work    float64 // jobs with more of it come first
	state   jobState
	failed  int       // how many attempts failed
	begun   bool      // it has ever begun
	probing bool      // it began only to see whether another process still does it
	first   time.Time // when another process was first found to do it
	tried   time.Time // when another process was last found to do it
}

type jobState int

const (
	jobWaits jobState = iota
	jobRuns
	jobElsewhere // another process does it, as far as is known
	jobDone
)

// newQueue returns a queue of jobs, each named after the run that it makes. Two jobs of the same run never run at the
// same time. A job that another process does is tried again after one turn, and less and less often the longer it
// takes, see [run.Pause].
func newQueue(turn time.Duration, runs []string) *queue {
	q := &queue{turn: turn, jobs: make([]queuedJob, len(runs))}
	for i, run := range runs {
		q.jobs[i].run = run
	}
	return q
}

// MostFirst sets the work of each job. Of the jobs that could begin, those with the most work then come first, and
// equal ones in order: sessions that share the jobs end at about the same time.
func (q *queue) MostFirst(work []float64) {
	for i := range q.jobs {
		q.jobs[i].work = work[i]
	}
}

// Begin returns the job to begin now and counts it as running; -1: there is none. Then the caller asks again when a job
// has ended, or at the time again, which is zero if waiting alone changes nothing.
//
// Jobs that other processes did some time ago come first: those processes may have finished them, and a look takes no
// time. Then come the jobs in order, see also [queue.MostFirst], and after them the failed ones, the least often failed
// first. Once none of these is left or runs, the jobs of other processes are tried without waiting for the turn.
func (q *queue) Begin(now time.Time) (n int, again time.Time) {
	alone := q.alone()
	n = -1
	for i := range q.jobs {
		j := &q.jobs[i]
		if j.state != jobElsewhere {
			continue
		}
		due := j.tried.Add(run.Pause(q.turn, j.tried.Sub(j.first)))
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
	q.jobs[n].probing = q.jobs[n].state == jobElsewhere
	q.jobs[n].state, q.jobs[n].begun = jobRuns, true
	return n, time.Time{}
}

// next returns the first of the waiting jobs with the fewest failures that can begin; -1: there is none.
func (q *queue) next() int {
	busy := map[string]bool{}
	for _, j := range q.jobs {
		if j.state == jobRuns {
			busy[j.run] = true
		}
	}
	n := -1
	for i, j := range q.jobs {
		if j.state != jobWaits || busy[j.run] {
			continue
		}
		if n < 0 || j.failed < q.jobs[n].failed || j.failed == q.jobs[n].failed && j.work > q.jobs[n].work {
			n = i
		}
	}
	return n
}

// Over reports whether all jobs are done.
func (q *queue) Over() bool { return q.alone() && q.Elsewhere() == nil }

// alone reports whether only jobs that other processes do are left, or none.
func (q *queue) alone() bool {
	for _, j := range q.jobs {
		if j.state == jobWaits || j.state == jobRuns {
			return false
		}
	}
	return true
}

// Elsewhere returns the jobs that other processes do, if no others are left; nil: others are left, or there are none.
func (q *queue) Elsewhere() (jobs []int) {
	if !q.alone() {
		return nil
	}
	for i, j := range q.jobs {
		if j.state == jobElsewhere {
			jobs = append(jobs, i)
		}
	}
	return jobs
}

// Done ends a job for good.
func (q *queue) Done(n int, now time.Time) {
	q.jobs[n].state = jobDone
	q.end(n, now)
}

// Failed puts a failed job behind all jobs that have failed less often.
func (q *queue) Failed(n int, now time.Time) {
	q.jobs[n].state = jobWaits
	q.jobs[n].failed++
	q.end(n, now)
}

// end notes that a job has ended, unless it was only a look at another process.
func (q *queue) end(n int, now time.Time) {
	if !q.jobs[n].probing {
		q.ended = now
	}
}

// Found says that another process was found to do a job.
func (q *queue) Found(n int, now time.Time) {
	j := &q.jobs[n]
	if j.first.IsZero() {
		j.first = now
	}
	j.state, j.tried = jobElsewhere, now
	q.end(n, now)
}

// Return puts a running job back, for another worker.
func (q *queue) Return(n int) { q.jobs[n].state = jobWaits }
