// Package checkpoint writes and reads what a run needs to go on where it was interrupted, to the same bytes.
//
// A checkpoint is a safetensors file: a description of the run (metadata), the curve up to now, the decisions if they
// are asked for, the method's state, and a SHA-256 of everything before it. A run keeps two, so that a damaged one
// costs no more than the rounds between them. Every draw of a run is a function of (seed, purpose, round, client,
// step), so that no generator has a state to be kept.
package checkpoint

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"rollcall/algos"
	"rollcall/internal/files"
	"rollcall/nets"
	"rollcall/results"
	"rollcall/results/safetensors"
)

// Schema is the version of the file format. A file of another version is not used.
const Schema = 1

// About describes the run of a checkpoint, and how far the run is.
type About struct {
	Schema       int               `json:"schema"` // [Write] sets it
	SettingsHash string            `json:"settings_hash"`
	Seed         uint32            `json:"seed"`
	Numerics     string            `json:"numerics"`
	Revisions    results.Revisions `json:"revisions"`
	DataChecksum string            `json:"data_checksum"`
	Params       int               `json:"params"` // P, the parameters of the net
	// The clients that have no sample; nil: not known yet, or the program that wrote it may have averaged them too.
	WithoutSamples *int `json:"clients_without_samples,omitempty"`
	Decisions      bool `json:"decisions"` // whether the decisions of all rounds are in the file

	Version    string    `json:"version"` // rollcall's, for messages only
	Round      int       `json:"round"`   // how many rounds are done
	Rounds     int       `json:"rounds"`  // how many rounds the run has
	Started    time.Time `json:"started"`
	ElapsedSec float64   `json:"elapsed_s"`      // time of training and evaluation
	Idle       bool      `json:"idle,omitempty"` // no client has trained yet

	Runtime map[string]string `json:"runtime,omitempty"` // versions of a method in Python, for messages only
}

// Unlike returns the reason why a run cannot resume from a; nil: it can. Everything that decides the numbers of the run
// must be equal. A data checksum of run that is "" is not known yet, and not compared.
func (a *About) Unlike(run *About) error {
	for _, d := range []struct {
		what      string
		is, wants any
	}{
		{"settings", a.SettingsHash, run.SettingsHash},
		{"seed", a.Seed, run.Seed},
		{"numerics", a.Numerics, run.Numerics},
		{"revisions of method, availability model, data, net and engine", a.Revisions, run.Revisions},
		{"data checksum", a.DataChecksum, cmp.Or(run.DataChecksum, a.DataChecksum)},
		{"number of parameters", a.Params, run.Params},
		{"number of rounds", a.Rounds, run.Rounds},
	} {
		if d.is != d.wants {
			return fmt.Errorf("%s %v, want %v", d.what, d.is, d.wants)
		}
	}
	if n := run.WithoutSamples; n != nil && *n > 0 && a.WithoutSamples == nil {
		return TookPart(*n)
	}
	if run.Decisions && !a.Decisions {
		return errors.New("a checkpoint without decisions, want the decisions of all rounds")
	}
	return nil
}

// TookPart returns the error about a run of a program in which n clients took part that have no sample to train on.
func TookPart(n int) error {
	return fmt.Errorf("revision of clients without samples 0, want 1: %d of them took part, and counted in averages", n)
}

// fileName matches the name of a checkpoint and captures its round.
var fileName = regexp.MustCompile(`^checkpoint-(\d+)\.safetensors$`)

// Name returns the file name of a run's checkpoint after a round.
func Name(round int) string { return fmt.Sprintf("checkpoint-%d.safetensors", round) }

// Rounds returns the rounds of the checkpoints in a folder by their names, the last first; none if there is no folder.
func Rounds(dir string) (rounds []int, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if m := fileName.FindStringSubmatch(e.Name()); m != nil {
			if round, err := strconv.Atoi(m[1]); err == nil && Name(round) == e.Name() {
				rounds = append(rounds, round)
			}
		}
	}
	slices.Sort(rounds)
	slices.Reverse(rounds)
	return rounds, err
}

// Remove removes the checkpoints of these rounds from a folder.
func Remove(dir string, rounds ...int) (err error) {
	for _, round := range rounds {
		gone := os.Remove(filepath.Join(dir, Name(round)))
		if !errors.Is(gone, fs.ErrNotExist) { // another process may have removed it
			err = errors.Join(err, gone)
		}
	}
	return err
}

