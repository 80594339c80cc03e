package events

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"rollcall/results"
	"rollcall/results/files"
)

// File is the name of the event file in a run's folder. TensorBoard takes every file with "tfevents" in its name, and
// calls the run after the folder; one name for all makes a repeated run replace its events.
const File = "events.out.tfevents.rollcall"

// head returns the first record of every file.
func head(started time.Time) []byte {
	return eventRecord(seconds(started), 0, fileVersion, []byte("brain.Event:2"))
}

// recordOf returns a row as a record: the round is its step, the start of the run and elapsed_s its time.
func recordOf(row results.CurveRow, started time.Time) []byte {
	var scalars []byte
	for _, m := range []struct {
		tag   string
		value files.Optional
	}{
		{"test/accuracy", row.TestAcc}, // a fraction, as below
		{"test/loss", row.TestLoss},
		{"train/accuracy", row.TrainAcc},
		{"train/loss", row.TrainLoss},
	} {
		if m.value.Valid {
			scalars = appendScalar(scalars, m.tag, m.value.Value)
		}
	}
	if row.Round > 0 {
		scalars = appendScalar(scalars, "clients/active", float64(row.Active)) // that trained in the round
		scalars = appendScalar(scalars, "clients/lr", row.LR)                  // local learning rate
	}
	return eventRecord(seconds(started)+row.ElapsedSec, row.Round, summary, scalars)
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

// WriteCurve writes a whole curve to a run's folder, atomically.
func WriteCurve(dir string, rows []results.CurveRow, started time.Time) error {
	records := head(started)
	for _, row := range rows {
		records = append(records, recordOf(row, started)...)
	}
	return files.WriteFile(filepath.Join(dir, File), func(w io.Writer) error { return write(w, records) })
}

// write writes in one piece, so that a reader that follows the file sees whole records.
func write(w io.Writer, records []byte) error {
	if _, err := w.Write(records); err != nil {
		return fmt.Errorf("events: %w", err)
	}
	return nil
}

// Log writes the events of a run while it goes on, for TensorBoard to follow: unlike every other file it is there
// before it is whole, which readers of event files are made for. The nil Log writes nothing.
type Log struct {
	f       *os.File
	started time.Time
}

// Create starts the event file of a run's folder, in place of one that may be there. Missing folders are created.
func Create(dir string, started time.Time) (*Log, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	f, err := os.Create(filepath.Join(dir, File))
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	if err := write(f, head(started)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Log{f: f, started: started}, nil
}

// Row appends a row of the curve.
func (l *Log) Row(row results.CurveRow) error {
	if l == nil {
		return nil
	}
	return write(l.f, recordOf(row, l.started))
}

// Close ends the file.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	if err := errors.Join(l.f.Sync(), l.f.Close()); err != nil {
		return fmt.Errorf("events: %w", err)
	}
	return nil
}
