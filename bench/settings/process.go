package settings

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"

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

// ProcessOptions returns what s says of the process of clients with the given p_i [N]: all but the seed, the groups and
// the intervals of a trace.
func (s *Settings) ProcessOptions(base []float64) availability.Options {
	return availability.Options{
		Base: base, Period: s.Period, Gamma: s.Gamma, Cutoff: s.Cutoff, Low: s.Low,
		Form: availability.Form(s.Preset), G: s.G, Nu: s.Nu, Epsilon: s.Epsilon, Clusters: s.Clusters, PMin: s.PMin,
	}
}
