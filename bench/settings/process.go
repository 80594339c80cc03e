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

// ProcessOptions returns what s says of a run's process: all but the seed, the clients and their groups.
func (s *Settings) ProcessOptions() (o availability.Options, err error) {
	o = availability.Options{
		Period: s.Period, Gamma: s.Gamma, Cutoff: s.Cutoff, Low: s.Low,
		Form: availability.Form(s.Preset), G: s.G, Nu: s.Nu, Epsilon: s.Epsilon, Clusters: s.Clusters, PMin: s.PMin,
	}
	if s.Availability == "trace" {
		o.Trace, err = s.ReadTrace()
	}
	return o, err
}
