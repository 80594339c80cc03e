package events

import (
	"bytes"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
)

var (
	info = results.RunInfo{
		Status: results.RunComplete, Seed: 3, Numerics: "cpu-fp32",
		Settings: map[string]any{
			"method": "fedau", "lr": 0.05, "rounds": 300, "eval-train": true, "f3ast-mean": false, "p": nil,
			"rates": []any{1, "x"},
		},
		Started: time.Unix(1700000000, 500000000), Finished: time.Unix(1700000009, 250000000),
	}
	rows = []results.CurveRow{
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
	must.OK(t, Write(dir, info, rows))
	got := must.Get(os.ReadFile(filepath.Join(dir, File)))(t)
	if *update {
		must.OK(t, os.WriteFile(golden, got, 0o666))
	}
	want := must.Get(os.ReadFile(golden))(t)
	if !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
}

// What a run writes on its way is the same as a whole curve, byte for byte, and replaces what was there.
func TestLog(t *testing.T) {
	dir := t.TempDir()
	must.OK(t, Write(dir, info, rows[:1]))
	l := must.Get(Create(dir, info))(t)
	for _, r := range rows {
		must.OK(t, l.Row(r))
	}
	must.OK(t, errors.Join(l.End(info, rows), l.Close()))
	want := must.Get(os.ReadFile(golden))(t)
	if live, err := os.ReadFile(filepath.Join(dir, File)); err != nil || !bytes.Equal(live, want) {
		t.Errorf("%v: %d bytes on the way, want the same %d", err, len(live), len(want))
	}
	var none *Log
	if err := errors.Join(none.Row(rows[0]), none.End(info, rows), none.Close()); err != nil {
		t.Errorf("no log: %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("no space left")

func TestWriteError(t *testing.T) {
	if err := write(full{}, end(info, rows)); !errors.Is(err, errFull) {
		t.Errorf("%v, want %v", err, errFull)
	}
}
