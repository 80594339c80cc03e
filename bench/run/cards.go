package run

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"rollcall/bench/settings"
	"rollcall/nets"
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
func (m *Machine) cards() (c chosenCards, err error) {
	there, err := gpu.Cards()
	if err != nil {
		return c, fmt.Errorf("device %s: %w", m.Device, err)
	}
	return chooseCards(m.Device, m.cardPrecision(), there, os.Getenv(visibleCards))
}

// cardPrecision returns the precision of an engine on a card. Validate has checked it.
func (m *Machine) cardPrecision() gpu.Precision { return cmp.Or(gpu.Precision(m.Precision), gpu.TF32) }

// CardError says that the card of a --device cannot be used.
type CardError struct{ Err error }

func (e *CardError) Error() string { return e.Err.Error() }

// Unwrap returns the error itself.
func (e *CardError) Unwrap() error { return e.Err }

// CardIsLost reports whether an error of a run means that its card is lost. A card that cannot be used any more is:
// it could when the command began.
func CardIsLost(err error) bool {
	_, unusable := errors.AsType[*CardError](err)
	return unusable || gpu.DeviceLost(err)
}

// each returns a machine for each card of a --device that names several, and lines about the cards; for auto with a
// card, a machine with that card, so that the runs stay there. Otherwise, and if the cards cannot be used any more,
// which the first run reports, it returns the machine itself.
func (m *Machine) each() (all []Machine, notes []string) {
	if !SeveralCards(m.Device) {
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

// CardName names the card of a session: "cuda:1, NVIDIA H100".
func (ses *Session) CardName() string {
	parts := []string{ses.Machine.Device}
	if ses.Engine != nil {
		parts = append(parts, ses.Engine.Info().Device)
	}
	return strings.Join(parts, ", ")
}

// visibleCards is the environment variable of CUDA that names the devices which a process may see.
const visibleCards = "CUDA_VISIBLE_DEVICES"

// SeveralCards reports whether a --device is a list of cards, or stands for all of them.
func SeveralCards(device string) bool {
	kind, which, _ := strings.Cut(device, ":")
	return kind == "cuda" && (which == "all" || strings.Contains(which, ","))
}

// parseCards returns the indexes of a list such as cuda:0,2, or that it is cuda:all.
func parseCards(device string) (indexes []int, all bool, err error) {
	_, which, _ := strings.Cut(device, ":")
	if which == "all" {
		return nil, true, nil
	}
	for text := range strings.SplitSeq(which, ",") {
		text = strings.TrimSpace(text)
		// Only digits are an index: strconv.Atoi would take a sign too.
		if text == "" || strings.Trim(text, "0123456789") != "" {
			return nil, false, settings.Usagef("--device %q: want cuda:all, or indexes with commas such as cuda:0,2",
				device)
		}
		index, _ := strconv.Atoi(text) // too large for an int: the largest int, which no card has
		if slices.Contains(indexes, index) {
			return nil, false, settings.Usagef("--device %s: card %d twice, want it once", device, index)
		}
		indexes = append(indexes, index)
	}
	return indexes, false, nil
}

type chosenCards struct {
	Cards []gpu.Card // usable, one at least, all of the same numerics
	Notes []string   // lines for the user about cards that are left out
}

// chooseCards returns the cards of a --device for which [SeveralCards] holds. there is the cards of this machine,
// visible the value of [visibleCards].
func chooseCards(device string, precision gpu.Precision, there []gpu.Card, visible string) (c chosenCards, err error) {
	indexes, all, err := parseCards(device)
	if err != nil {
		return c, err
	}
	if all {
		c = usable(device, there)
		if len(c.Cards) == 0 {
			return c, fmt.Errorf("device %s: %s: %s", device, there[0].Name, there[0].Unusable)
		}
		if n := instances(visible); n > len(there) && len(there) == 1 {
			c.Notes = append(c.Notes, fmt.Sprintf("%s: CUDA shows a process one MIG instance, and "+visibleCards+
				" names %d: start a process for each of them, with it alone in "+visibleCards+", all with this --out",
				device, n))
		}
	}
	for _, i := range indexes {
		switch {
		case i >= len(there):
			return c, fmt.Errorf("device %s: gpu: no card %d, there are %d (rollcall devices lists them)",
				device, i, len(there))
		case there[i].Unusable != "":
			return c, fmt.Errorf("device %s: cuda:%d, %s: %s", device, i, there[i].Name, there[i].Unusable)
		}
		c.Cards = append(c.Cards, there[i])
	}
	return c, alike(device, precision, c.Cards)
}

// usable returns all usable cards, and a line that names the others.
func usable(device string, there []gpu.Card) (c chosenCards) {
	var without []string
	for _, card := range there {
		if card.Unusable == "" {
			c.Cards = append(c.Cards, card)
			continue
		}
		without = append(without, fmt.Sprintf("cuda:%d (%s: %s)", card.Index, card.Name, card.Unusable))
	}
	if without != nil {
		c.Notes = []string{fmt.Sprintf("%s: without %s", device, strings.Join(without, ", "))}
	}
	return c
}

// instances returns how many MIG instances a value of [visibleCards] names.
func instances(visible string) (n int) {
	for name := range strings.SplitSeq(visible, ",") {
		if strings.HasPrefix(strings.TrimSpace(name), "MIG-") {
			n++
		}
	}
	return n
}

// alike refuses cards that compute other last digits: runs made on one and on the other have no mean in common.
func alike(device string, precision gpu.Precision, of []gpu.Card) error {
	var classes []string
	lists := map[string][]string{} // by class: the indexes
	for _, card := range of {
		class := nets.Numerics(card.Engine(), string(precision))
		if lists[class] == nil {
			classes = append(classes, class)
		}
		lists[class] = append(lists[class], strconv.Itoa(card.Index))
	}
	if len(classes) < 2 {
		return nil
	}
	var together []string
	for _, class := range classes {
		together = append(together, fmt.Sprintf("cuda:%s (%s)", strings.Join(lists[class], ","), class))
	}
	return settings.Usagef("--device %s: numbers of these cards differ in the last digits: want %s, or --precision "+
		"fp32", device, strings.Join(together, " or "))
}
