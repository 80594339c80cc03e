package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"rollcall/algos"
	"rollcall/internal/files"
	"rollcall/nets"
	"rollcall/results"
	"rollcall/results/safetensors"
)

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

// Rows implements [algos.Source].
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

// Float64s implements [algos.Source].
func (s *source) Float64s(name string) ([]float64, error) {
	return s.tensors.Float64s(statePrefix + name)
}

// Int64s implements [algos.Source].
func (s *source) Int64s(name string) ([]int64, error) { return s.tensors.Int64s(statePrefix + name) }
