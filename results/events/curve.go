package events

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"rollcall/internal/files"
	"rollcall/results"
)

// File is the name of the event file in a run's folder. TensorBoard reads every file with "tfevents" in its name, and
// names the run after the folder. The name is always the same, so that a repeated run replaces its events.
const File = "events.out.tfevents.rollcall"

// head returns the first record of an event file: the time of the start and the version of the format.
func head(started time.Time) []byte {
	return eventRecord(seconds(started), 0, fileVersion, []byte("brain.Event:2"))
}

// recordOf returns a row as a record. Its step is the round; its time is the start of the run plus elapsed_s.
func recordOf(row results.CurveRow, started time.Time) []byte {
	var scalars []byte
	for _, m := range []struct {
		tag   string
		value files.Optional
	}{
		{"test/accuracy", row.TestAcc}, // a fraction, like train/accuracy
		{"test/loss", row.TestLoss},
		{"train/accuracy", row.TrainAcc},
		{"train/loss", row.TrainLoss},
	} {
		if m.value.Valid {
			scalars = appendScalar(scalars, m.tag, m.value.Value)
		}
	}
	if row.Round > 0 {
		scalars = appendScalar(scalars, "clients/active", float64(row.Active)) // clients that trained in the round
		scalars = appendScalar(scalars, "clients/lr", row.LR)                  // local learning rate
	}
	return eventRecord(seconds(started)+row.ElapsedSec, row.Round, summary, scalars)
}

// seconds returns the seconds since 1970, the unit of TensorFlow's wall_time.
func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

// WriteCurve writes a whole curve to a run's folder, atomically.
func WriteCurve(dir string, rows []results.CurveRow, started time.Time) error {
	records := head(started)
	for _, row := range rows {
		records = append(records, recordOf(row, started)...)
	}
	return files.WriteFile(filepath.Join(dir, File), func(w io.Writer) error { return write(w, records) })
}

// write writes records in one piece, so that a reader who follows the file sees whole records.
func write(w io.Writer, records []byte) error {
	if _, err := w.Write(records); err != nil {
		return fmt.Errorf("events: %w", err)
	}
	return nil
}

// Log writes the events of a run while the run goes on, so that TensorBoard can follow it. All other files of a run
// appear when they are complete, but readers of event files expect to see them grow. A nil Log writes nothing.
type Log struct {
	f       *os.File
	started time.Time
}

// Create starts the event file of a run's folder, and replaces an older one. It creates missing folders.
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

// Row appends one row of the curve to the file.
func (l *Log) Row(row results.CurveRow) error {
	if l == nil {
		return nil
	}
	return write(l.f, recordOf(row, l.started))
}

// Close syncs the file to disk and closes it.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	if err := errors.Join(l.f.Sync(), l.f.Close()); err != nil {
		return fmt.Errorf("events: %w", err)
	}
	return nil
}
