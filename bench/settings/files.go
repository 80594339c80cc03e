package settings

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"rollcall/algos/availability"
	"rollcall/algos/availability/trace"
	"rollcall/datasets"
	"rollcall/internal/files"
	"rollcall/nets/models"
	"rollcall/results/safetensors"
)

// trackerName ends the names of PyTorch's counters num_batches_tracked, which no net here has. A file may have them.
const trackerName = ".num_batches_tracked"

// mostTrackers bounds the bytes of such counters in a file.
const mostTrackers = 1 << 16

// ReadInit reads the initial weights [P] of the run from the file of --init-from, in PyTorch's order; nil: there is no
// such file. Its content names the run, so that a file that has changed since it was first read is an error. The
// weights come from the same bytes that the checksum is of.
func (s *Settings) ReadInit() ([]float32, error) {
	if s.InitFrom == "" {
		return nil, nil
	}
	model, err := s.Model()
	if err != nil {
		return nil, err
	}
	// A safetensors file is 8 bytes of length, a header, and 8 bytes per float64. A larger file cannot be of this net.
	content, err := readWeights(s.InitFrom, 8+safetensors.MaxHeader+8*int64(model.P)+mostTrackers)
	if err != nil {
		return nil, fmt.Errorf("--init-from: %w", err)
	}
	err = sameContent(&s.InitSum, content)
	var w []float32
	if err == nil {
		w, err = weightsOf(model, content)
	}
	if err != nil {
		return nil, fmt.Errorf("--init-from %s: %w", s.InitFrom, err)
	}
	return w, nil
}

// readWeights reads a regular file of at most so many bytes.
func readWeights(path string, most int64) ([]byte, error) {
	f, size, err := files.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	if size > most {
		if _, err := opened(f, size); err != nil { // says what it is instead
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return nil, fmt.Errorf("%s: %d bytes, want at most %d, all that the net can have", path, size, most)
	}
	content := make([]byte, size)
	if _, err := io.ReadFull(f, content); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return content, nil
}

// opened is [safetensors.New], whose error says where a model of another format is made one of safetensors.
func opened(r io.ReaderAt, size int64) (*safetensors.File, error) {
	f, err := safetensors.New(r, size)
	if errors.Is(err, safetensors.ErrOther) {
		err = fmt.Errorf("%w (docs/files.md converts models)", err)
	}
	return f, err
}

// sameContent compares the content of a file with its SHA-256 at the first reading. At the first reading it sets sum.
func sameContent(sum *string, content []byte) error {
	sha := sha256.Sum256(content)
	return sameSum(sum, sha[:])
}

// sameSum is sameContent for the SHA-256 of a file.
func sameSum(sum *string, sha []byte) error {
	found := hex.EncodeToString(sha)
	if *sum != "" && *sum != found {
		return fmt.Errorf("changed since this command began: SHA-256 %s, want %s", found, *sum)
	}
	*sum = found
	return nil
}

// weightsOf returns the parameters [P] of a net from the content of a file, which must have all and nothing else.
func weightsOf(model *models.Model, content []byte) ([]float32, error) {
	f, err := opened(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return nil, err
	}
	for _, t := range f.Tensors {
		known := slices.ContainsFunc(model.Params, func(p models.Param) bool { return p.Name == t.Name })
		if !known && !strings.HasSuffix(t.Name, trackerName) {
			if before := wrapper(model, f); before != "" {
				return nil, fmt.Errorf("%q is before all names, as DataParallel, torch.compile and trainers put it, "+
					"want the names of the net itself: %s", before, model.Params[0].Name)
			}
			return nil, fmt.Errorf("tensor %q %v: no parameter of %s, want its %d alone, %s %v the first", t.Name,
				t.Shape, model.Name, len(model.Params), model.Params[0].Name, model.Params[0].Shape)
		}
	}
	w := make([]float32, model.P)
	for _, p := range model.Params {
		t, found := f.Lookup(p.Name)
		if !found {
			return nil, fmt.Errorf("no tensor %q, want one of shape %v, as %s has it", p.Name, p.Shape, model.Name)
		}
		if !slices.Equal(t.Shape, p.Shape) {
			return nil, fmt.Errorf("tensor %q: shape %v, want %v, as %s has it", p.Name, t.Shape, p.Shape, model.Name)
		}
		into := w[p.Offset:][:p.Size]
		if err := f.Widened(p.Name, into); err != nil {
			return nil, err
		}
		if err := checkWeights(p, into); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", p.Name, err)
		}
	}
	return w, nil
}

// wrapper returns what the names of a file's tensors have before the names of a net, such as "module."; "": nothing, or
// they are of another net.
func wrapper(model *models.Model, f *safetensors.File) string {
	for _, t := range f.Tensors {
		before, is := strings.CutSuffix(t.Name, "."+model.Params[0].Name)
		if !is {
			continue
		}
		before += "."
		if !slices.ContainsFunc(model.Params, func(p models.Param) bool {
			_, found := f.Lookup(before + p.Name)
			return !found
		}) {
			return before
		}
	}
	return ""
}

// Tensors returns the parameters w [P] of a net with PyTorch's names, shapes and layouts.
func Tensors(model *models.Model, w []float32) []safetensors.Tensor {
	tensors := make([]safetensors.Tensor, len(model.Params))
	for i, p := range model.Params {
		tensors[i] = safetensors.Float32s(p.Name, p.Shape, w[p.Offset:][:p.Size])
	}
	return tensors
}

