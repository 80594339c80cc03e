// Package cards says which cards a command trains on that makes many runs: --device cuda:all, or a list of them.
package cards

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rollcall/bench/settings"
	"rollcall/nets"
	"rollcall/nets/gpu"
)

// Visible is the environment variable of CUDA that names the devices which a process may see.
const Visible = "CUDA_VISIBLE_DEVICES"

// Several reports whether a --device is a list of cards, or stands for all of them.
func Several(device string) bool {
	kind, which, _ := strings.Cut(device, ":")
	return kind == "cuda" && (which == "all" || strings.Contains(which, ","))
}

// Parse returns the indexes of a list such as cuda:0,2, or that it is cuda:all.
func Parse(device string) (indexes []int, all bool, err error) {
	_, which, _ := strings.Cut(device, ":")
	if which == "all" {
		return nil, true, nil
	}
	for text := range strings.SplitSeq(which, ",") {
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

// Choice is the cards of a command.
type Choice struct {
	Cards []gpu.Card // usable, one at least, all of the same numerics
	Notes []string   // lines for the user about cards that are left out
}

// Choose returns the cards of a --device for which [Several] holds. there is the cards of this machine, visible the
// value of [Visible].
func Choose(device string, precision gpu.Precision, there []gpu.Card, visible string) (c Choice, err error) {
	indexes, all, err := Parse(device)
	if err != nil {
		return c, err
	}
	if all {
		c = usable(device, there)
		if len(c.Cards) == 0 {
			return c, fmt.Errorf("device %s: %s: %s", device, there[0].Name, there[0].Unusable)
		}
		if n := instances(visible); n > len(there) && len(there) == 1 {
			c.Notes = append(c.Notes, fmt.Sprintf("%s: CUDA shows a process one MIG instance, and %s names %d: start "+
				"a process for each of them, with it alone in %s, all with this --out", device, Visible, n, Visible))
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
func usable(device string, there []gpu.Card) (c Choice) {
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

// instances returns how many MIG instances a value of [Visible] names.
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
