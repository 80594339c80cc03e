package run

import (
	"strings"
	"testing"

	"rollcall/bench/settings"
	"rollcall/internal/must"
	"rollcall/nets/cpu/kernels"
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
