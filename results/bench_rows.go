package results

import (
	"errors"
	"io/fs"
	"time"

	"rollcall/internal/files"
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
// atomically. A file that does not hold such rows stays as it is, and the error names it. If two processes append at
// the same moment, one of the two rows may be lost.
func AppendBench(path string, row BenchRow) error {
	rows, err := files.ReadCSVFile[BenchRow](path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	row.Time = row.Time.Truncate(time.Second)
	return files.WriteCSVFile(path, append(rows, row))
}
