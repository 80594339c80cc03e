package run

import (
	"path/filepath"

	"rollcall/results"
	"rollcall/results/events"
)

// eventProgress passes every evaluation on to an event file as well.
type eventProgress struct {
	progress
	log *events.Log
}

func (p eventProgress) evaluated(row results.CurveRow) {
	p.progress.evaluated(row)
	p.log.Row(row)
}

// KeptEvents writes the event file of a finished run that is kept, where --events asks for it.
func (m *Machine) KeptEvents(dir string) error {
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
