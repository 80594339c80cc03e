package results

import (
	"io"
	"time"

	"rollcall/internal/files"
)

// BenchSchema is the version of the format of a [BenchReport].
const BenchSchema = 1

// BenchReport is one speed measurement with the samples of every metric, as `rollcall bench --format json` prints it.
// Two of them can be compared if their settings and their machines are equal.
type BenchReport struct {
	Schema     int             `json:"schema"`
	Version    string          `json:"version"` // of rollcall
	Time       time.Time       `json:"time"`    // RFC 3339, in whole seconds
	Settings   BenchSettings   `json:"settings"`
	Machine    BenchMachine    `json:"machine"`
	Conditions BenchConditions `json:"conditions"`
	Rounds     int             `json:"rounds"`                // measured
	Active     float64         `json:"active"`                // clients, a mean over these rounds
	EvalImages int             `json:"eval_images,omitempty"` // in one evaluation; 0: none was made
	TestAcc    *float64        `json:"test_acc,omitempty"`    // fraction, after the last round
	Metrics    []BenchMetric   `json:"metrics"`
}

// BenchSettings are the settings on which a speed depends, by the names of [BenchRow].
type BenchSettings struct {
	Data         string `json:"data"`
	Net          string `json:"net"`
	Availability string `json:"availability"`
	Clients      int    `json:"clients"`
	LocalSteps   int    `json:"local_steps"`
	Batch        int    `json:"batch"`
	Warmup       int    `json:"warmup"`
	Seed         uint32 `json:"seed"`
}

// BenchMachine is what computed.
type BenchMachine struct {
	Threads   int    `json:"threads"`
	Engine    string `json:"engine"`
	Precision string `json:"precision"`
	Device    string `json:"device"`
}

// BenchConditions says what else the machine did. A number that the system does not tell is missing.
type BenchConditions struct {
	LoadAverage     *float64 `json:"load_average,omitempty"` // of the minute before
	Others          *float64 `json:"others,omitempty"`       // share of all processors that other programs took, 0 … 1
	Steal           *float64 `json:"steal,omitempty"`        // share of the time stolen from the machine, 0 … 1
	CardUsers       *float64 `json:"card_users,omitempty"`   // other processes on the card
	ReferenceGFLOPs *float64 `json:"reference_gflops,omitempty"`
}

// BenchMetric is one quantity with its samples, above 0 each. Less is better.
type BenchMetric struct {
	Metric  string    `json:"metric"`
	Unit    string    `json:"unit"`
	Samples []float64 `json:"samples"`
}

// The metrics of a [BenchReport]. Those of a client-step have a sample for each measured round that has one.
const (
	BenchRoundTime     = "round"             // ms of wall time of a round
	BenchStep          = "step"              // ms of wall time per client-step
	BenchStepProcessor = "step_processor"    // ms of processor time per client-step, of all threads
	BenchStepLoops     = "step_loops"        // that processor time, in runs of the reference loop beside the round
	BenchInstructions  = "step_instructions" // per client-step, in user mode
	BenchCycles        = "step_cycles"       // per client-step, in user mode
	BenchEval          = "eval"              // µs of wall time per image of an evaluation
	BenchPeakMemory    = "peak_memory"       // MiB
)

// Report returns the measurement with the samples of its rounds.
func (r BenchRow) Report(rounds []BenchRound) BenchReport {
	report := BenchReport{
		Schema: BenchSchema, Version: r.Version, Time: r.Time,
		Settings: BenchSettings{
			Data: r.Data, Net: r.Net, Availability: r.Availability, Clients: r.Clients, LocalSteps: r.LocalSteps,
			Batch: r.Batch, Warmup: r.Warmup, Seed: r.Seed,
		},
		Machine: BenchMachine{Threads: r.Threads, Engine: r.Engine, Precision: r.Precision, Device: r.Device},
		Conditions: BenchConditions{
			LoadAverage: known(r.LoadAverage), Others: known(r.Others), Steal: known(r.Steal),
			CardUsers: known(r.CardUsers), ReferenceGFLOPs: known(r.ReferenceGFLOPs),
		},
		Rounds: r.Rounds, Active: r.Active, EvalImages: r.EvalImages, TestAcc: known(r.TestAcc),
	}
	add := func(metric, unit string, samples []float64) {
		if len(samples) > 0 {
			report.Metrics = append(report.Metrics, BenchMetric{metric, unit, samples})
		}
	}
	steps := func(number func(m *BenchRound) float64) (samples []float64) {
		for i := range rounds {
			if x, ok := rounds[i].perStep(number(&rounds[i])); ok {
				samples = append(samples, x)
			}
		}
		return samples
	}
	var walls []float64
	for _, m := range rounds {
		walls = append(walls, 1e3*m.Wall.Seconds())
	}
	add(BenchRoundTime, "ms", walls)
	add(BenchStep, "ms", steps(func(m *BenchRound) float64 { return 1e3 * m.Wall.Seconds() }))
	add(BenchStepProcessor, "ms", steps(func(m *BenchRound) float64 { return 1e3 * m.Processor.Seconds() }))
	add(BenchStepLoops, "loops", steps((*BenchRound).loops))
	add(BenchInstructions, "instructions", steps(func(m *BenchRound) float64 { return m.Instructions }))
	add(BenchCycles, "cycles", steps(func(m *BenchRound) float64 { return m.Cycles }))
	if r.EvalMS.Valid && r.EvalImages > 0 {
		add(BenchEval, "µs", []float64{1e3 * r.EvalMS.Value / float64(r.EvalImages)})
	}
	if r.PeakMemMiB.Valid {
		add(BenchPeakMemory, "MiB", []float64{r.PeakMemMiB.Value})
	}
	return report
}

// known returns a number as JSON has it: nil is left out.
func known(x files.Optional) *float64 {
	if !x.Valid {
		return nil
	}
	return &x.Value
}

// JSON writes the document.
func (r BenchReport) JSON(w io.Writer) error {
	return files.WriteJSON(w, r)
}