// The names of the parts of a file.
const (
	aboutKey       = "rollcall" // the key of [About] in the metadata
	curveName      = "curve.csv"
	decisionsName  = "decisions"
	statePrefix    = "state/" // begins the names of the method's arrays
	sumName        = "sha256" // the checksum of everything before it
	decisionFields = 8        // numbers per decision, see numbers
)

// Content is everything that a run needs to resume.
type Content struct {
	About
	Curve     []results.CurveRow
	Decisions []results.DecisionRow
	State     []algos.Array // their rows are in the memory of an engine
}

// Write writes a checkpoint, whole or not at all, also when ctx ends. See [files.WriteFile] for before.
func Write(ctx context.Context, path string, c *Content, engine nets.Engine, before ...files.Before) error {
	c.Schema = Schema
	about, err := json.Marshal(c.About)
	if err != nil {
		return fmt.Errorf("checkpoint: %s: %w", path, err)
	}
	var curve strings.Builder
	if err := files.WriteCSV(&curve, c.Curve); err != nil {
		return fmt.Errorf("checkpoint: %s: %w", path, err)
	}
	tensors := []safetensors.Tensor{
		safetensors.Bytes(curveName, []byte(curve.String())),
		safetensors.Float64s(decisionsName, []int{len(c.Decisions), decisionFields}, numbers(c.Decisions)),
	}
	for _, a := range c.State {
		tensors = append(tensors, tensorOf(ctx, a, engine, c.Params))
	}
	return files.WriteFile(path, func(w io.Writer) error {
		sum := sha256.New()
		last := safetensors.Tensor{
			Name: sumName, DType: safetensors.U8, Shape: []int{sha256.Size},
			Write: func(w io.Writer) error {
				_, err := w.Write(sum.Sum(nil))
				return err
			},
		}
		return safetensors.Write(io.MultiWriter(w, sum), map[string]string{aboutKey: string(about)},
			append(tensors, last))
	}, before...)
}

