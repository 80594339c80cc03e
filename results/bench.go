package results

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"rollcall/internal/files"
	"rollcall/internal/lock"
	"rollcall/results/stats"
)

// BenchFile is the name of the file in an output folder to which every speed measurement is appended.
const BenchFile = "bench.csv"

// BenchRow is one speed measurement: a number of rounds of one workload on one machine, after warm-up.
type BenchRow struct {
	Time         time.Time `csv:"time"`    // RFC 3339, in whole seconds
	Version      string    `csv:"version"` // of rollcall
	Data         string    `csv:"data"`
	Net          string    `csv:"net"`
	Availability string    `csv:"availability"`
	Clients      int       `csv:"clients"` // N
	Active       float64   `csv:"active"`  // mean over the rounds measured
	LocalSteps   int       `csv:"local_steps"`
	Batch        int       `csv:"batch"`
	Rounds       int       `csv:"rounds"` // measured
	Warmup       int       `csv:"warmup"` // rounds before them
	Threads      int       `csv:"threads"`
	Engine       string    `csv:"engine"`
	Precision    string    `csv:"precision"`
	Device       string    `csv:"device"`

	// Medians over the rounds, from wall time. A client-step is one local step of one client with one batch; all
	// clients are counted. Rounds have more or fewer active clients, so that their times differ on the quietest
	// machine; the speeds do not.
	ClientStepsPerSec float64 `csv:"client_steps_per_s"`
	ImagesPerSec      float64 `csv:"images_per_s"` // trained on
	GFLOPs            float64 `csv:"gflops"`       // 10⁹ floating-point operations per second in training
	RoundMSMedian     float64 `csv:"round_ms_median"`
	RoundMSP10        float64 `csv:"round_ms_p10"`
	RoundMSP90        float64 `csv:"round_ms_p90"`
	ClientStepMS      float64 `csv:"client_step_ms"`

	EvalImages int            `csv:"eval_images"` // in one evaluation
	EvalMS     files.Optional `csv:"eval_ms"`     // of one evaluation; missing where none was made
	PeakMemMiB files.Optional `csv:"peak_mem_mib"`
	TestAcc    files.Optional `csv:"test_acc"` // fraction, after the last round
	Seed       uint32         `csv:"seed"`

	// Under what conditions it was measured. Files of before have none of these columns, and a number that the system
	// does not tell is missing. Shares are 0 … 1.

	StepsPerSecP10 files.Optional `csv:"client_steps_per_s_p10,optional"`
	StepsPerSecP90 files.Optional `csv:"client_steps_per_s_p90,optional"`
	// processor time, of all threads together
	ProcessorMS files.Optional `csv:"client_step_processor_ms,optional"`
	// of one thread in the reference loop, and the share of it that training reaches, per processor time
	ReferenceGFLOPs files.Optional `csv:"reference_gflops,optional"`
	ReferenceShare  files.Optional `csv:"reference_share,optional"`
	Steal           files.Optional `csv:"steal,optional"`        // share of the time stolen from the machine
	Others          files.Optional `csv:"others,optional"`       // share of all processors that other programs took
	LoadAverage     files.Optional `csv:"load_average,optional"` // of the minute before
	CardUsers       files.Optional `csv:"card_users,optional"`   // other processes on the card
}

// BenchRound is one measured round.
type BenchRound struct {
	Wall      time.Duration
	Processor time.Duration // of all threads; 0: not known
	Steps     int           // client-steps
	Images    int           // trained on
	FLOP      float64       // of the training
	Reference float64       // FLOP per second of one thread in the reference loop, beside the round; 0: not measured

	ReferenceFLOP        float64 // of one thread in one run of the reference loop; 0: not measured
	Instructions, Cycles float64 // user-mode, of all threads; 0: not known
}

// perStep returns a number of the round per client-step. ok is false if the round has no client-step, or if the number
// is not known.
func (m *BenchRound) perStep(x float64) (per float64, ok bool) {
	if m.Steps == 0 || x <= 0 {
		return 0, false
	}
	return x / float64(m.Steps), true
}

// loops returns the processor time of the round in runs of the reference loop on one thread; 0: not known.
func (m *BenchRound) loops() float64 {
	if m.ReferenceFLOP <= 0 {
		return 0
	}
	return m.Processor.Seconds() * m.Reference / m.ReferenceFLOP
}

