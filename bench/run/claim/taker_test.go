package claim

import (
	"errors"
	"os"
	"strings"
	"testing"
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
			if stop < 4 || stopped != "" {
				t.Errorf("stopped %d times, want 4: the test is of nothing", stop)
			}
			return
		}
		done := strings.Contains(before, "curve.csv: ")
		if done != (holder.err == nil) || !done && !errors.Is(holder.err, ErrLost) {
			t.Errorf("stopped before %s: published before the other had the folder: %v, Publish: %v, want both or %v", stopped,
				done, holder.err, ErrLost)
		}
		if now := content(t, w.dir); now != before {
			t.Errorf("stopped before %s: the folder was\n%s\nwhen the other had it, and is\n%s", stopped, before, now)
		}
		if err := old.Release(); err != nil {
			t.Errorf("stopped before %s: Release of the lost claim: %v", stopped, err)
		}
		if now := content(t, w.dir); now != before {
			t.Errorf("stopped before %s: the folder was\n%s\nbefore the Release of a lost claim, and is\n%s", stopped, before, now)
		}
		if err := taker.claim.Check(); err != nil {
			t.Errorf("stopped before %s: the new holder: %v", stopped, err)
		}
	}
}