// tensorOf returns an array of a method's state as a tensor. It reads rows from the engine only while the tensor is
// written, so that a large state is never in memory twice.
func tensorOf(ctx context.Context, a algos.Array, engine nets.Engine, params int) safetensors.Tensor {
	name := statePrefix + a.Name
	switch {
	case a.Float64s != nil:
		return safetensors.Float64s(name, []int{len(a.Float64s)}, a.Float64s)
	case a.Int64s != nil:
		return safetensors.Int64s(name, []int{len(a.Int64s)}, a.Int64s)
	}
	return safetensors.Tensor{
		Name: name, DType: safetensors.F32, Shape: []int{len(a.Rows), params},
		Write: func(w io.Writer) error {
			row, text := make([]float32, params), make([]byte, 0, 4*params)
			for _, r := range a.Rows {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := engine.Store(r, row); err != nil {
					return err
				}
				text, _ = binary.Append(text[:0], binary.LittleEndian, row) // it never fails for numbers
				if _, err := w.Write(text); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// numbers returns the fields of decisions as numbers, one decision after the other [n, decisionFields].
func numbers(rows []results.DecisionRow) []float64 {
	x := make([]float64, 0, decisionFields*len(rows))
	for _, r := range rows {
		x = append(x, float64(r.Round), float64(r.Client), float64(r.Active), float64(r.Included),
			r.Weight, r.Pi, r.Lambda, r.Target)
	}
	return x
}

// decisions returns decisions from their numbers, the inverse of numbers.
func decisions(x []float64) []results.DecisionRow {
	rows := make([]results.DecisionRow, len(x)/decisionFields)
	for i := range rows {
		r := x[decisionFields*i:]
		rows[i] = results.DecisionRow{
			Round: int(r[0]), Client: int(r[1]), Active: int(r[2]), Included: int(r[3]),
			Weight: r[4], Pi: r[5], Lambda: r[6], Target: r[7],
		}
	}
	return rows
}

// File is an open checkpoint.
type File struct {
	About
	Curve     []results.CurveRow
	Decisions []results.DecisionRow

	f       *os.File
	tensors *safetensors.File
}

// ErrOther is wrapped by the errors about a file that is as it was written, but not as this program writes it: another
// version has written it.
var ErrOther = errors.New("another rollcall wrote it")

// Open opens a checkpoint. It checks that the file is whole, but not whether it is of the wanted run, which
// [About.Unlike] says, nor the method's state, which Restore of the method checks. Errors name the file.
func Open(path string) (*File, error) {
	f, size, err := files.OpenRegular(path)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	c := &File{f: f}
	if err := c.read(size); err != nil {
		return nil, fmt.Errorf("checkpoint: %s: %w", path, errors.Join(err, f.Close()))
	}
	return c, nil
}

// Close closes the file.
func (c *File) Close() error { return c.f.Close() }

// read reads and checks everything but the method's state.
func (c *File) read(size int64) (err error) {
	if c.tensors, err = safetensors.New(c.f, size); err != nil {
		return err
	}
	if err := c.checkSum(size); err != nil {
		return err
	}
	in := json.NewDecoder(bytes.NewReader([]byte(c.tensors.Metadata[aboutKey])))
	in.DisallowUnknownFields()
	if err := in.Decode(&c.About); err != nil {
		return fmt.Errorf("%w: metadata %q: %w", ErrOther, aboutKey, err)
	}
	if c.Schema != Schema {
		return fmt.Errorf("schema %d, want %d: %w", c.Schema, Schema, ErrOther)
	}
	if c.Round < 0 || c.Round > c.Rounds || !(c.ElapsedSec >= 0) || math.IsInf(c.ElapsedSec, 1) {
		return fmt.Errorf("round %d of %d, %g s, want 0 … %d and 0 or more", c.Round, c.Rounds, c.ElapsedSec, c.Rounds)
	}
	text, err := c.tensors.Bytes(curveName)
	if err != nil {
		return err
	}
	if c.Curve, err = files.ReadCSV[results.CurveRow](bytes.NewReader(text), curveName); err != nil {
		return err
	}
	made, err := c.tensors.Float64s(decisionsName)
	if err != nil {
		return err
	}
	c.Decisions = decisions(made)
	return nil
}

// checkSum checks the file against the SHA-256 at its end.
func (c *File) checkSum(size int64) error {
	if info, _ := c.tensors.Lookup(sumName); info.Bytes != sha256.Size { // 0 if there is none
		return fmt.Errorf("checksum of %d bytes, want %d", info.Bytes, sha256.Size)
	}
	want, err := c.tensors.Bytes(sumName)
	if err != nil {
		return err
	}
	end := make([]byte, sha256.Size)
	if _, err := c.f.ReadAt(end, size-sha256.Size); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(c.f, 0, size-sha256.Size)); err != nil {
		return err
	}
	if !bytes.Equal(want, end) || !bytes.Equal(sum.Sum(nil), want) {
		return errors.New("not as it was written: its checksum is another one")
	}
	return nil
}

// State returns the method's state, and reads its rows into the memory of an engine. It works until the file is closed.
func (c *File) State(engine nets.Engine) algos.Source { return &source{c, engine} }

// source is a [File] as [algos.Source], which methods read.
type source struct {
	*File
	engine nets.Engine
}

func (s *source) Rows(name string, into []nets.Row) error {
	name = statePrefix + name
	info, found := s.tensors.Lookup(name)
	if want := []int{len(into), s.Params}; !found || !slices.Equal(info.Shape, want) {
		return fmt.Errorf("%s: shape %v, want %v", name, info.Shape, want)
	}
	row := make([]float32, s.Params)
	for i, r := range into {
		if err := s.tensors.Float32s(name, i*s.Params, row); err != nil {
			return err
		}
		if err := s.engine.Load(r, row); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) Float64s(name string) ([]float64, error) {
	return s.tensors.Float64s(statePrefix + name)
}

func (s *source) Int64s(name string) ([]int64, error) { return s.tensors.Int64s(statePrefix + name) }

// Newest returns the description in the newest checkpoint of a folder; nil: there is none. It reads the head of the
// file only and verifies no checksum, since it serves to show how far a run is.
func Newest(dir string) (*About, error) {
	rounds, err := Rounds(dir)
	if err != nil || len(rounds) == 0 {
		return nil, err
	}
	return Head(filepath.Join(dir, Name(rounds[0])))
}

// Head returns the description in a checkpoint. It reads the head of the file only, and verifies no checksum.
func Head(path string) (*About, error) {
	f, size, err := files.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	tensors, err := safetensors.New(f, size)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %s: %w", path, err)
	}
	about := &About{}
	if err := json.Unmarshal([]byte(tensors.Metadata[aboutKey]), about); err != nil {
		return nil, fmt.Errorf("checkpoint: %s: metadata %q: %w", path, aboutKey, err)
	}
	return about, nil
}
