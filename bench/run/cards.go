package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"rollcall/bench/run/cards"
	"rollcall/bench/settings"
	"rollcall/nets/gpu"
)

// mostAtOnce is the largest --pack: CUDA runs the streams of so many engines at the same time.
const mostAtOnce = 32

// ValidateAtOnce is [Machine.Validate] for commands with --pack, which it checks too.
func (m *Machine) ValidateAtOnce() error {
	if m.AtOnce < 1 || m.AtOnce > mostAtOnce {
		return settings.Usagef("--pack %d: want 1 … %d, as many streams as a card takes up at a time",
			m.AtOnce, mostAtOnce)
	}
	return m.Validate()
}

// cards returns the cards of a --device that names several.
func (m *Machine) cards() (c cards.Choice, err error) {
	there, err := gpu.Cards()
	if err != nil {
		return c, fmt.Errorf("device %s: %w", m.Device, err)
	}
	return cards.Choose(m.Device, m.cardPrecision(), there, os.Getenv(cards.Visible))
}

// cardPrecision returns the precision of an engine on a card. Validate has checked it.
func (m *Machine) cardPrecision() gpu.Precision { return cmp.Or(gpu.Precision(m.Precision), gpu.TF32) }

// cardError says that the card of a --device cannot be used.
type cardError struct{ error }

// Unwrap returns the error itself.
func (e *cardError) Unwrap() error { return e.error }

// cardIsLost reports whether an error of a run means that its card is lost. A card that cannot be used any more is:
// it could when the command began.
func cardIsLost(err error) bool {
	_, unusable := errors.AsType[*cardError](err)
	return unusable || gpu.DeviceLost(err)
}

// each returns a machine for each card of a --device that names several, and lines about the cards; for auto with a
// card, a machine with that card, so that the runs stay there. Otherwise, and if the cards cannot be used any more,
// which the first run reports, it returns the machine itself.
func (m *Machine) each() (all []Machine, notes []string) {
	if !cards.Several(m.Device) {
		of := *m
		if c, err := m.Choose(); m.Device == "auto" && err == nil && c.CUDA {
			of.Device, of.auto = fmt.Sprintf("cuda:%d", c.Card), true
		}
		return []Machine{of}, nil
	}
	c, err := m.cards()
	if err != nil {
		return []Machine{*m}, nil
	}
	for _, card := range c.Cards {
		of := *m
		of.Device = fmt.Sprintf("cuda:%d", card.Index)
		all = append(all, of)
	}
	return all, c.Notes
}

// Cards returns how many cards the sessions train on; 1 on the CPU, which they share.
func (p *Pool) Cards() int { return len(devices(p.Sessions)) }

// devices returns the devices of sessions, each once.
func devices(sessions []*Session) (all []string) {
	for _, l := range sessions {
		if !slices.Contains(all, l.Machine.Device) {
			all = append(all, l.Machine.Device)
		}
	}
	return all
}

// workers returns the sessions that make so many jobs, and tells each how many of them share its device. On several
// cards all sessions work: those without a job take over when a card is lost.
func (p *Pool) workers(jobs int) []*Session {
	first := p.Sessions[:min(len(p.Sessions), jobs)]
	all := first
	if p.Cards() > 1 {
		all = p.Sessions
	}
	for _, l := range all {
		l.engines = 0
		for _, other := range first {
			if other.Machine.Device == l.Machine.Device {
				l.engines++
			}
		}
		l.engines = max(1, l.engines)
	}
	return all
}

// mostLost is how many cards may be lost at one run. Then the fault may be the run's, which would cost all of them.
const mostLost = 2

// crew is how many workers of a pool each device has, and what became of the devices.
type crew struct {
	at   map[string]int
	lost map[string]bool // the devices that are lost
	cost map[int]int     // how many devices were lost at a job
}

// newCrew returns a crew of a worker in each session.
func newCrew(sessions []*Session) crew {
	c := crew{at: map[string]int{}, lost: map[string]bool{}, cost: map[int]int{}}
	for _, l := range sessions {
		c.at[l.Machine.Device]++
	}
	return c
}

// workers returns how many workers there are on devices that are not lost.
func (c *crew) workers() (n int) {
	for device, workers := range c.at {
		if !c.lost[device] {
			n += workers
		}
	}
	return n
}

// errNoCard is the error of runs that are not made because the last card is lost.
var errNoCard = errors.New("no card is left: repeat the command to resume the other runs")

// isInterrupted reports whether a run was not begun, or not made to its end, for a reason that has nothing to do with
// the run: a repeated command makes it, or goes on with it.
func isInterrupted(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, errNoCard)
}

// leaves decides whether a worker ends because of the error of its last job, which is then for other workers to do, and
// why.
func (w *poolRun) leaves(ctx context.Context, l *Session, n int, err error) (line string, yes bool) {
	w.lock.Lock()
	defer w.lock.Unlock()
	device := l.Machine.Device
	if err == nil || ctx.Err() != nil {
		return "", false
	}
	if w.crew.lost[device] {
		return "", !isElsewhere(err) && !isFinal(err) // such as a run that had diverged before
	}
	if cardIsLost(err) {
		w.crew.lost[device] = true
		w.crew.cost[n]++
		line = fmt.Sprintf("%s: lost (%s)", l.cardName(), settings.OneLine(err))
		if w.crew.workers() > 0 {
			line += ": its runs resume on the other cards"
		} else {
			w.over = errNoCard
		}
		w.changed.Broadcast()
		return line, true
	}
	// The memory of a card is short because of the other engines on this card, that of the host because of all.
	if gpu.OutOfMemory(err) && w.crew.at[device] > 1 || fitsAlone(err) && w.crew.workers() > 1 {
		w.crew.at[device]--
		line = settings.OneLine(err)
		if l.card != "" {
			line = l.card + ": " + line
		}
		return fmt.Sprintf("%s: %s at a time from now on", line, Count(w.crew.workers(), "run")), true
	}
	return "", false
}

// giveBack puts the job of a worker that ends back into the queue, unless it has cost too many cards.
func (w *poolRun) giveBack(ctx context.Context, n int, err error, now time.Time) {
	if w.crew.cost[n] < mostLost || w.over != nil {
		w.queue.Return(n)
		return
	}
	w.jobs[n].Err = fmt.Errorf("%d cards were lost at this run, which is given no other: %w", mostLost, err)
	w.queue.Done(n, now)
	w.finishReady(ctx)
}

// cardName names the card of a session: "cuda:1, NVIDIA H100".
func (l *Session) cardName() string {
	parts := []string{l.Machine.Device}
	if l.Engine != nil {
		parts = append(parts, l.Engine.Info().Device)
	}
	return strings.Join(parts, ", ")
}

// close closes the session of a worker that ends: its engine and data set leave their memory to the other sessions.
func (w *poolRun) close(l *Session) {
	if err := l.Close(); err != nil {
		Logf(w.stderr, "rollcall: %s\n", settings.OneLine(err))
	}
}

// closeLost closes the session of a worker that ends, if its card is lost.
func (w *poolRun) closeLost(l *Session) {
	w.lock.Lock()
	lost := w.crew.lost[l.Machine.Device]
	w.lock.Unlock()
	if lost {
		w.close(l)
	}
}

// dropLost removes the sessions of lost cards, which are closed, for the next call of [Pool.Run].
func (p *Pool) dropLost(c *crew) {
	if c.workers() == 0 {
		return
	}
	p.Sessions = slices.DeleteFunc(slices.Clone(p.Sessions), func(l *Session) bool {
		return c.lost[l.Machine.Device]
	})
}
