// Package events writes learning curves as TensorBoard event files, in TensorFlow's documented record format. It needs
// no protocol buffer library, since an event has three fields.
package events

import (
	"encoding/binary"
	"hash/crc32"
	"math"
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

// appendRecord appends data as one record.
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

// Each tensorflow.Event has one of these fields.
const (
	fileVersion = 3 // string
	summary     = 5 // a list of scalars
)

// eventRecord returns a tensorflow.Event as a record, with the fields wall_time = 1 (double, seconds since 1970),
// step = 2 (int64), and one more field.
func eventRecord(wallTime float64, step, field int, data []byte) []byte {
	out := binary.LittleEndian.AppendUint64(appendKey(nil, 1, fixed64), math.Float64bits(wallTime))
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
