package main

import (
	"path/filepath"

	"github.com/spf13/pflag"

	"rollcall/results"
	"rollcall/results/events"
)

// registerEvents adds --events.
func (m *machineFlags) registerEvents(fs *pflag.FlagSet) {
	fs.BoolVar(&m.Events, "events", false, "write the curves as TensorBoard event files too, beside curve.csv (tensorboard --logdir OUT)")
}

// eventProgress passes every evaluation on to an event file as well.
type eventProgress struct {
	progress
	log *events.Log
}

func (p eventProgress) evaluated(row results.CurveRow) {
	p.progress.evaluated(row)
	p.log.Row(row)
}

// keptEvents writes the event file of a finished run that is kept, where --events asks for it.
func (m *machineFlags) keptEvents(dir string) error {
	if !m.Events {
		return nil
	}
	rows, err := results.ReadCurve(filepath.Join(dir, results.CurveFile))
	if err != nil {
		return err
	}
	info, err := results.ReadRunInfo(filepath.Join(dir, results.RunFile))
	if err != nil {
		return err
	}
	return events.WriteCurve(dir, rows, info.Started)
}
