package results

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"rollcall/internal/files"
	"rollcall/results/stats"
)

// Text writes the row for people to read: the workload, the machine and the speeds, with units.
func (r BenchRow) Text(w io.Writer) error {
	var b strings.Builder
	line := func(name string, parts ...string) { b.WriteString(name + "\t" + strings.Join(parts, "\t") + "\n") }
	line("rollcall", fmt.Sprintf("%s, %s", r.Version, r.Time.Format(time.RFC3339)))
	line("workload", fmt.Sprintf("%s, %s, %s, %s of %d clients active, %d local steps of %d images, seed %d",
		r.Data, r.Net, r.Availability, short(r.Active), r.Clients, r.LocalSteps, r.Batch, r.Seed))
	line("rounds", fmt.Sprintf("%d measured after %d of warm-up", r.Rounds, r.Warmup))
	threads := "threads"
	if r.Threads == 1 {
		threads = "thread"
	}
	line("machine", fmt.Sprintf("%s, %d %s, %s, %s", r.Device, r.Threads, threads, r.Engine, r.Precision))
	line("speed", short(r.ClientStepsPerSec)+" client-steps/s", short(r.ImagesPerSec)+" images/s",
		short(r.GFLOPs)+" GFLOP/s")
	if r.StepsPerSecP10.Valid && r.StepsPerSecP90.Valid {
		line("client-steps/s", short(r.ClientStepsPerSec)+" median", short(r.StepsPerSecP10.Value)+" p10",
			short(r.StepsPerSecP90.Value)+" p90")
	}
	step := []string{short(r.ClientStepMS) + " ms"}
	if r.ProcessorMS.Valid {
		step = append(step, short(r.ProcessorMS.Value)+" ms of processor time")
	}
	line("client-step", step...)
	line("round", short(r.RoundMSMedian)+" ms median", short(r.RoundMSP10)+" ms p10", short(r.RoundMSP90)+" ms p90")
	if r.EvalMS.Valid {
		line("evaluation", short(r.EvalMS.Value)+" ms", fmt.Sprintf("%d images", r.EvalImages))
	}
	if r.PeakMemMiB.Valid {
		line("peak memory", short(r.PeakMemMiB.Value)+" MiB")
	}
	if r.TestAcc.Valid {
		line("test accuracy", fmt.Sprintf("%.2f %%", 100*r.TestAcc.Value))
	}
	if r.ReferenceGFLOPs.Valid {
		text := short(r.ReferenceGFLOPs.Value) + " GFLOP/s a thread in the reference loop"
		if r.ReferenceShare.Valid {
			text += fmt.Sprintf(", training reaches %.1f %% of it", 100*r.ReferenceShare.Value)
		}
		line("reference", text)
	}
	if others := r.others(); len(others) > 0 {
		line("other programs", strings.Join(others, ", "))
	}
	// A files.TextTable would align all lines; tabwriter aligns a line's numbers with its neighbours only.
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(out, b.String()); err != nil {
		return err
	}
	return out.Flush()
}

// others says what else the machine did, as far as it is known.
func (r BenchRow) others() (parts []string) {
	if r.LoadAverage.Valid {
		parts = append(parts, fmt.Sprintf("load average %.2f before", r.LoadAverage.Value))
	}
	if r.Others.Valid {
		parts = append(parts, fmt.Sprintf("%.1f %% of the processors meanwhile", 100*r.Others.Value))
	}
	if r.Steal.Valid {
		parts = append(parts, fmt.Sprintf("%.1f %% stolen", 100*r.Steal.Value))
	}
	if r.CardUsers.Valid {
		parts = append(parts, fmt.Sprintf("%.0f others on the card", r.CardUsers.Value))
	}
	return parts
}

// short prints a number with four significant digits, without an exponent, and with all digits before the point.
func short(x float64) string {
	decimals := 0
	if x != 0 && stats.Finite(x) {
		decimals = min(max(3-int(math.Floor(math.Log10(math.Abs(x)))), 0), 9)
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// Gobench writes the row in Go's benchmark format (golang.org/design/14313-benchmark-format), for benchstat to read:
// ns/op is the median time of a round, and the iteration count is the number of measured rounds. benchstat needs
// several measurements to tell a difference from noise: concatenate their outputs.
func (r BenchRow) Gobench(w io.Writer) error {
	var b strings.Builder
	chip := "gpu"
	if strings.HasPrefix(r.Engine, "cpu-") {
		chip = "cpu"
	}
	fmt.Fprintf(&b, "goos: %s\ngoarch: %s\npkg: rollcall\n%s: %s\n",
		runtime.GOOS, runtime.GOARCH, chip, files.OneLine(r.Device))
	// Lower is better for times, which benchstat assumes; speeds and accuracies need to say otherwise.
	for _, unit := range []string{
		"client-steps/s", "p10-client-steps/s", "p90-client-steps/s", "images/s", "FLOP/s", "reference-FLOP/s",
		"reference-share", "test-acc",
	} {
		fmt.Fprintf(&b, "Unit %s better=higher\n", unit)
	}

	b.WriteString("BenchmarkRound")
	// A space ends a benchmark's name, and a slash separates its parts.
	part := func(key string, value any) {
		text := strings.Join(strings.Fields(fmt.Sprint(value)), "_")
		fmt.Fprintf(&b, "/%s=%s", key, strings.ReplaceAll(text, "/", "_"))
	}
	part("data", r.Data)
	part("net", r.Net)
	part("availability", r.Availability)
	part("clients", r.Clients)
	part("steps", r.LocalSteps)
	part("batch", r.Batch)
	part("engine", r.Engine)
	part("precision", r.Precision)
	fmt.Fprintf(&b, "-%d\t%d", r.Threads, r.Rounds)

	value := func(x float64, unit string) { fmt.Fprintf(&b, "\t%s %s", strconv.FormatFloat(x, 'g', -1, 64), unit) }
	const nsPerMS = 1e6
	value(r.RoundMSMedian*nsPerMS, "ns/op")
	value(r.RoundMSP10*nsPerMS, "p10-ns/op")
	value(r.RoundMSP90*nsPerMS, "p90-ns/op")
	value(r.ClientStepMS*nsPerMS, "ns/client-step")
	value(r.ClientStepsPerSec, "client-steps/s")
	value(r.ImagesPerSec, "images/s")
	value(r.GFLOPs*1e9, "FLOP/s")
	for _, m := range []struct {
		value files.Optional
		scale float64
		unit  string
	}{
		{r.StepsPerSecP10, 1, "p10-client-steps/s"},
		{r.StepsPerSecP90, 1, "p90-client-steps/s"},
		{r.ProcessorMS, nsPerMS, "processor-ns/client-step"},
		{r.ReferenceGFLOPs, 1e9, "reference-FLOP/s"},
		{r.ReferenceShare, 1, "reference-share"},
		{r.EvalMS, nsPerMS, "ns/eval"},
		{r.PeakMemMiB, 1 << 20, "peak-B"},
		{r.Steal, 1, "steal"},
		{r.Others, 1, "others"},
		{r.LoadAverage, 1, "load-average"},
		{r.CardUsers, 1, "card-users"},
		{r.TestAcc, 1, "test-acc"},
	} {
		if m.value.Valid {
			value(m.value.Value*m.scale, m.unit)
		}
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}
