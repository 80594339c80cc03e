package cli

import (
	"context"
	"fmt"
	"time"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/gpu"
	"rollcall/nets/gpu/selftest"
	"rollcall/nets/models"
)

// cardCheck is what `rollcall devices --check` is asked for.
type cardCheck struct {
	device string   // cuda[:i], or auto
	nets   []string // names of nets
}

// checkCards checks the cards that were asked for, one after the other. It fails if any is wrong.
func (a *app) checkCards(ctx context.Context, c cardCheck) error {
	if len(c.nets) == 0 {
		return settings.Usagef("devices: --nets: want at least one net")
	}
	for _, name := range c.nets {
		if err := settings.OneOf("nets", name, models.Names()); err != nil {
			return err
		}
	}
	cards, err := c.cards()
	if err != nil {
		return err
	}
	if _, err := kernels.Select(kernels.FP32); err != nil { // ROLLCALL_CPU asks for what this processor lacks
		return err
	}
	usable, wrong := 0, 0
	for _, card := range cards {
		name := fmt.Sprintf("cuda:%d (%s, %s)", card.Index, card.Name, card.Arch())
		verdict := "unusable: " + card.Unusable
		if card.Unusable == "" {
			usable++
			verdict = "right"
			if err := a.checkCard(ctx, card, c.nets); ctx.Err() != nil {
				return ctx.Err()
			} else if err != nil {
				wrong++
				verdict = "WRONG: " + settings.ErrorLine(err)
			}
		}
		if _, err := fmt.Fprintf(a.stdout, "%s: %s\n", name, verdict); err != nil {
			return err
		}
	}
	switch {
	case usable == 0:
		return fmt.Errorf("devices: no card to check: %s", cards[0].Unusable)
	case wrong > 0:
		return fmt.Errorf("devices: %s WRONG, see above", run.Count(wrong, "card"))
	}
	return nil
}

// cards returns the cards that were asked for: one that can be used, or all there are.
func (c *cardCheck) cards() ([]gpu.Card, error) {
	cuda := run.Machine{Device: c.device}
	if run.SeveralCards(c.device) {
		return nil, settings.Usagef("devices: --device %s: want one card, cuda[:i], or auto for all", c.device)
	}
	if err := cuda.ValidateDevice(); err != nil || c.device == "cpu" {
		return nil, settings.Usagef("devices: --device %q: want auto or cuda[:i]", c.device)
	}
	cards, err := gpu.Cards()
	if err != nil {
		return nil, fmt.Errorf("devices: no card to check: %w", err)
	}
	if c.device == "auto" {
		return cards, nil
	}
	chosen, err := cuda.Choose()
	if err != nil {
		return nil, err
	}
	return []gpu.Card{cards[chosen.Card]}, nil
}

// compilePatience is how long the first lines of a check may take before the user is told why.
const compilePatience = 3 * time.Second

// checkCard checks a card and prints each check as it ends. It returns what is wrong.
func (a *app) checkCard(ctx context.Context, card gpu.Card, netNames []string) error {
	slow := time.AfterFunc(compilePatience, func() {
		run.Logf(a.stderr, "cuda:%d: compiling kernels; the driver keeps them for the next start\n", card.Index)
	})
	defer slow.Stop()
	var printing error
	err := selftest.Run(ctx, card, netNames, func(c selftest.Check) {
		if c.Name == "copies" { // the check behind the kernels
			slow.Stop()
		}
		verdict := "right"
		if c.Wrong {
			verdict = "WRONG"
		}
		if printing == nil {
			_, printing = fmt.Fprintf(a.stdout, "cuda:%d  %-21s  %s  %6.2f s  %s\n", card.Index, c.Name, verdict,
				c.Took.Seconds(), files.OneLine(c.Found))
		}
	})
	if printing != nil {
		return printing
	}
	return err
}
