package many

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"rollcall/bench/run"
	"rollcall/bench/run/progress"
	"rollcall/bench/settings/settingstest"
	"rollcall/internal/lock"
	"rollcall/internal/must"
)

func init() { progress.LogEvery = 0 } // tests wait for evaluations

// poolOf returns a pool of n sessions, whose log nobody reads.
func poolOf(n int) *Pool {
	p := &Pool{Stderr: io.Discard}
	for range n {
		p.Sessions = append(p.Sessions, &run.Session{})
	}
	return p
}

// runInOrder runs cells of jobs in n sessions and returns what was begun and finished, in order. fail says which fail.
func runInOrder(t *testing.T, n int, cells [][]string, fail func(name string) error) (log []string, err error) {
	t.Helper()
	p := poolOf(n)
	var lock sync.Mutex
	say := func(what string) {
		lock.Lock()
		defer lock.Unlock()
		log = append(log, what)
	}
	busy := map[string]int{}
	jobs := make([][]*Job, len(cells))
	for i, names := range cells {
		for k, name := range names {
			jobs[i] = append(jobs[i], &Job{Run: name, Do: func(context.Context, *run.Session) error {
				say(fmt.Sprintf("%s:%d.%d", name, i, k))
				lock.Lock()
				busy[name]++
				if busy[name] > 1 {
					t.Errorf("%s: twice at the same time", name)
				}
				lock.Unlock()
				err := fail(name)
				lock.Lock()
				busy[name]--
				lock.Unlock()
				return err
			}})
		}
	}
	err = p.Run(t.Context(), jobs, func(i int) error {
		say(fmt.Sprintf("finished %d", i))
		return fail(fmt.Sprintf("finished %d", i))
	})
	return log, err
}

// One at a time is strictly in order, each cell finished before the next is begun; a failed job keeps no other from
// being begun, an error of finish ends all.
func TestPoolOrder(t *testing.T) {
	broken := errors.New("broken")
	failing := func(names ...string) func(string) error {
		return func(name string) error {
			if slices.Contains(names, name) {
				return broken
			}
			return nil
		}
	}
	for _, c := range []struct {
		cells string // cells by commas, jobs by blanks
		fail  []string
		want  string
	}{
		{"a b,c d", nil, "a:0.0 b:0.1 finished 0 c:1.0 d:1.1 finished 1"},
		{"a b c,d", []string{"b"}, "a:0.0 b:0.1 c:0.2 finished 0 d:1.0 finished 1"},
		{"a,b,c", []string{"finished 1"}, "a:0.0 finished 0 b:1.0 finished 1"},
	} {
		var cells [][]string
		for cell := range strings.SplitSeq(c.cells, ",") {
			cells = append(cells, strings.Fields(cell))
		}
		log, err := runInOrder(t, 1, cells, failing(c.fail...))
		if got := strings.Join(log, " "); got != c.want ||
			(err != nil) != strings.Contains(strings.Join(c.fail, ""), "finished") {
			t.Errorf("%s: %s, %v, want %s", c.cells, got, err, c.want)
		}
	}
	for n := 2; n <= 6; n++ {
		log, err := runInOrder(t, n, [][]string{{"a", "b", "a"}, {"a", "c"}, {"b", "b", "b"}, {"d"}}, failing("c"))
		var finished []string
		for _, what := range log {
			if strings.HasPrefix(what, "finished") {
				finished = append(finished, what)
			}
		}
		if got := strings.Join(finished, " "); err != nil || got != "finished 0 finished 1 finished 2 finished 3" ||
			len(log) != 4+9 {
			t.Errorf("%d sessions: %q, %v, want nine jobs and the cells finished in order", n, log, err)
		}
	}
}

