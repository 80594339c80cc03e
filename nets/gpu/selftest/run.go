//go:build gpu && linux && cgo

package selftest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rollcall/nets/gpu"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/kernels"
)

// Run checks a usable card with the nets of the given names, and calls report with each check as it ends. It returns
// nil if everything is right, ctx.Err() if the context has ended, and otherwise the first thing that is wrong.
//
// A card that is lost, or that cannot load the kernels, is not checked further. All other checks run to the last one,
// since the list of those that fail says where to look.
func Run(ctx context.Context, card gpu.Card, netNames []string, report func(Check)) (err error) {
	s := &session{ctx: ctx, report: report, card: newCard(card), seen: map[string]bool{}}
	defer func() {
		if closed := s.card.close(); err == nil && closed != nil {
			err = fmt.Errorf("close the card: %w", closed)
		}
	}()
	for _, c := range []struct {
		name string
		do   func() (found string, err error)
	}{
		{"card", s.card.open},
		{"kernels fp32", func() (string, error) { return s.card.loadKernels(gpu.FP32) }},
		{"kernels tf32", func() (string, error) { return s.card.loadKernels(gpu.TF32) }},
		{"kernels bf16", func() (string, error) { return s.card.loadKernels(gpu.BF16) }},
		{"copies", s.card.copies},
	} {
		if !s.check(c.name, c.do) {
			return s.outcome()
		}
	}
	for _, name := range netNames {
		if !s.net(name) {
			return s.outcome()
		}
	}
	s.check("launches", s.launches)
	return s.outcome()
}

type session struct {
	ctx    context.Context
	report func(Check)
	card   *card
	seen   map[string]bool // kernels and copies that were launched
	first  error           // the first thing that is wrong
	wrong  int             // checks that failed
}

// check runs one check and reports it. It returns whether all is right so far.
func (s *session) check(name string, do func() (found string, err error)) bool {
	if s.ctx.Err() != nil {
		return false
	}
	begun := time.Now()
	found, err := do()
	if s.ctx.Err() != nil {
		return false // an interrupted check has found nothing
	}
	c := Check{Name: name, Found: found, Took: time.Since(begun)}
	if err != nil {
		c.Found, c.Wrong = err.Error(), true
		s.wrong++
		if s.first == nil {
			s.first = fmt.Errorf("%s: %w", name, err)
		}
	}
	s.report(c)
	return s.first == nil
}

// net checks a net in every precision. It returns false when the card cannot be checked further.
func (s *session) net(name string) bool {
	var t *netTest
	lost := false
	for _, p := range []gpu.Precision{gpu.FP32, gpu.TF32, gpu.BF16} {
		s.check(name+" "+string(p), func() (found string, err error) {
			if t == nil {
				if t, err = newNetTest(s.ctx, name); err != nil {
					return "", err
				}
			}
			found, launched, err := t.check(s.ctx, s.card.info.Index, p)
			for _, kernel := range launched {
				s.seen[kernel] = true
			}
			lost = errors.Is(err, driver.ErrDeviceLost)
			return found, err
		})
		if lost || s.ctx.Err() != nil {
			return false
		}
	}
	return true
}

// launches counts the kernels that the checks have launched. The rest is for nets that were left out, or for none.
func (s *session) launches() (found string, err error) {
	launched, all := 0, 0
	for _, m := range kernels.Modules() {
		for _, name := range m.Kernels {
			all++
			if s.seen[name] {
				launched++
			}
		}
	}
	return fmt.Sprintf("%d of %d kernels", launched, all), nil
}

// outcome returns the error of [Run].
func (s *session) outcome() error {
	switch err := s.ctx.Err(); {
	case err != nil:
		return err
	case s.wrong > 1:
		return fmt.Errorf("%w (and %d more)", s.first, s.wrong-1)
	}
	return s.first
}
