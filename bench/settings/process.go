package settings

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"

	"rollcall/algos"
	"rollcall/algos/availability"
)

// ReadTrace reads the trace file, whose content names the run too.
func (s *Settings) ReadTrace() ([]availability.Interval, error) {
	text, err := os.ReadFile(s.Trace)
	if err != nil {
		return nil, fmt.Errorf("--trace: %w", err)
	}
	sum := sha256.Sum256(text)
	s.TraceSum = hex.EncodeToString(sum[:])
	intervals, err := availability.ReadTrace(bytes.NewReader(text), s.Clients, s.RoundSeconds.Or(1))
	if err != nil {
		return nil, fmt.Errorf("--trace %s: %w", s.Trace, err)
	}
	return intervals, nil
}

// NewProcess makes the process of a run; group [N] may be nil.
func NewProcess(s *Settings, base []float64, group []int, seed uint32) (availability.Process, error) {
	o := availability.Options{
		Seed: seed, Base: base, Groups: group, Period: s.Period, Gamma: s.Gamma, Cutoff: s.Cutoff, Low: s.Low,
		Form: availability.PaperForm, G: s.G, Nu: s.Nu, Epsilon: s.Epsilon, Clusters: s.Clusters, PMin: s.PMin,
	}
	if algos.Preset(s.Preset) == algos.Code {
		o.Form = availability.CodeForm
	}
	if s.Availability == "trace" {
		var err error
		if o.Trace, err = s.ReadTrace(); err != nil {
			return nil, err
		}
	}
	return availability.New(s.Availability, o)
}