// checkWeights reports the first value that no net can start with: a NaN, an infinity, or a negative variance.
func checkWeights(p models.Param, values []float32) error {
	variance := p.Buffer && strings.HasSuffix(p.Name, "running_var")
	for i, v := range values {
		if x := float64(v); math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("element %d is %g, want finite numbers", i, v)
		}
		if variance && v < 0 {
			return fmt.Errorf("element %d is %g, want variances of 0 or more", i, v)
		}
	}
	return nil
}

// FitTrace reads the trace, if the run has one, and fits the rounds of the run to it, as --trace-end says.
func (s *Settings) FitTrace() error {
	if s.Availability != "trace" {
		return nil
	}
	of, err := s.ReadTrace()
	if err != nil {
		return err
	}
	s.traceNotes = strings.Join(of.Notes, "\n")
	switch {
	case of.Rounds > 0 && of.First == of.Rounds:
		return fmt.Errorf("--trace %s: no client is available in any round, want one that is", s.Trace)
	case of.First >= s.Rounds:
		return fmt.Errorf("--trace %s: no client trains: the first is available after round %d, want one up to round "+
			"%d", s.Trace, of.First, s.Rounds)
	case of.Rounds == 0 || of.Rounds >= s.Rounds:
	case s.TraceEnd == traceEndError:
		return Usagef("--trace %s: ends after round %d, before --rounds %d: want at most %d rounds, or --trace-end %s",
			s.Trace, of.Rounds, s.Rounds, of.Rounds, OrList([]string{traceEndRepeat, traceEndStop, traceEndEmpty}))
	case s.TraceEnd == traceEndStop:
		s.Stopped, s.Rounds = s.Rounds, of.Rounds
	}
	// For repeat and empty the rounds stay, and the availability model decides who is available after the trace.
	return nil
}

// TraceNotes returns lines about the trace of the run: what was understood of its file, and that it ends the run early.
func (s *Settings) TraceNotes() (notes []string) {
	for note := range strings.Lines(s.traceNotes) {
		notes = append(notes, "trace: "+strings.TrimSuffix(note, "\n"))
	}
	if s.Stopped > 0 {
		notes = append(notes, fmt.Sprintf("trace: %s ends after round %d, and so does the run, not after --rounds %d "+
			"(--trace-end %s)", s.Trace, s.Rounds, s.Stopped, s.TraceEnd))
	}
	return notes
}

// TraceOptions says how the file of --trace is read.
func (s *Settings) TraceOptions() trace.Options {
	o := trace.Options{
		Clients: s.Clients, Sampled: s.TraceSample.Valid, RoundSeconds: s.RoundSeconds.Or(0), Offset: s.TraceOffset,
	}
	if s.TraceFormat != traceAuto {
		o.Format = trace.Format(s.TraceFormat)
	}
	return o
}

// ReadTrace reads the file of --trace, with all its devices, of which --trace-sample draws some.
func (s *Settings) ReadTrace() (of *trace.Trace, err error) {
	o := s.TraceOptions()
	err = readNamed("trace", s.Trace, &s.TraceSum, func(r io.Reader) error {
		of, err = trace.Read(r, o)
		return err
	})
	return of, err
}

// ReadChain reads the file of --chain.
func (s *Settings) ReadChain() (of *availability.ChainTable, err error) {
	err = readNamed("chain", s.Chain, &s.ChainSum, func(r io.Reader) error {
		if of, err = availability.ReadChain(r); err == nil && !s.ChainSample.Valid && len(of.Pi) != s.Clients {
			err = fmt.Errorf("%d clients, want %d: --clients %d, or --chain-sample %d to draw from them", len(of.Pi),
				s.Clients, len(of.Pi), s.Clients)
		}
		return err
	})
	return of, err
}

// ReadSplit reads the file of --split for a training set of so many samples; 0: they are not known yet. nil: the split
// is of another kind.
func (s *Settings) ReadSplit(samples int) (parts [][]int32, err error) {
	if !s.splitByFile() {
		return nil, nil
	}
	err = readNamed("split file", s.SplitFile, &s.SplitSum, func(r io.Reader) error {
		parts, err = datasets.ReadSplit(r, cmp.Or(samples, mostSamples))
		if n := len(parts); err == nil && n > s.Clients {
			err = fmt.Errorf("samples of client %d, want clients 0 … %d: --clients %d", n-1, s.Clients-1, n)
		}
		return err
	})
	return parts, err
}

// mostSamples bounds the samples of a training set that is not open yet.
const mostSamples = 10_000_000

// readNamed reads the file of a flag. Its content names the run, so that a file that has changed since it was first
// read is an error. It must be a regular file, since every run reads it again.
func readNamed(flag, path string, was *string, read func(io.Reader) error) error {
	f, _, err := files.OpenRegular(path)
	if err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	sum := sha256.New()
	all := io.TeeReader(f, sum)
	if err = read(all); err == nil {
		if _, err = io.Copy(io.Discard, all); err == nil { // what the reader has left
			err = sameSum(was, sum.Sum(nil))
		}
	}
	if err != nil {
		return fmt.Errorf("--%s %s: %w", flag, path, err)
	}
	return nil
}

// ReadFiles reads the files that settings name, because their content names the run, and fits the rounds to the trace.
func (s *Settings) ReadFiles() error {
	if _, err := s.ReadInit(); err != nil {
		return err
	}
	if _, err := s.ReadSplit(0); err != nil {
		return err
	}
	return s.ReadAvailability()
}

// ReadAvailability reads the files of the availability model, and fits the rounds to the trace.
func (s *Settings) ReadAvailability() error {
	if s.Availability == "chain" {
		_, err := s.ReadChain()
		return err
	}
	return s.FitTrace()
}
