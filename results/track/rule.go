package track

import (
	"fmt"
	"math"
)

// Rule says what a shift is: nights that differ from those before them by more than chance and by more than a little.
type Rule struct {
	// largest share of false discoveries of one night, over all its metrics (Benjamini and Hochberg); in (0, 1)
	Level     float64
	MinEffect float64 // least change of the median that counts, as a fraction
	Samples   int     // a night with fewer of a metric does not count for it; at least 10
	Baseline  int     // nights there must be before a shift; at least 10
	Window    int     // nights before a shift that it is compared with, at most; up to 50, so that the test is exact
	Confirm   int     // nights a shift must have lasted; at least 2
	Recent    int     // nights it is looked for in; up to 50
}

// DefaultRule is the one whose rates docs/tracking.md has.
func DefaultRule() Rule {
	return Rule{Level: 0.01, MinEffect: 0.02, Samples: 10, Baseline: 10, Window: 50, Confirm: 3, Recent: 20}
}

// exactLimit is the largest sample for which the Mann-Whitney test has exact probabilities.
const exactLimit = 50

// Validate reports the first number that is out of its range.
func (r Rule) Validate() error {
	switch {
	case !(r.Level > 0 && r.Level < 1):
		return fmt.Errorf("track: level %g, want one above 0 and below 1", r.Level)
	case !(r.MinEffect >= 0) || math.IsInf(r.MinEffect, 0):
		return fmt.Errorf("track: least effect %g, want 0 or more", r.MinEffect)
	case r.Samples < 10:
		return fmt.Errorf("track: %d samples of a night, want 10 at least", r.Samples)
	case r.Baseline < 10 || r.Baseline > r.Window:
		return fmt.Errorf("track: %d nights before a shift, want 10 … %d", r.Baseline, r.Window)
	case r.Window > exactLimit:
		return fmt.Errorf("track: window of %d nights, want %d … %d", r.Window, r.Baseline, exactLimit)
	case r.Confirm < 2 || r.Confirm > r.Recent:
		return fmt.Errorf("track: shift confirmed by %d nights, want 2 … %d", r.Confirm, r.Recent)
	case r.Recent > exactLimit:
		return fmt.Errorf("track: shifts looked for in %d nights, want %d … %d", r.Recent, r.Confirm, exactLimit)
	}
	return nil
}