// With several sessions the jobs with the most work begin first, and the cells are finished in order all the same. One
// session alone keeps to the order of the cells.
func TestPoolMostFirst(t *testing.T) {
	for _, c := range []struct {
		sessions int
		want     string
	}{{1, "0 1 2 3"}, {2, "1 2 0 3"}} { // of two sessions, each pair in either order
		p := poolOf(c.sessions)
		var lock sync.Mutex
		var began, finished []string
		first := make(chan struct{}) // closed when the second job has begun
		jobs := make([][]*Job, 4)
		for i, work := range []float64{2, 4, 9, 2} {
			jobs[i] = []*Job{{Run: fmt.Sprint(i), Work: work, Do: func(context.Context, *run.Session) error {
				lock.Lock()
				began = append(began, fmt.Sprint(i))
				n := len(began)
				lock.Unlock()
				if n == 2 {
					close(first)
				}
				if n == 1 && c.sessions > 1 {
					<-first // both sessions are at work, so that the first job is not over before the second begins
				}
				return nil
			}}}
		}
		err := p.Run(t.Context(), jobs, func(i int) error {
			finished = append(finished, fmt.Sprint(i))
			return nil
		})
		if c.sessions > 1 {
			slices.Sort(began[:2])
			slices.Sort(began[2:])
		}
		if got := strings.Join(began, " "); err != nil || got != c.want || strings.Join(finished, " ") != "0 1 2 3" {
			t.Errorf("%d sessions: began %v, finished %v, %v, want %s, and all finished in order",
				c.sessions, began, finished, err, c.want)
		}
	}
}

// Nobody is asked about a run of another process more than once a turn; it is waited for, or not, as is asked for. Who
// is waited for is said once.
func TestPoolElsewhere(t *testing.T) {
	holder := func(pid int) error {
		return &run.ElsewhereError{Holder: lock.Holder{Host: "here", PID: pid}}
	}
	for _, c := range []struct {
		name    string
		keep    Keep
		answers map[string][]error // of the jobs, one after the other; then nil
		order   string             // of what is begun
		errors  int
		said    string
	}{
		{
			"it is waited for",
			Keep{},
			map[string][]error{"a": {holder(1), holder(1), holder(1)}, "b": {holder(1), holder(2)}},
			"a b c a b a b a", 0,
			"rollcall: waits for 2 runs of other workers: process 1 on host here; process 2 on host here\n",
		},
		{
			"it is not waited for",
			Keep{NoWait: true},
			map[string][]error{"a": {holder(1), holder(1)}, "b": {holder(1)}},
			"a b c a b", 1, "",
		},
		{
			"it fails when it is free",
			Keep{Retries: 1},
			map[string][]error{"a": {holder(1), errors.New("broken"), holder(1)}},
			"a b c a a a", 0, "rollcall: a: broken: tried again later\n" +
				"rollcall: waits for 1 run of other workers: process 1 on host here\n",
		},
		{
			"it fails for good",
			Keep{Retries: 5},
			map[string][]error{"a": {run.Final(errors.New("broken"))}},
			"a b c", 1, "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			p := &Pool{Stderr: &log, Keep: c.keep, Sessions: []*run.Session{{}}}
			var order []string
			var jobs []*Job
			for _, name := range []string{"a", "b", "c"} {
				jobs = append(jobs, &Job{Run: name, Do: func(context.Context, *run.Session) error {
					order = append(order, name)
					if len(c.answers[name]) == 0 {
						return nil
					}
					err := c.answers[name][0]
					c.answers[name] = c.answers[name][1:]
					return err
				}})
			}
			if err := p.Run(t.Context(), [][]*Job{jobs}, func(int) error { return nil }); err != nil {
				t.Error(err)
			}
			wrong := 0
			for _, j := range jobs {
				if j.Err != nil {
					wrong++
				}
			}
			if got := strings.Join(order, " "); got != c.order || wrong != c.errors || log.String() != c.said {
				t.Errorf("begun %s, %d errors, said %q, want %s, %d, %q", got, wrong, &log, c.order, c.errors, c.said)
			}
		})
	}
}

