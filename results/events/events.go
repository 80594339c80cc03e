// Package events writes runs as TensorBoard event files, in TensorFlow's documented record format: their curves, and
// what the tab HPARAMS shows of them. It needs no protocol buffer library, since its messages have few fields.
package events

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/protocol"
)

// A record is an 8-byte length, a masked CRC of the length, the data, and a masked CRC of the data, all little-endian
// (tensorflow/core/lib/io/record_writer.h).

// castagnoli is the polynomial of CRC32C, which TensorFlow uses.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskDelta is added to a rotated CRC. TensorFlow masks CRCs because the CRC of data that contain CRCs is a weak check.
const maskDelta = 0xa282ead8

// masked returns the masked CRC32C of data.
func masked(data []byte) uint32 {
	crc := crc32.Checksum(data, castagnoli)
	return (crc>>15 | crc<<17) + maskDelta
}

func appendRecord(to, data []byte) []byte {
	at := len(to)
	to = binary.LittleEndian.AppendUint64(to, uint64(len(data)))
	to = binary.LittleEndian.AppendUint32(to, masked(to[at:]))
	to = append(to, data...)
	return binary.LittleEndian.AppendUint32(to, masked(data))
}

// Wire types of protocol buffers (protobuf.dev/programming-guides/encoding).
const (
	varint    = 0
	fixed64   = 1
	delimited = 2
	fixed32   = 5
)

// appendKey appends the key of a field: its number and its wire type.
func appendKey(to []byte, field, wire int) []byte {
	return binary.AppendUvarint(to, uint64(field<<3|wire))
}

// appendBytes appends a field whose value is bytes, a string or a message.
func appendBytes(to []byte, field int, data []byte) []byte {
	to = binary.AppendUvarint(appendKey(to, field, delimited), uint64(len(data)))
	return append(to, data...)
}

// appendDouble appends a field whose value is a double.
func appendDouble(to []byte, field int, x float64) []byte {
	return binary.LittleEndian.AppendUint64(appendKey(to, field, fixed64), math.Float64bits(x))
}

// Each tensorflow.Event has one of these fields.
const (
	fileVersion = 3 // string
	summary     = 5 // a list of scalars
)

// eventRecord returns a tensorflow.Event as a record, with the fields wall_time = 1 (double, seconds since 1970),
// step = 2 (int64), and one more field.
func eventRecord(wallTime float64, step, field int, data []byte) []byte {
	out := appendDouble(nil, 1, wallTime)
	if step != 0 {
		out = binary.AppendUvarint(appendKey(out, 2, varint), uint64(step))
	}
	return appendRecord(nil, appendBytes(out, field, data))
}

// appendScalar appends a scalar to a tensorflow.Summary, which has the repeated field value = 1. A value has the fields
// tag = 1 (string) and simple_value = 2 (float).
func appendScalar(to []byte, tag string, x float64) []byte {
	value := appendBytes(nil, 1, []byte(tag))
	value = binary.LittleEndian.AppendUint32(appendKey(value, 2, fixed32), math.Float32bits(float32(x)))
	return appendBytes(to, 1, value)
}

// File is the name of the event file in a run's folder. TensorBoard reads every file with "tfevents" in its name, and
// names the run after the folder. The name is always the same, so that a repeated run replaces its events.
const File = "events.out.tfevents.rollcall"

// head returns the first records of an event file: the version of the format, and the settings of the run.
func head(info results.RunInfo) ([]byte, error) {
	start, err := sessionStart(info)
	if err != nil {
		return nil, fmt.Errorf("events: settings: %w", err)
	}
	records := eventRecord(seconds(info.Started), 0, fileVersion, []byte("brain.Event:2"))
	return append(records, eventRecord(seconds(info.Started), 0, summary, start)...), nil
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

// summaryTag stands before the names that the numbers of a run have in summary.csv.
const summaryTag = "summary/"

// end returns the last records of an event file: the numbers of a complete run, with the means of
// [results.ProtocolRounds], and how the run ended.
func end(info results.RunInfo, rows []results.CurveRow) (records []byte) {
	last := results.CurveRow{}
	if n := len(rows); n > 0 {
		last = rows[n-1]
	}
	at := seconds(info.Started) + last.ElapsedSec
	if info.Status == results.RunComplete {
		var scalars []byte
		for _, m := range metrics.OfCurves {
			if x := protocol.OfRun(rows, results.ProtocolRounds, m); x.Valid {
				scalars = appendScalar(scalars, summaryTag+string(m), x.Value)
			}
		}
		records = eventRecord(at, last.Round, summary, scalars)
	}
	return append(records, eventRecord(at, last.Round, summary, sessionEnd(info))...)
}

// Write writes the event file of a run to its folder, atomically. Of info it takes the settings, the seed, the
// numerics, the times and the status, which is empty if the run has not ended.
func Write(dir string, info results.RunInfo, rows []results.CurveRow) error {
	records, err := head(info)
	if err != nil {
		return err
	}
	for _, row := range rows {
		records = append(records, recordOf(row, info.Started)...)
	}
	if info.Status != "" {
		records = append(records, end(info, rows)...)
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

// Create starts the event file of a run's folder, and replaces an older one. It creates missing folders. See [Write]
// for info, whose status does not count.
func Create(dir string, info results.RunInfo) (*Log, error) {
	path := filepath.Join(dir, File)
	info.Status = ""
	if err := Write(dir, info, nil); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	return &Log{f: f, started: info.Started}, nil
}

// Row appends one row of the curve to the file.
func (l *Log) Row(row results.CurveRow) error {
	if l == nil {
		return nil
	}
	return write(l.f, recordOf(row, l.started))
}

// End appends how the run has ended, after all rows of its curve.
func (l *Log) End(info results.RunInfo, rows []results.CurveRow) error {
	if l == nil {
		return nil
	}
	return write(l.f, end(info, rows))
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
