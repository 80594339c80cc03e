package results

import (
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"

	"rollcall/internal/files"
)

// gobenchUnits are the units of which more is better. benchstat takes less for better unless it is told otherwise.
var gobenchUnits = []string{"client-steps/s", "images/s", "FLOP/s", "reference-FLOP/s", "reference-share", "test-acc"}

// Gobench writes a measurement in Go's benchmark format (golang.org/design/14313-benchmark-format), for benchstat to
// read. Round has a line for each measured round, so that benchstat has samples from a single run. What a run has one
// number of follows in lines of their own: Evaluation, and Run with its memory and its conditions.
func (r BenchRow) Gobench(w io.Writer, rounds []BenchRound) error {
	var b strings.Builder
	chip := "gpu"
	if strings.HasPrefix(r.Engine, "cpu-") {
		chip = "cpu"
	}
	fmt.Fprintf(&b, "goos: %s\ngoarch: %s\npkg: rollcall\n%s: %s\n",
		runtime.GOOS, runtime.GOARCH, chip, files.OneLine(r.Device))
	for _, unit := range gobenchUnits {
		fmt.Fprintf(&b, "Unit %s better=higher\n", unit)
	}

	const nsPerMS = 1e6
	workload := r.gobenchWorkload()
	for _, m := range rounds {
		wall := m.Wall.Seconds()
		of := gobenchLine{{1e9 * wall, "ns/op"}}
		if m.Steps > 0 {
			steps := float64(m.Steps)
			of = append(of, gobenchLine{
				{1e9 * wall / steps, "ns/client-step"},
				{steps / wall, "client-steps/s"},
				{float64(m.Images) / wall, "images/s"},
				{m.FLOP / wall, "FLOP/s"},
			}...)
		}
		for _, per := range []gobenchValue{
			{1e9 * m.Processor.Seconds(), "processor-ns/client-step"},
			{m.loops(), "loops/client-step"},
			{m.Instructions, "instructions/client-step"},
			{m.Cycles, "cycles/client-step"},
		} {
			if x, ok := m.perStep(per.value); ok {
				of = append(of, gobenchValue{x, per.unit})
			}
		}
		if m.Reference > 0 {
			of = append(of, gobenchValue{m.Reference, "reference-FLOP/s"})
			if m.Steps > 0 && m.Processor > 0 {
				of = append(of, gobenchValue{m.FLOP / m.Processor.Seconds() / m.Reference, "reference-share"})
			}
		}
		of.write(&b, "Round"+workload)
	}
	var evaluation, once gobenchLine
	evaluation.add(r.EvalMS, nsPerMS, "ns/eval") // not ns/op: benchstat would mean it with the rounds
	evaluation.add(r.TestAcc, 1, "test-acc")
	evaluation.write(&b, "Evaluation"+workload)
	once.add(r.PeakMemMiB, 1<<20, "peak-B")
	once.add(r.Steal, 1, "steal")
	once.add(r.Others, 1, "others")
	once.add(r.LoadAverage, 1, "load-average")
	once.add(r.CardUsers, 1, "card-users")
	once.write(&b, "Run"+workload)
	_, err := io.WriteString(w, b.String())
	return err
}

// gobenchWorkload returns the part of a benchmark's name that says what was measured: /key=value for each setting, and
// the threads.
func (r BenchRow) gobenchWorkload() string {
	var b strings.Builder
	for _, part := range []struct {
		key   string
		value any
	}{
		{"data", r.Data},
		{"net", r.Net},
		{"availability", r.Availability},
		{"clients", r.Clients},
		{"steps", r.LocalSteps},
		{"batch", r.Batch},
		{"engine", r.Engine},
		{"precision", r.Precision},
	} {
		// A space ends a benchmark's name, and a slash separates its parts.
		text := strings.Join(strings.Fields(fmt.Sprint(part.value)), "_")
		fmt.Fprintf(&b, "/%s=%s", part.key, strings.ReplaceAll(text, "/", "_"))
	}
	fmt.Fprintf(&b, "-%d", r.Threads)
	return b.String()
}

// gobenchLine is the numbers of a line, each with its unit.
type gobenchLine []gobenchValue

type gobenchValue struct {
	value float64
	unit  string
}

// add adds a number unless it is missing.
func (l *gobenchLine) add(x files.Optional, scale float64, unit string) {
	if x.Valid {
		*l = append(*l, gobenchValue{x.Value * scale, unit})
	}
}

// write writes a line of one iteration, unless there is no number for it.
func (l gobenchLine) write(b *strings.Builder, name string) {
	if len(l) == 0 {
		return
	}
	fmt.Fprintf(b, "Benchmark%s\t1", name)
	for _, v := range l {
		fmt.Fprintf(b, "\t%s %s", strconv.FormatFloat(v.value, 'g', -1, 64), v.unit)
	}
	b.WriteString("\n")
}
