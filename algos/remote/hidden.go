package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"rollcall/algos"
)

// ErrHidden is the error of a method that keeps more from round to round than it declares.
var ErrHidden = errors.New("hidden state")

// hidden is the check that a method keeps nothing from round to round but what it declares: at the first checkpoint a
// fresh child is restored from it, is told what the first child was told in the next round, and must ask for the same.
type hidden struct {
	start transcript      // of the child's start
	state json.RawMessage // the arrays of the first checkpoint; nil: there was none yet, or it was checked
	round transcript
	done  bool
}

// record begins to record what is said from now on, if it is needed: the start, and the round after the checkpoint.
func (h *hidden) record(c *child) {
	switch {
	case h.start == nil:
		c.record = &h.start
	case h.state != nil:
		c.record = &h.round
	}
}

func (h *hidden) saved(arrays json.RawMessage) {
	if !h.done && h.state == nil {
		h.state = bytes.Clone(arrays)
	}
}

// check is called after every round. It makes the check once.
func (h *hidden) check(ctx context.Context, m *method) error {
	if h.state == nil {
		return nil
	}
	m.child.record = nil
	err := m.same(ctx)
	*h = hidden{done: true, start: transcript{}}
	return err
}

// same lets a fresh child make the recorded round again.
func (m *method) same(ctx context.Context) error {
	c, _, err := m.host.open(ctx, m.script.Path, algos.Process{Timeout: m.timeout}, m.params)
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.repeat(ctx, m.hidden.start); err != nil {
		return fmt.Errorf("a second process does not start as the first did: %w", err)
	}
	restore := fmt.Appendf(nil, `{"op":"restore","id":0,"arrays":%s}`+"\n", m.hidden.state)
	if err := c.sendLine(restore); err != nil {
		return err
	}
	text, err := c.next(ctx, c.deadline())
	if err == nil {
		_, err = parse(text)
	}
	if err == nil {
		err = c.repeat(ctx, m.hidden.round)
	}
	if err != nil {
		return fmt.Errorf("%w: restored from a checkpoint, round %d goes another way: %w: declare in start "+
			"what later rounds need (fed.ints, fed.floats, fed.row), and draw by r.rng", ErrHidden, m.round.T, err)
	}
	return nil
}

// repeat tells a child what another was told, and compares what it says.
func (c *child) repeat(ctx context.Context, t transcript) error {
	requests := 0
	for _, s := range t {
		if !s.byChild {
			if err := c.sendLine(s.text); err != nil {
				return err
			}
			continue
		}
		requests++
		text, err := c.next(ctx, c.deadline())
		if err == nil && !bytes.Equal(text, s.text) {
			if _, failed := parse(text); failed != nil {
				return failed
			}
			err = fmt.Errorf("request %d is %s, and was %s", requests, short(strings.TrimSpace(string(text))),
				short(strings.TrimSpace(string(s.text))))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
