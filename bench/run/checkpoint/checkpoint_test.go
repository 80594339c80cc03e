package checkpoint

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/algos"
	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/results"
)

// memory is an engine whose rows are slices.
type memory struct {
	nets.Engine
	rows map[int][]float32
}

type bank struct{ nets.Bank }

func (m *memory) row(i int) nets.Row { return nets.Row{Bank: bank{}, Index: i} }

func (m *memory) Load(r nets.Row, x []float32) error {
	m.rows[r.Index] = slices.Clone(x)
	return nil
}

func (m *memory) Store(r nets.Row, x []float32) error {
	copy(x, m.rows[r.Index])
	return nil
}

// sample returns a checkpoint of 3 parameters, with an engine that has its rows.
func sample() (*Content, *memory) {
	m := &memory{rows: map[int][]float32{0: {1, 2, 3}, 1: {4, 5, 6}}}
	return &Content{
		About: About{
			SettingsHash: "abc", Seed: 3, Numerics: "cpu-fp32", Revisions: results.Revisions{Method: 1, Net: 2},
			DataChecksum: "sha256:0", Params: 3, Decisions: true, Version: "v1", Round: 4, Rounds: 9,
			Started: time.Unix(1e9, 0).UTC(), ElapsedSec: 1.5,
		},
		Curve: []results.CurveRow{
			{Round: 0, TestLoss: files.Some(2.5), Params: "a=1"}, {Round: 2, LR: 0.1, ElapsedSec: 1},
		},
		Decisions: []results.DecisionRow{{
			Round: 1, Client: 1, Active: 1, Weight: 0.25, Pi: 0.5, Lambda: -1, Target: 1,
		}},
		State: []algos.Array{
			{Name: "w", Rows: []nets.Row{m.row(1), m.row(0)}},
			{Name: "tau", Int64s: []int64{-1, 1 << 60}},
			{Name: "pi", Float64s: []float64{0.1}},
			{Name: "none", Int64s: []int64{}},
		},
	}, m
}

func written(t *testing.T, c *Content, m *memory) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), Name(c.Round))
	must.OK(t, Write(t.Context(), path, c, m))
	return path
}

// What is written is read equal, rows too.
func TestCheckpoint(t *testing.T) {
	want, m := sample()
	got := must.Get(Open(written(t, want, m)))(t)
	defer func() { _ = got.Close() }()
	if !reflect.DeepEqual(got.About, want.About) || !reflect.DeepEqual(got.Curve, want.Curve) ||
		!reflect.DeepEqual(got.Decisions, want.Decisions) {
		t.Errorf("%+v\n%+v\n%+v\nwant\n%+v", got.About, got.Curve, got.Decisions, want)
	}
	into := &memory{rows: map[int][]float32{}}
	state := got.State(into)
	tau, err := state.Int64s("tau")
	pi, err2 := state.Float64s("pi")
	none, err3 := state.Int64s("none")
	err = errors.Join(err, err2, err3, state.Rows("w", []nets.Row{into.row(7), into.row(8)}))
	if err != nil || !slices.Equal(tau, want.State[1].Int64s) || !slices.Equal(pi, []float64{0.1}) || len(none) > 0 ||
		!slices.Equal(into.rows[7], m.rows[1]) || !slices.Equal(into.rows[8], m.rows[0]) {
		t.Errorf("%v: tau %v, pi %v, rows %v, want those that were written", err, tau, pi, into.rows)
	}
	for what, err := range map[string]error{
		"fewer rows":     state.Rows("w", []nets.Row{into.row(0)}),
		"no such rows":   state.Rows("v", nil),
		"rows of counts": state.Rows("tau", []nets.Row{into.row(0)}),
	} {
		if err == nil {
			t.Errorf("%s: no error, want one", what)
		}
	}
	if _, err := state.Float64s("tau"); err == nil {
		t.Error("counts as numbers: no error, want one")
	}
}

// overwrite makes a file anew; some file systems write one that is truncated through to the disk.
func overwrite(t *testing.T, path string, text []byte) {
	t.Helper()
	must.OK(t, errors.Join(os.Remove(path), os.WriteFile(path, text, 0o666)))
}

