package settings

import (
	"bytes"
	"fmt"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/internal/files"
)

// FitTrace reads the trace and fits the rounds of the run to it, as --trace-end says. It does nothing for a run without
// a trace.
func (s *Settings) FitTrace() error {
	if s.Availability != "trace" {
		return nil
	}
	intervals, err := s.ReadTrace()
	if err != nil {
		return err
	}
	end := availability.TraceRounds(intervals)
	switch {
	case end == 0:
		return fmt.Errorf("--trace %s: %d intervals, none holds a round, want at least one that does", s.Trace,
			len(intervals))
	case end >= s.Rounds:
	case s.TraceEnd == traceEndError:
		return Usagef("--trace %s: ends after round %d, before --rounds %d: want at most %d rounds, or --trace-end %s",
			s.Trace, end, s.Rounds, end, OrList([]string{traceEndRepeat, traceEndStop, traceEndEmpty}))
	case s.TraceEnd == traceEndStop:
		s.Stopped, s.Rounds = s.Rounds, end
	}
	// For repeat and empty the rounds stay, and the availability model decides who is available after the trace.
	return nil
}

// Shortened returns a line that says that the trace ends the run early; "" if it does not.
func (s *Settings) Shortened() string {
	if s.Stopped == 0 {
		return ""
	}
	return fmt.Sprintf("trace: %s ends after round %d, and so does the run, not after --rounds %d (--trace-end %s)",
		s.Trace, s.Rounds, s.Stopped, s.TraceEnd)
}

// ReadTrace reads the file of --trace. Its content names the run, so that a file that has changed since it was first
// read is an error. It must be a regular file, since every run reads it again.
func (s *Settings) ReadTrace() ([]availability.Interval, error) {
	text, err := files.ReadRegular(s.Trace)
	if err != nil {
		return nil, fmt.Errorf("--trace: %w", err)
	}
	if err := sameContent(&s.TraceSum, text); err != nil {
		return nil, fmt.Errorf("--trace %s: %w", s.Trace, err)
	}
	// Without --round-seconds the trace counts rounds, and a round is 1 long.
	intervals, err := availability.ReadTrace(bytes.NewReader(text), s.Clients, s.RoundSeconds.Or(1))
	if err != nil {
		return nil, fmt.Errorf("--trace %s: %w", s.Trace, err)
	}
	return intervals, nil
}

// AvailabilityOptions returns the options of the availability model for clients with these p_i [N]. The caller adds
// seed, groups and the intervals of a trace.
func (s *Settings) AvailabilityOptions(base []float64) availability.Options {
	return availability.Options{
		Base: base, Period: s.Period, Gamma: s.Gamma, Cutoff: s.Cutoff, Low: s.Low,
		Form: availability.Form(algos.Preset(s.Preset).Reading()), G: s.G, Nu: s.Nu,
		Epsilon: s.Epsilon, Drawn: s.Classes == classesDrawn, Clusters: s.Clusters, PMin: s.PMin,
		Repeat: s.TraceEnd == traceEndRepeat, Rounds: s.Rounds,
	}
}
