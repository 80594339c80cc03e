package run

import (
	"fmt"
	"strings"
	"testing"

	"rollcall/bench/settings"
	"rollcall/internal/must"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/gpu"
	"rollcall/nets/models"
)

// A machine offers the precisions of the engine that runs there, and says why that engine runs.
func TestOffers(t *testing.T) {
	for _, c := range []struct {
		precision string
		choice    Choice
		want      string // empty: it is offered
	}{
		{"bf16x3", Choice{}, ""},
		{
			"tf32",
			Choice{why: " (auto: gpu: no driver)"},
			"--precision tf32: the CPU engine, which runs here (auto: gpu: no driver), has fp32, bf16 and bf16x3",
		},
		{"tf32", Choice{CUDA: true}, ""},
		{
			"bf16x3",
			Choice{CUDA: true, why: " (auto: a card)"},
			"--precision bf16x3: the CUDA engine, which runs here (auto: a card), has tf32, fp32 and bf16",
		},
	} {
		m := Machine{Precision: c.precision}
		err := m.offers(c.choice)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want || err != nil && !settings.IsUsage(err) {
			t.Errorf("--precision %q on %+v: %v, want %q", c.precision, c.choice, err, c.want)
		}
	}
}

// What a machine says of its numbers before an engine is open is what the engine says.
func TestNumericsOfPrecisions(t *testing.T) {
	model := must.Get(models.New("linear-binary"))(t)
	seen := map[string]string{}
	for _, precision := range []string{"", "fp32", "bf16", "bf16x3"} {
		for _, choice := range kernels.Choices(kernels.Precision(precision)) {
			t.Setenv("ROLLCALL_CPU", choice.Name())
			m := Machine{Device: "cpu", Precision: precision, Threads: 2}
			class, revision := must.Get2(m.Numerics())(t)
			e, line := must.Get2(m.OpenEngine(model, nil, nil, Demand{Batch: 1}, nil))(t)
			info := e.Info()
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			if class != info.Numerics || revision != info.Revision {
				t.Errorf("%s: %s, revision %d, want the engine's %s, %d",
					line, class, revision, info.Numerics, info.Revision)
			}
			if want := "device: cpu-" + choice.Name() + ", "; !strings.HasPrefix(line, want) ||
				!strings.Contains(line, ", "+info.Precision+", 2 threads") {
				t.Errorf("line %q, want the kernels %s, the precision %s and 2 threads",
					line, choice.Name(), info.Precision)
			}
			if was := seen[class]; was != "" && was != info.Precision {
				t.Errorf("%s: the class of %s and of %s", class, was, info.Precision)
			}
			seen[class] = info.Precision
		}
	}
}

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
