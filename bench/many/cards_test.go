//go:build gpu && linux && cgo

package many

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"rollcall/bench/run"
	"rollcall/nets/gpu/driver"
)

// onCards returns a pool of sessions on devices, one after the other.
func onCards(log *bytes.Buffer, devices ...string) *Pool {
	p := &Pool{Stderr: log, Keep: Keep{Retries: 1}}
	for _, device := range devices {
		p.Sessions = append(p.Sessions, &run.Session{Machine: run.Machine{Device: device}, Card: device})
	}
	return p
}

// When a card is lost, its sessions end, and its jobs go on on the other cards without having failed. When the last one
// is lost, no job is done any more, none has failed, and the cells that have begun are finished.
func TestLostCards(t *testing.T) {
	const elsewhere = ": its runs resume on the other cards\n"
	for _, c := range []struct {
		name     string
		sessions []string
		cells    int
		lost     map[string]bool // devices on which jobs fail
		err      error
		finished string // cells with the errors of their jobs, of which there are two each
		said     []string
		left     []string // devices of the sessions that are left
	}{
		{
			name: "one of two with two sessions each", cells: 3,
			sessions: []string{"cuda:0", "cuda:1", "cuda:0", "cuda:1"},
			lost:     map[string]bool{"cuda:0": true},
			finished: "0: none none, 1: none none, 2: none none",
			said:     []string{"rollcall: cuda:0: lost (gpu: add: gpu: device lost)" + elsewhere},
			left:     []string{"cuda:1", "cuda:1"},
		},
		{
			name: "the card with the only job", sessions: []string{"cuda:0", "cuda:1"}, cells: 1,
			lost:     map[string]bool{"cuda:0": true},
			finished: "0: none none",
			said:     []string{"rollcall: cuda:0: lost (gpu: add: gpu: device lost)" + elsewhere},
			left:     []string{"cuda:1"},
		},
		{
			name: "both", sessions: []string{"cuda:0", "cuda:1"}, cells: 3,
			lost: map[string]bool{"cuda:0": true, "cuda:1": true}, err: errNoCard, finished: "0: no card no card",
			said: []string{"cuda:0: lost (", "cuda:1: lost ("}, left: []string{"cuda:0", "cuda:1"},
		},
		{
			name: "the only one", sessions: []string{"cuda"}, cells: 2, lost: map[string]bool{"cuda": true},
			err: errNoCard, finished: "0: no card no card",
			said: []string{"rollcall: cuda: lost (gpu: add: gpu: device lost)\n"}, left: []string{"cuda"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			p := onCards(&log, c.sessions...)
			used := sync.WaitGroup{} // every lost device is lost before the other ends a job
			used.Add(len(c.lost))
			var lock sync.Mutex
			lostOnce := map[string]bool{}
			jobs := make([][]*Job, c.cells)
			for i := range jobs {
				for k := range 2 {
					name := fmt.Sprint(i, k)
					jobs[i] = append(jobs[i], &Job{Run: name, Do: func(_ context.Context, ses *run.Session) error {
						device := ses.Machine.Device
						if !c.lost[device] {
							used.Wait()
							return nil
						}
						lock.Lock()
						defer lock.Unlock()
						if !lostOnce[device] {
							lostOnce[device] = true
							used.Done()
						}
						return fmt.Errorf("gpu: add: %w", driver.ErrDeviceLost)
					}})
				}
			}
			var finished []string
			err := p.Run(t.Context(), jobs, func(i int) error {
				var errs []string
				for _, j := range jobs[i] {
					switch {
					case j.Err == nil:
						errs = append(errs, "none")
					case errors.Is(j.Err, errNoCard):
						errs = append(errs, "no card")
					default:
						errs = append(errs, j.Err.Error())
					}
				}
				finished = append(finished, fmt.Sprintf("%d: %s", i, strings.Join(errs, " ")))
				return nil
			})
			if got := strings.Join(finished, ", "); !errors.Is(err, c.err) || (err != nil) != (c.err != nil) ||
				got != c.finished {
				t.Errorf("%v, finished %q, want %v, %q", err, got, c.err, c.finished)
			}
			for _, said := range c.said {
				if strings.Count(log.String(), said) != 1 {
					t.Errorf("said %q, want %q once", log.String(), said)
				}
			}
			if n := strings.Count(log.String(), "\n"); n != len(c.said) {
				t.Errorf("said %q, want %d lines", log.String(), len(c.said))
			}
			var left []string
			for _, ses := range p.Sessions {
				left = append(left, ses.Machine.Device)
			}
			if !slices.Equal(left, c.left) {
				t.Errorf("sessions on %v are left, want %v", left, c.left)
			}
		})
	}
}

// A run at which two cards were lost is given no third, and a card that can be used no more counts as lost.
func TestRunThatCostsCards(t *testing.T) {
	var log bytes.Buffer
	p := onCards(&log, "cuda:0", "cuda:1", "cuda:2", "cuda:3")
	jobs := [][]*Job{{
		{Run: "bad", Do: func(context.Context, *run.Session) error { return &run.CardError{Err: errors.New("gone")} }},
		{Run: "good", Do: func(context.Context, *run.Session) error { return nil }},
	}}
	if err := p.Run(t.Context(), jobs, func(int) error { return nil }); err != nil {
		t.Error(err)
	}
	const want = "2 cards were lost at this run, which is given no other: gone"
	if bad, good := jobs[0][0].Err, jobs[0][1].Err; bad == nil || bad.Error() != want || good != nil {
		t.Errorf("errors %v and %v, want %s and none", bad, good, want)
	}
	if n := strings.Count(log.String(), ": lost (gone): its runs resume on the other cards\n"); n != 2 ||
		len(p.Sessions) != 2 {
		t.Errorf("%d sessions are left, said %q, want 2, and two lines", len(p.Sessions), log.String())
	}
}

// Memory that is short on a card is a reason to end beside other sessions of this card alone.
func TestShortOfMemoryOnCards(t *testing.T) {
	var log bytes.Buffer
	p := onCards(&log, "cuda:0", "cuda:1", "cuda:0")
	p.Keep.Retries = 0
	failed, both := 0, make(chan struct{}) // closed when both sessions of the small card have had a job
	var lock sync.Mutex
	var jobs []*Job
	for i := range 6 {
		jobs = append(jobs, &Job{Run: fmt.Sprint(i), Do: func(_ context.Context, ses *run.Session) error {
			if ses.Machine.Device == "cuda:0" {
				lock.Lock()
				defer lock.Unlock()
				if failed++; failed == 2 {
					close(both)
				}
				return fmt.Errorf("gpu: %w", driver.ErrOutOfMemory)
			}
			<-both
			return nil
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
	want := "rollcall: cuda:0: gpu: gpu: out of memory: 2 runs at a time from now on\n"
	if wrong != failed-1 || log.String() != want {
		t.Errorf("%d attempts on the small card, %d jobs failed, said %q, want one job fewer and %q", failed, wrong,
			&log, want)
	}
}
