package plan

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/internal/files"
	"rollcall/nets/models"
	"rollcall/results"
)

// Rate is how fast this machine is with the net and the batch size of a workload.
type Rate struct {
	results.BenchRow
	Measured bool // measured now; false: the row comes from OUT/bench.csv
}

// The size of a measured round, so that it takes seconds: clients and FLOP on the CPU, and a thousand times on a card.
const (
	ratedClients = 4
	ratedFLOP    = 1e11
	cardClients  = 40
	cardFLOP     = 1e14
)

// measure adds to each cell how long its runs of a workload take. It takes the speed from the newest measurement of
// this machine, or measures it now.
func (pl *planner) measure(ctx context.Context, w workload) error {
	s, err := pl.rated(w)
	if err != nil {
		return err
	}
	log := pl.session.Stderr
	pl.session.Stderr = io.Discard // the lines about memory are not true for the planned runs
	err = pl.session.Open(ctx, &s, anySeed)
	pl.session.Stderr = log
	if err != nil {
		return err
	}
	// The engine is open before the look into bench.csv, because rows there are found by its name and device.
	rate := Rate{}
	if row := pl.earlier(&s); row != nil {
		rate.BenchRow = *row
	} else if rate.BenchRow, err = pl.session.Rate(ctx, s, anySeed); err != nil {
		return err
	}
	rate.Measured = rate.Time.IsZero() // every row of bench.csv has its time, and Session.Rate sets none
	pl.Rates = append(pl.Rates, rate)

	trained, evaluated := 1.0, 1.0 // FLOP of the runs' net as multiples of the measured net's
	if s.Net != w.net || s.Data != w.of {
		of, err := w.model(w.of)
		if err != nil {
			return err
		}
		by, err := s.Model()
		if err != nil {
			return err
		}
		trained, evaluated = of.Train/by.Train, of.Forward/by.Forward
	}
	for _, c := range pl.costs[w] {
		sec := c.images*trained/rate.ImagesPerSec +
			c.evaluated*evaluated*rate.EvalMS.Value/1e3/float64(rate.EvalImages)
		r := &pl.Runs[c.run]
		own, left := r.Shares()
		r.Whole, r.Sec = own*sec, left*sec
		if pl.Groups[c.cell].Sec += r.Sec; r.Left() {
			pl.Each = append(pl.Each, r.Sec)
		}
	}
	return nil
}

// model returns the net of a workload for the samples of a data set.
func (w *workload) model(data string) (*models.Model, error) {
	about, err := datasets.About(data)
	if err != nil {
		return nil, err
	}
	return models.Shaped(w.net, about.Shape)
}

// rated returns the settings of the measured rounds: FedAvg over a few clients that are always there.
func (pl *planner) rated(w workload) (settings.Settings, error) {
	s, err := settings.Defaults("fedavg-active", w.preset, w.data)
	if err != nil {
		return s, err
	}
	// Generated images in place of missing data have one size. If the net does not take it, the generated data's own
	// net is measured. The speed is scaled by the FLOP of the two.
	model, err := w.model(w.data)
	if err == nil {
		s.Net = w.net
	} else if model, err = w.model(w.of); err != nil {
		return s, err
	}
	choice, err := pl.session.Machine.Choose()
	if err != nil {
		return s, err
	}
	// At least one client per thread, so that no thread idles. P = 1: all clients are there in every round.
	clients, flop := max(ratedClients, pl.session.Machine.Threads), ratedFLOP
	if choice.CUDA {
		clients, flop = cardClients, cardFLOP
	}
	s.Clients, s.Batch, s.Availability, s.P = clients, w.batch, "stationary", files.Some(1)
	if w.of == generatedData {
		s.TrainSize, s.TestSize = w.train, w.test
	}
	s.LocalEpochs = files.Optional{} // would replace LocalSteps
	// model.Train is the FLOP of training on one image. The run's own steps are enough if they take less.
	s.LocalSteps = max(1, min(w.steps, int(flop/(float64(clients*w.batch)*model.Train))))
	return s, s.Validate()
}

// alike reports whether the samples of two data sets have the same shape.
func alike(a, b string) bool {
	of, errA := datasets.About(a)
	other, errB := datasets.About(b)
	return errA == nil && errB == nil && of.Shape == other.Shape
}

// earlier returns the newest row of OUT/bench.csv of this engine and device, with the net, the batch and the shape of
// the samples of s; nil: none.
func (pl *planner) earlier(s *settings.Settings) *results.BenchRow {
	ses := pl.session
	path := filepath.Join(ses.Machine.Out, results.BenchFile)
	rows, err := files.ReadCSVFile[results.BenchRow](path, files.MostTable)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		run.Logf(ses.Stderr, "rollcall: %s: measures again\n", settings.ErrorLine(err))
	}
	info := ses.Engine.Info()
	// A row lacks the evaluation if its bench was interrupted. Threads count for the CPU engine alone: a card trains.
	for _, r := range slices.Backward(rows) { // bench appends its rows
		if r.Engine == info.Engine && r.Precision == info.Precision && r.Device == info.Device && r.Net == s.Net &&
			alike(r.Data, s.Data) &&
			r.Batch == s.Batch && r.ImagesPerSec > 0 && r.EvalMS.Valid && r.EvalImages > 0 &&
			(r.Threads == ses.Machine.Threads || !strings.HasPrefix(info.Engine, "cpu-")) {
			return &r
		}
	}
	return nil
}
