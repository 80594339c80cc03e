package claim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
)

// A process is stopped before every one of its operations, another does all its work meanwhile, and the first goes on.
// Whoever claimed the folder last is the only one that publishes into it from then on.
func TestOneIsStopped(t *testing.T) {
	for _, c := range []struct {
		name           string
		before         func(t *testing.T, w *world) // what is in the folder at first
		release, again bool                         // by the other, which claims anew: the epochs are the same
		unlinks        bool                         // on a file system without links
	}{
		{name: "a new folder"},
		{name: "a new folder, given back", release: true},
		{name: "a new folder, given back and claimed anew", release: true, again: true},
		{name: "a dead claim", before: deadClaim},
		{name: "a dead claim, given back", before: deadClaim, release: true},
		{name: "a dead claim, given back and claimed anew", before: deadClaim, release: true, again: true},
		{name: "no links", unlinks: true},
		{name: "no links, a dead claim", unlinks: true, before: deadClaim},
		{name: "no links, a dead claim, anew", unlinks: true, before: deadClaim, release: true, again: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for stop := 0; ; stop++ {
				w := newWorld(t)
				if c.before != nil {
					c.before(t, w)
				}
				first, other := w.party("first"), w.party("other")
				if c.unlinks {
					unlinkable(first.Watch)
					unlinkable(other.Watch)
				}
				ops, stopped := 0, ""
				first.step = func(op, name string) {
					if ops++; ops == stop+1 {
						stopped = op + " " + name
						other.all(c.release)
						if c.again {
							other.all(false)
						}
					}
				}
				if first.twice() {
					first.claim.beat()
					first.publish()
				}
				if ops <= stop {
					if stop < 15 {
						t.Errorf("stopped %d times, want more: the test is of nothing", stop)
					}
					break
				}
				last := w.current
				if got, err := os.ReadFile(w.dir + "/curve.csv"); err != nil || string(got) != "of "+last.id {
					t.Errorf("stopped before %s: curve.csv is %q, %v, want %q", stopped, got, err, "of "+last.id)
				}
				if first.claim != nil && first.claim != last && first.err != nil && !errors.Is(first.err, ErrLost) {
					t.Errorf("stopped before %s: Publish: %v, want it done or %v", stopped, first.err, ErrLost)
				}
				w.end()
				if got, want := content(t, w.dir), "curve.csv: of "+last.id; got != want {
					t.Errorf("stopped before %s, all released: %s, want %s", stopped, got, want)
				}
				if t.Failed() {
					t.Fatalf("the operations:\n%s", strings.Join(w.log, "\n"))
				}
			}
		})
	}
}

// deadClaim leaves the claim of a process that ends without a word, with a file that it did not publish.
func deadClaim(t *testing.T, w *world) {
	dead := w.party("dead")
	if !dead.try() {
		t.Fatal("no claim on a new folder")
	}
	must.OK(t, os.WriteFile(dead.claim.Path("curve.csv"), []byte("half"), 0o666))
}

// Three processes take turns at random, operation by operation; to each of them the others are always dead. Some end in
// the middle, some are told that an operation failed which was made, and some see listings of a folder as old as NFS
// may show. Nobody publishes but the last to claim the folder, and at the end it can be claimed.
func TestTurnsAtRandom(t *testing.T) {
	schedules := 500
	switch {
	case longtest.On():
		schedules = 50_000
	case testing.Short():
		schedules = 100
	}
	published := 0
	for seed := range schedules {
		rng := rand.New(rand.NewPCG(uint64(seed), 0))
		w := newWorld(t)
		var parties []*turns
		for k := range 3 {
			parties = append(parties, w.atRandom(fmt.Sprint("party", k), rng, seed))
		}
		for live := parties; len(live) > 0; {
			k := rng.IntN(len(live))
			if !live[k].goOn(1 + rng.IntN(1+rng.IntN(60))) {
				live = append(live[:k:k], live[k+1:]...)
			}
		}
		for _, p := range parties {
			published += p.done
		}
		after := w.party("after")
		after.all(true)
		if t.Failed() {
			t.Fatalf("schedule %d", seed)
		}
		w.end()
		if got := content(t, w.dir); got != "curve.csv: "+after.text() {
			t.Fatalf("schedule %d: at the end: %s, want curve.csv of the last; the operations:\n%s",
				seed, got, strings.Join(w.log, "\n"))
		}
		w.remove()
	}
	if published < schedules {
		t.Errorf("%d files published in %d schedules, want more: the test is of nothing", published, schedules)
	}
}

// atRandom returns a party that does in turns what a process may do.
func (w *world) atRandom(name string, rng *rand.Rand, seed int) *turns {
	p := w.party(name)
	faults, ends, stale := seed%2 == 1, seed%3 == 1, seed%5 > 1
	if faults {
		p.fault = func(op string) error {
			made := map[string]error{"link": syscall.EEXIST, "rename": syscall.ENOENT, "remove": syscall.ENOENT}
			if rng.IntN(8) == 0 {
				return made[op]
			}
			return nil
		}
	}
	if stale {
		p.list = p.listing
	}
	if seed%7 == 1 {
		unlinkable(p.Watch)
	}
	r := p.inTurns(func() {
		for range 4 {
			if !p.try() {
				continue
			}
			for range 1 + rng.IntN(3) {
				p.claim.Progress(1, 2)
				p.claim.beat()
				if p.publish(); p.err != nil && !errors.Is(p.err, ErrLost) {
					p.t.Errorf("%s: Publish: %v, want it done or %v", p.name, p.err, ErrLost)
				}
			}
			if rng.IntN(2) == 0 {
				p.release()
			}
		}
	})
	turn := p.step
	p.step = func(op, name string) {
		turn(op, name)
		if ends && rng.IntN(60) == 0 {
			runtime.Goexit()
		}
	}
	return r
}
