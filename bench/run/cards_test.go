package run

import (
	"fmt"
	"strings"
	"testing"

	"rollcall/bench/settings"
	"rollcall/nets/gpu"
)

// card returns a card by its compute capability; an unusable one has a reason behind a blank.
func card(index int, text string) gpu.Card {
	capability, unusable, _ := strings.Cut(text, " ")
	return gpu.Card{Index: index, Name: "N" + fmt.Sprint(index), Capability: capability, Unusable: unusable}
}

// Beside what TestSeveralCards, TestCardsOfSeveralKinds and TestInstances of bench/e2e see of emulated cards.
func TestChoose(t *testing.T) {
	for _, c := range []struct {
		device, there, visible string // the cards by commas
		precision              gpu.Precision
		want, notes            string // indexes, and lines
		err                    string
		usage                  bool
	}{
		{
			device: "cuda:all", there: "9.0,7.5 too old,9.0,9.0 in use", want: "0 2",
			notes: "cuda:all: without cuda:1 (N1: too old), cuda:3 (N3: in use)",
		},
		{device: "cuda:all", there: "7.5 too old,6.0 older", err: "device cuda:all: N0: too old"},
		{device: "cuda:all", there: "9.0", visible: "MIG-1", want: "0"},
		{device: "cuda:all", there: "9.0", visible: "GPU-1,GPU-2", want: "0"},
		{device: "cuda:0,2", there: "9.0,8.0,9.0", precision: gpu.TF32, want: "0 2"},
		{
			device: "cuda:0,99999999999999999999", there: "9.0,9.0",
			err: "device cuda:0,99999999999999999999: gpu: no card 9223372036854775807, there are 2 (rollcall " +
				"devices lists them)",
		},
		{device: "cuda:1,01", there: "9.0,9.0", err: "--device cuda:1,01: card 1 twice, want it once", usage: true},
		{
			device: "cuda:all", there: "9.0,8.0,9.0", precision: gpu.TF32, usage: true,
			err: "--device cuda:all: numbers of these cards differ in the last digits: want cuda:0,2 " +
				"(cuda-sm90-tf32) or cuda:1 (cuda-sm80-tf32), or --precision fp32",
		},
	} {
		var there []gpu.Card
		for i, text := range strings.Split(c.there, ",") {
			there = append(there, card(i, text))
		}
		got, err := chooseCards(c.device, c.precision, there, c.visible)
		text := ""
		if err != nil {
			text = err.Error()
		} else {
			var indexes []string
			for _, card := range got.Cards {
				indexes = append(indexes, fmt.Sprint(card.Index))
			}
			if indexes := strings.Join(indexes, " "); indexes != c.want || strings.Join(got.Notes, "\n") != c.notes {
				t.Errorf("%s of %s: cards %s, notes %q, want %s, %q",
					c.device, c.there, indexes, got.Notes, c.want, c.notes)
			}
		}
		if text != c.err || err != nil && settings.IsUsage(err) != c.usage {
			t.Errorf("%s of %s: error %q, want %q, of the usage: %t", c.device, c.there, text, c.err, c.usage)
		}
	}
}