// SetRounds sets the number of rounds, and everything in the row that is a median or a quantile over them. A round
// without client-steps counts in the times of rounds alone.
func (r *BenchRow) SetRounds(rounds []BenchRound) {
	var ms, steps, images, gflops, stepMS, processor, reference, share []float64
	for _, m := range rounds {
		wall := m.Wall.Seconds()
		ms = append(ms, 1e3*wall)
		if m.Reference > 0 {
			reference = append(reference, m.Reference/1e9)
		}
		if m.Steps == 0 {
			continue
		}
		steps, images = append(steps, float64(m.Steps)/wall), append(images, float64(m.Images)/wall)
		gflops, stepMS = append(gflops, m.FLOP/wall/1e9), append(stepMS, 1e3*wall/float64(m.Steps))
		if m.Processor > 0 {
			processor = append(processor, 1e3*m.Processor.Seconds()/float64(m.Steps))
			if m.Reference > 0 {
				share = append(share, m.FLOP/m.Processor.Seconds()/m.Reference)
			}
		}
	}
	r.Rounds = len(rounds)
	r.RoundMSMedian = stats.Median(ms).Value
	r.RoundMSP10, r.RoundMSP90 = stats.Quantile(ms, 0.1).Value, stats.Quantile(ms, 0.9).Value
	r.ClientStepsPerSec, r.ImagesPerSec = stats.Median(steps).Value, stats.Median(images).Value
	r.GFLOPs, r.ClientStepMS = stats.Median(gflops).Value, stats.Median(stepMS).Value
	r.StepsPerSecP10, r.StepsPerSecP90 = stats.Quantile(steps, 0.1), stats.Quantile(steps, 0.9)
	r.ProcessorMS = stats.Median(processor)
	r.ReferenceGFLOPs, r.ReferenceShare = stats.Median(reference), stats.Median(share)
}

// AppendBench adds a row to a file of speed measurements and creates the file if there is none. It rewrites the file
// atomically. A file that does not hold such rows stays as it is, and the error names it. Processes that append at the
// same moment wait for each other, up to a minute, unless the file system cannot lock.
func AppendBench(path string, row BenchRow) (err error) {
	turn, err := benchTurn(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, turn.Release()) }()
	rows, err := files.ReadCSVFile[BenchRow](path, files.MostTable)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	row.Time = row.Time.Truncate(time.Second)
	return files.WriteCSVFile(path, append(rows, row))
}

// How often and how long a process tries to get its turn to append a row, which takes another one a moment.
const (
	benchPause = 20 * time.Millisecond
	benchWait  = time.Minute
)

// benchTurn takes the lock of a file of speed measurements: that of a hidden folder beside it, since the file itself is
// replaced. The folder goes with the lock, unless somebody waits for it.
func benchTurn(path string) (*lock.Lock, error) {
	dir := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".lock")
	for began := time.Now(); ; time.Sleep(benchPause) {
		turn, err := lock.Take(dir, lock.Holder{})
		if err == nil {
			return turn, nil
		}
		held, is := errors.AsType[*lock.HeldError](err)
		if !is {
			return nil, fmt.Errorf("results: %s: %w", path, err)
		}
		if time.Since(began) > benchWait {
			return nil, fmt.Errorf("results: %s: %s has been adding a row for a minute, want it to end",
				path, &held.Holder)
		}
	}
}

// Text writes the row for people to read: the workload, the machine and the speeds, with units.
func (r BenchRow) Text(w io.Writer) error {
	var b strings.Builder
	line := func(name string, parts ...string) { b.WriteString(name + "\t" + strings.Join(parts, "\t") + "\n") }
	line("rollcall", fmt.Sprintf("%s, %s", r.Version, r.Time.Format(time.RFC3339)))
	line("workload", fmt.Sprintf("%s, %s, %s, %s of %d clients active, %d local steps of %d images, seed %d",
		r.Data, r.Net, r.Availability, short(r.Active), r.Clients, r.LocalSteps, r.Batch, r.Seed))
	line("rounds", fmt.Sprintf("%d measured after %d of warm-up", r.Rounds, r.Warmup))
	line("machine", strings.Join([]string{r.Device, files.Count(r.Threads, "thread"), r.Engine, r.Precision}, ", "))
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