// A bit that flips in any byte, and every cut, is found.
func TestCheckpointDamaged(t *testing.T) {
	c, m := sample()
	path := written(t, c, m)
	whole := must.Get(os.ReadFile(path))(t)
	try := func(what string, at int, text []byte) {
		t.Helper()
		overwrite(t, path, text)
		if f, err := Open(path); err == nil {
			t.Errorf("%s %d: no error, want one", what, at)
			_ = f.Close()
		} else if !strings.Contains(err.Error(), path) {
			t.Errorf("%s %d: %v, want the file named", what, at, err)
		}
	}
	for at := range whole {
		text := slices.Clone(whole)
		text[at] ^= 1 << (at % 8)
		try("bit in byte", at, text)
		try("cut at", at, whole[:at])
	}
	try("longer", 0, append(slices.Clone(whole), 0))
}

// What ends while it is written leaves no file.
func TestCheckpointNotWritten(t *testing.T) {
	c, m := sample()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if err := Write(ctx, filepath.Join(dir, Name(4)), c, m); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want it cancelled", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v, want nothing", entries, err)
	}
}

// Checkpoints are found by their names alone, and removed by their rounds. One that is gone is no error.
func TestRemove(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		Name(3), Name(20), Name(100), "checkpoint-007.safetensors", "checkpoint-x.safetensors", "curve.csv",
	} {
		must.OK(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
	}
	step := func(what string, err error, want ...int) {
		t.Helper()
		if got, listed := Rounds(dir); err != nil || listed != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, %v, want rounds %v", what, got, err, listed, want)
		}
	}
	step("before", nil, 100, 20, 3)
	step("Remove 20, 50", Remove(dir, 20, 50), 100, 3)
	step("Remove 100, 3", Remove(dir, 100, 3))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("%v, %v, want the three other files", entries, err)
	}
	none := filepath.Join(dir, "none")
	if got, err := Rounds(none); err != nil || len(got) > 0 {
		t.Errorf("no folder: %v, %v, want no rounds", got, err)
	}
}

// FuzzOpen: no file makes Open panic or take much memory.
func FuzzOpen(f *testing.F) {
	c, m := sample()
	dir := f.TempDir()
	path := filepath.Join(dir, Name(4))
	must.OK(f, Write(context.Background(), path, c, m))
	whole := must.Get(os.ReadFile(path))(f)
	f.Add(whole, false)
	f.Add(whole[:len(whole)-1], true)
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, text []byte, signed bool) {
		if signed {
			text = sign(text)
		}
		overwrite(t, path, text)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := Open(path)
		runtime.ReadMemStats(&after)
		if took, most := after.TotalAlloc-before.TotalAlloc, uint64(1<<20+200*len(text)); took > most {
			t.Errorf("%d bytes of memory for a file of %d, want at most %d", took, len(text), most)
		}
		if err != nil {
			return
		}
		state := got.State(&memory{rows: map[int][]float32{}})
		for _, name := range []string{"w", "tau", "pi"} { // which may be anything
			_, _ = state.Int64s(name)
			_, _ = state.Float64s(name)
			_ = state.Rows(name, make([]nets.Row, 2))
		}
		if err := got.Close(); err != nil {
			t.Error(err)
		}
	})
}

// sign puts the checksum of the rest at the end of a file, where a checkpoint has it.
func sign(text []byte) []byte {
	if len(text) < sha256.Size {
		return text
	}
	sum := sha256.Sum256(text[:len(text)-sha256.Size])
	return append(slices.Clone(text[:len(text)-sha256.Size]), sum[:]...)
}

// What a checkpoint says of itself is read without the rest of it.
func TestNewest(t *testing.T) {
	dir := t.TempDir()
	if got, err := Newest(filepath.Join(dir, "none")); got != nil || err != nil {
		t.Errorf("no folder: %v, %v, want nothing", got, err)
	}
	if got, err := Newest(dir); got != nil || err != nil {
		t.Errorf("no checkpoint: %v, %v, want nothing", got, err)
	}
	for _, round := range []int{9, 100, 20} {
		c := &Content{About: About{Round: round, Rounds: 2000, Seed: 3}}
		must.OK(t, Write(t.Context(), filepath.Join(dir, Name(round)), c, nil))
	}
	got, err := Newest(dir)
	if err != nil || got.Round != 100 || got.Rounds != 2000 || got.Seed != 3 || got.Schema != Schema {
		t.Errorf("%+v, %v, want round 100 of 2000, seed 3, schema %d", got, err, Schema)
	}
	must.OK(t, os.WriteFile(filepath.Join(dir, Name(200)), []byte("no checkpoint"), 0o666))
	if got, err := Newest(dir); err == nil {
		t.Errorf("damaged: %+v, want an error", got)
	}
}
