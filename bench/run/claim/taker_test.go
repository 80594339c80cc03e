package claim

import (
	"errors"
	"os"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// A process that takes a claim over is stopped before every one of its operations, and the holder, which was slow and
// not dead, goes on meanwhile.
func TestTakerIsStopped(t *testing.T) {
	for name, goesOn := range map[string]func(holder *party){
		"and publishes": func(holder *party) { holder.publish() },
		"and publishes after a heartbeat": func(holder *party) {
			holder.claim.beat()
			holder.publish()
		},
		"and gives the folder back": func(holder *party) {
			holder.publish()
			holder.release()
		},
		"and gives the folder back and claims it anew": func(holder *party) {
			holder.publish()
			holder.release()
			if holder.try() {
				holder.publish()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for stop := 0; ; stop++ {
				w := newWorld(t)
				holder, taker := w.party("holder"), w.party("taker")
				if !holder.try() {
					t.Fatal("no claim on a new folder")
				}
				old := holder.claim
				taker.try()
				ops, stopped := 0, ""
				taker.step = func(op, name string) {
					if ops++; ops == stop+1 {
						stopped = op + " " + name
						goesOn(holder)
					}
				}
				if taker.try() {
					taker.publish()
				}
				if ops <= stop {
					if stop < 10 {
						t.Errorf("stopped %d times, want more: the test is of nothing", stop)
					}
					return
				}
				if w.current != old {
					if err := old.Publish("curve.csv"); err == nil {
						t.Errorf("stopped before %s: the old holder publishes once more, want an error", stopped)
					}
				}
				got, err := os.ReadFile(w.dir + "/curve.csv")
				if taker.claim != nil && taker.err == nil && string(got) != taker.text() {
					t.Errorf("stopped before %s: curve.csv is %q, %v, want %q", stopped, got, err, taker.text())
				}
				w.end()
				if got := content(t, w.dir); strings.Contains(got, ".claim") || strings.Contains(got, ".epoch") {
					t.Errorf("stopped before %s, all released: %s, want no hidden file", stopped, got)
				}
				if t.Failed() {
					t.Fatalf("the operations:\n%s", strings.Join(w.log, "\n"))
				}
			}
		})
	}
}

// The holder is stopped before every operation of a Publish, and the other takes the folder over: the file is published
// before the other has the folder, or not at all.
func TestPublisherIsStopped(t *testing.T) {
	for stop := 0; ; stop++ {
		w := newWorld(t)
		holder, taker := w.party("holder"), w.party("taker")
		if !holder.try() {
			t.Fatal("no claim on a new folder")
		}
		old := holder.claim
		before := ""
		ops, stopped := 0, ""
		holder.step = func(op, name string) {
			if ops++; ops == stop+1 {
				stopped = op + " " + name
				if taker.try() || !taker.try() {
					t.Fatal("want the claim with the second try")
				}
				before = content(t, w.dir)
			}
		}
		holder.publish()
		holder.step = nil
		if ops <= stop {
			if stop < 3 || stopped != "" {
				t.Errorf("stopped %d times, want more: the test is of nothing", stop)
			}
			return
		}
		done := strings.Contains(before, "curve.csv: ")
		if done != (holder.err == nil) || !done && !errors.Is(holder.err, ErrLost) {
			t.Errorf("stopped before %s: published before the other had the folder: %v, Publish: %v, want both or %v",
				stopped, done, holder.err, ErrLost)
		}
		if now := content(t, w.dir); now != before {
			t.Errorf("stopped before %s: the folder was\n%s\nwhen the other had it, and is\n%s", stopped, before, now)
		}
		if err := old.Release(); err != nil {
			t.Errorf("stopped before %s: Release of the lost claim: %v", stopped, err)
		}
		if now := content(t, w.dir); now != before {
			t.Errorf("stopped before %s: the folder was\n%s\nbefore the Release of a lost claim, and is\n%s",
				stopped, before, now)
		}
		if err := taker.claim.Check(); err != nil {
			t.Errorf("stopped before %s: the new holder: %v", stopped, err)
		}
	}
}

// A process is stopped before every operation of a Try, and meanwhile others have the folder, one after the other.
// When it goes on, the last of them has it still, with what it has not yet published.
func TestTryIsStopped(t *testing.T) {
	takes := func(p *party) { p.all(false) }
	for _, c := range []struct {
		name      string
		before    func(t *testing.T, w *world)
		meanwhile func(a, b *party) (last *party)
		anew      bool // the last has an epoch that another had before
	}{
		{"new, taken", nil, func(a, _ *party) *party { takes(a); return a }, false},
		{"new, taken and taken over", nil, func(a, b *party) *party { takes(a); takes(b); return b }, false},
		{"new, given back and taken", nil, func(a, b *party) *party { a.all(true); takes(b); return b }, true},
		{"dead, taken over", deadClaim, func(a, _ *party) *party { takes(a); return a }, false},
		{"dead, taken over twice", deadClaim, func(a, b *party) *party { takes(a); takes(b); return b }, false},
		{"dead, given back and taken", deadClaim, func(a, b *party) *party { a.all(true); takes(b); return b }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for stop := 0; ; stop++ {
				w := newWorld(t)
				if c.before != nil {
					c.before(t, w)
				}
				first, a, b := w.party("first"), w.party("a"), w.party("b")
				if c.before != nil && first.try() {
					t.Fatal("the first look takes a claim over, want the second to")
				}
				ops, stopped, unlucky := 0, "", false
				var last *party
				first.step = func(op, name string) {
					if ops++; ops == stop+1 {
						stopped = op + " " + name
						// Between reading a claim and removing it nobody can be kept from making another of that name.
						unlucky = c.anew && op == "remove" && epochOf(name) > 0 &&
							w.log[len(w.log)-1] == "first: read "+name+" <nil>"
						last = c.meanwhile(a, b)
						must.OK(t, os.WriteFile(last.claim.Path("curve.csv"), []byte(last.text()), 0o666))
					}
				}
				first.try()
				if last == nil {
					if stop < 6 {
						t.Errorf("stopped %d times, want more: the test is of nothing", stop)
					}
					return
				}
				err := last.claim.Publish("curve.csv")
				if err != nil && (!unlucky || !errors.Is(err, ErrLost)) {
					t.Fatalf("stopped before %s: the last to claim the folder: %v, want it published; "+
						"the operations:\n%s", stopped, err, strings.Join(w.log, "\n"))
				}
				if first.claim != nil {
					if err := first.claim.Check(); !errors.Is(err, ErrLost) {
						t.Fatalf("stopped before %s: the first has a claim: %v, want that it is lost", stopped, err)
					}
				}
			}
		})
	}
}

