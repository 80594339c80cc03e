// Package events writes learning curves as TensorBoard event files, in TensorFlow's documented record format.
package events

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"time"
)

// A record is an 8-byte length, a masked CRC of it, the data, and a masked CRC of them, all little-endian
// (tensorflow/core/lib/io/record_writer.h).

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskDelta is added to a rotated CRC, so that the CRC of data that hold CRCs is not a trivial one.
const maskDelta = 0xa282ead8

// masked returns the masked CRC32C of data.
func masked(data []byte) uint32 {
	crc := crc32.Checksum(data, castagnoli)
	return (crc>>15 | crc<<17) + maskDelta
}

// appendRecord appends data as one record.
func appendRecord(to, data []byte) []byte {
	at := len(to)
	to = binary.LittleEndian.AppendUint64(to, uint64(len(data)))
	to = binary.LittleEndian.AppendUint32(to, masked(to[at:]))
	to = append(to, data...)
	return binary.LittleEndian.AppendUint32(to, masked(data))
}

// scalar is one value under a tag.
type scalar struct {
	Tag   string
	Value float32
}

// event is what one record holds: the file's version, or scalars of a step.
type event struct {
	WallTime float64 // seconds since 1970
	Step     int64
	Version  string // of the first event alone
	Scalars  []scalar
}

// head is the first event of every file.
func head(started time.Time) event {
	return event{WallTime: seconds(started), Version: "brain.Event:2"}
}

// Wire types of protocol buffers.
const (
	varint    = 0
	fixed64   = 1
	delimited = 2
	fixed32   = 5
)

func appendKey(to []byte, field, wire int) []byte {
	return binary.AppendUvarint(to, uint64(field<<3|wire))
}

func appendBytes(to []byte, field int, data []byte) []byte {
	to = binary.AppendUvarint(appendKey(to, field, delimited), uint64(len(data)))
	return append(to, data...)
}

// marshal returns an event as protocol buffer: tensorflow.Event, whose fields are wall_time = 1 (double), step = 2
// (int64), file_version = 3 (string) and summary = 5; a summary has values = 1, each a tag = 1 (string) and a
// simple_value = 2 (float).
func (e event) marshal() []byte {
	out := binary.LittleEndian.AppendUint64(appendKey(nil, 1, fixed64), math.Float64bits(e.WallTime))
	if e.Step != 0 {
		out = binary.AppendUvarint(appendKey(out, 2, varint), uint64(e.Step))
	}
	if e.Version != "" {
		return appendBytes(out, 3, []byte(e.Version))
	}
	var summary []byte
	for _, s := range e.Scalars {
		value := appendBytes(nil, 1, []byte(s.Tag))
		value = binary.LittleEndian.AppendUint32(appendKey(value, 2, fixed32), math.Float32bits(s.Value))
		summary = appendBytes(summary, 1, value)
	}
	return appendBytes(out, 5, summary)
}

// write writes events, each in one piece, so that a reader that follows the file sees whole records.
func write(w io.Writer, events ...event) error {
	for _, e := range events {
		if _, err := w.Write(appendRecord(nil, e.marshal())); err != nil {
			return fmt.Errorf("events: %w", err)
		}
	}
	return nil
}
