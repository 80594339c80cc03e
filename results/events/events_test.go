package events

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
)

// CRC-32C of RFC 3720, B.4: 32 zero bytes have 0x8a9136aa. Masked: rotated right by 15, plus 0xa282ead8.
func TestMasked(t *testing.T) {
	crc := uint32(0x8a9136aa)
	if got := crc32.Checksum(make([]byte, 32), castagnoli); got != crc {
		t.Errorf("CRC-32C %#x, want %#x", got, crc)
	}
	want := (crc>>15 | crc<<17) + 0xa282ead8
	if got := masked(make([]byte, 32)); got != want {
		t.Errorf("masked %#x, want %#x", got, want)
	}
}

var (
	started = time.Unix(1700000000, 500000000)
	rows    = []results.CurveRow{
		{Round: 0, TestAcc: files.Some(0.125), TestLoss: files.Some(2.5)},
		{
			Round: 300, Active: 37, LR: 0.5, TestAcc: files.Some(0.75), TestLoss: files.Some(math.Inf(1)),
			TrainAcc: files.Some(0.5), TrainLoss: files.Some(1), ElapsedSec: 2.25,
		},
	}
)

// The file of rows. TensorBoard's own EventAccumulator reads from it what rows has; -update rewrites it, and then it
// has to be read so again.
const golden = "testdata/golden.tfevents"

var update = flag.Bool("update", false, "rewrite "+golden)

func TestGolden(t *testing.T) {
	dir := t.TempDir()
	must.OK(t, WriteCurve(dir, rows, started))
	got := must.Get(os.ReadFile(filepath.Join(dir, File)))(t)
	if *update {
		must.OK(t, os.WriteFile(golden, got, 0o666))
	}
	want := must.Get(os.ReadFile(golden))(t)
	if !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
}

// decode reads records by the written format, without the code under test but for the CRC.
func decode(t *testing.T, data []byte) (steps []int64, times []float64, scalars []map[string]float32) {
	t.Helper()
	for len(data) > 0 {
		n := binary.LittleEndian.Uint64(data)
		if masked(data[:8]) != binary.LittleEndian.Uint32(data[8:]) ||
			masked(data[12:12+n]) != binary.LittleEndian.Uint32(data[12+n:]) {
			t.Fatalf("a CRC is wrong in %x", data[:16+n])
		}
		body := data[12 : 12+n]
		data = data[16+n:]
		var step int64
		var when float64
		values := map[string]float32{}
		fields(t, body, func(field int, number uint64, text []byte) {
			switch field {
			case 1:
				when = math.Float64frombits(number)
			case 2:
				step = int64(number)
			case 5:
				fields(t, text, func(_ int, _ uint64, value []byte) {
					var tag string
					var v float32
					fields(t, value, func(field int, number uint64, text []byte) {
						if field == 1 {
							tag = string(text)
						} else {
							v = math.Float32frombits(uint32(number))
						}
					})
					values[tag] = v
				})
			}
		})
		steps, times, scalars = append(steps, step), append(times, when), append(scalars, values)
	}
	return steps, times, scalars
}

func fields(t *testing.T, data []byte, f func(field int, number uint64, text []byte)) {
	t.Helper()
	for len(data) > 0 {
		key, n := binary.Uvarint(data)
		data = data[n:]
		switch key & 7 {
		case 0:
			v, n := binary.Uvarint(data)
			f(int(key>>3), v, nil)
			data = data[n:]
		case 1:
			f(int(key>>3), binary.LittleEndian.Uint64(data), nil)
			data = data[8:]
		case 2:
			size, n := binary.Uvarint(data)
			f(int(key>>3), 0, data[n:n+int(size)])
			data = data[n+int(size):]
		case 5:
			f(int(key>>3), uint64(binary.LittleEndian.Uint32(data)), nil)
			data = data[4:]
		default:
			t.Fatalf("wire type %d", key&7)
		}
	}
}

func TestWriteCurve(t *testing.T) {
	dir := t.TempDir()
	must.OK(t, WriteCurve(dir, rows, started))
	whole := must.Get(os.ReadFile(filepath.Join(dir, File)))(t)
	steps, times, scalars := decode(t, whole)
	if len(steps) != 3 || steps[1] != 0 || steps[2] != 300 || times[2] != 1700000002.75 {
		t.Fatalf("steps %v, times %v, want the version, round 0 and round 300 after 2.25 s", steps, times)
	}
	if len(scalars[1]) != 2 || scalars[1]["test/accuracy"] != 0.125 || scalars[1]["test/loss"] != 2.5 {
		t.Errorf("round 0: %v, want test accuracy and loss alone", scalars[1])
	}
	want := map[string]float32{
		"test/accuracy": 0.75, "test/loss": float32(math.Inf(1)), "train/accuracy": 0.5, "train/loss": 1,
		"clients/active": 37, "clients/lr": 0.5,
	}
	for tag, v := range want {
		if scalars[2][tag] != v {
			t.Errorf("round 300: %s %g, want %g", tag, scalars[2][tag], v)
		}
	}

	// What a run writes on its way is the same, byte for byte, and replaces what was there.
	l := must.Get(Create(dir, started))(t)
	for _, r := range rows {
		must.OK(t, l.Row(r))
	}
	must.OK(t, l.Close())
	if live, err := os.ReadFile(filepath.Join(dir, File)); err != nil || !bytes.Equal(live, whole) {
		t.Errorf("%v: %d bytes on the way, want the same %d", err, len(live), len(whole))
	}
	var none *Log
	if err := errors.Join(none.Row(rows[0]), none.Close()); err != nil {
		t.Errorf("no log: %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("no space left")

func TestWriteError(t *testing.T) {
	if err := write(full{}, head(started)); !errors.Is(err, errFull) {
		t.Errorf("%v, want %v", err, errFull)
	}
}