// Holder and taker are both stopped once, anywhere.
func TestBothAreStopped(t *testing.T) {
	const all = 1000 // operations are more than there are
	for takerStop := 1; ; takerStop++ {
		takerEnds := false
		for holderStop := 1; ; holderStop++ {
			w := newWorld(t)
			h, k := w.party("holder"), w.party("taker")
			if !h.try() || k.try() {
				t.Fatal("no claim on a new folder, or one that is dead at once")
			}
			holder := h.inTurns(func() {
				h.claim.beat()
				h.publish()
				h.publish()
				h.release()
			})
			taker := k.inTurns(func() {
				if k.twice() {
					k.publish()
				}
			})
			takerEnds = !taker.goOn(takerStop)
			holderEnds := !holder.goOn(holderStop)
			if !takerEnds {
				taker.goOn(all)
			}
			if !holderEnds {
				holder.goOn(all)
			}
			if k.claim == nil || k.done != 1 {
				t.Errorf("the taker has published %d files, want 1", k.done)
			}
			h.step, k.step = nil, nil
			if t.Failed() {
				t.Fatalf("stopped after %d operations of the taker and %d of the holder:\n%s",
					takerStop, holderStop, strings.Join(w.log, "\n"))
			}
			w.remove()
			if holderEnds {
				break
			}
		}
		if takerEnds {
			if takerStop < 15 {
				t.Errorf("the taker was stopped %d times, want more: the test is of nothing", takerStop)
			}
			return
		}
	}
}
