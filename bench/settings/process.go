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
	o := availability.Defaults(base, seed)
	o.Groups = group
	o.Period, o.Gamma, o.Cutoff, o.Low = s.Period, s.Gamma, s.Cutoff, s.Low
	o.G, o.Nu, o.Epsilon, o.Clusters, o.PMin = s.G, s.Nu, s.Epsilon, s.Clusters, s.PMin
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
