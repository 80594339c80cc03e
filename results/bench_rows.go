package results

import (
	"errors"
	"io/fs"
	"time"

	"rollcall/results/files"
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

	// one client-step is one local step of one client with one batch; all clients are counted
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
}

// RoundTimes sets the number of measured rounds, and the median, 10th and 90th percentile of their wall times.
func (r *BenchRow) RoundTimes(times []time.Duration) {
	ms := make([]float64, len(times))
	for i, t := range times {
		ms[i] = float64(t) / float64(time.Millisecond)
	}
	r.Rounds = len(times)
	r.RoundMSMedian = stats.Median(ms).Value
	r.RoundMSP10, r.RoundMSP90 = stats.Quantile(ms, 0.1).Value, stats.Quantile(ms, 0.9).Value
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
