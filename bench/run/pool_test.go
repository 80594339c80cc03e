package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// runInOrder runs cells of jobs in n sessions and returns what was begun and finished, in order. Jobs named in fail fail.
func runInOrder(t *testing.T, n int, cells [][]string, fail func(name string) error) (log []string, err error) {
	t.Helper()
	p := &Pool{Stderr: &bytes.Buffer{}}
	for range n {
		p.Sessions = append(p.Sessions, &Session{})
	}
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
			jobs[i] = append(jobs[i], &Job{Run: name, Do: func(context.Context, *Session) error {
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

// One at a time is strictly in order, each cell finished before the next is begun; a failed job keeps no other from being begun, an error of finish ends all.
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
		if got := strings.Join(log, " "); got != c.want || (err != nil) != strings.Contains(strings.Join(c.fail, ""), "finished") {
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
		if got := strings.Join(finished, " "); err != nil || got != "finished 0 finished 1 finished 2 finished 3" || len(log) != 4+9 {
			t.Errorf("%d sessions: %q, %v, want nine jobs and the cells finished in order", n, log, err)
		}
	}
}