// When ctx ends, what is waited for is over at once, and its error says that it was interrupted.
func TestPoolElsewhereInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := poolOf(2)
	asked := 0
	job := &Job{Run: "a", Do: func(context.Context, *run.Session) error {
		if asked++; asked == 2 {
			cancel()
		}
		return &run.ElsewhereError{Holder: lock.Holder{Host: "there", PID: 1}}
	}}
	finished := 0
	err := p.Run(ctx, [][]*Job{{job}, {{Run: "a", Do: job.Do}}}, func(int) error {
		finished++
		return nil
	})
	if err != nil || finished == 0 || !errors.Is(job.Err, context.Canceled) || asked != 2 {
		t.Errorf("%v, %d cells finished, %v after %d attempts, want them interrupted after 2",
			err, finished, job.Err, asked)
	}
}

// Seeds that fail for one reason are named together, whatever folders the reason names.
func TestFailures(t *testing.T) {
	other := &run.ElsewhereError{Holder: lock.Holder{Host: "there", PID: 1}}
	full := func(seed int) error { return fmt.Errorf("out/cell/seed-%d/curve.csv: %w", seed, syscall.ENOSPC) }
	for _, c := range []struct {
		name string
		errs []error // of seeds 3, 4, 5, 6
		want string
		is   error
	}{
		{"none", []error{nil, nil, nil, nil}, "<nil>", nil},
		{"others make some", []error{nil, other, nil, other}, other.Error(), other},
		{
			"one",
			[]error{nil, full(4), other, nil},
			"seed 4: out/cell/seed-4/curve.csv: no space left on device",
			syscall.ENOSPC,
		},
		{
			"two reasons",
			[]error{full(3), errors.New("broken"), full(5), full(6)},
			"seeds 3, 5, 6: out/cell/seed-*/curve.csv: no space left on device\nseed 4: broken", syscall.ENOSPC,
		},
		{
			"interrupted",
			[]error{nil, nil, context.Canceled, context.Canceled},
			"seeds 5, 6: context canceled",
			context.Canceled,
		},
	} {
		var runs []*seedRun
		var jobs []*Job
		for k, err := range c.errs {
			runs = append(runs, &seedRun{x: run.Experiment{
				Seed: uint32(3 + k),
				Dir:  fmt.Sprintf("out/cell/seed-%d", 3+k),
			}})
			jobs = append(jobs, &Job{Err: err})
		}
		if err := failures(runs, jobs); fmt.Sprint(err) != c.want || !errors.Is(err, c.is) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// Runs at the same time count together, a data set of theirs once; one that does not fit beside another waits for it,
// and its session leaves.
func TestMemoryOfSeveralRuns(t *testing.T) {
	s := settingstest.Tiny(t, "method=fedar", "data=synthetic", "net=cnn-cifar10", "train-size=4000", "test-size=50",
		"clients=12", "rounds=30", "local-steps=2", "batch=4", "eval-every=30")
	var log bytes.Buffer
	t.Setenv("GOMEMLIMIT", "off") // the limit is not for the other tests
	machine := run.Machine{Device: "cpu", Threads: 2, AtOnce: 3}
	must.OK(t, machine.Memory.Set("100MB")) // 29 MB of rows, 12 MB of data, and about 10 MB of activations each
	p := NewPool(&log, machine, Keep{})
	done := make([]int, 6)
	jobs := make([][]*Job, len(done))
	for i := range jobs {
		jobs[i] = []*Job{{Run: fmt.Sprint(i), Do: func(ctx context.Context, ses *run.Session) error {
			if err := ses.Open(ctx, &s, 3); err != nil {
				return err
			}
			done[i]++
			return nil
		}}}
	}
	err := p.Run(t.Context(), jobs, func(i int) error { return jobs[i][0].Err })
	must.OK(t, errors.Join(err, p.Close()))
	for i, n := range done {
		if n != 1 {
			t.Errorf("job %d: done %d times, want once", i, n)
		}
	}
	if text := log.String(); !strings.Contains(text, " in addition to the ") ||
		!strings.Contains(text, "2 runs at a time from now on") || strings.Contains(text, "1 run at a time") {
		t.Errorf("log %q, want the third run refused in addition to the others", text)
	}
}
