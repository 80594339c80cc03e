package track

// Rule says what a shift is: nights that differ from those before them by more than chance and by more than a little.
type Rule struct {
	// largest share of false discoveries of one night, over all its metrics (Benjamini and Hochberg); in (0, 1)
	Level     float64
	MinEffect float64 // least change of the median that counts, as a fraction
}

// DefaultRule is the one whose rates docs/tracking.md has.
func DefaultRule() Rule { return Rule{Level: 0.01, MinEffect: 0.02} }

// What else the rates depend on. The Mann-Whitney test has exact probabilities for up to 50 nights on each side.
const (
	LeastSamples = 10 // a night with fewer of a metric does not count for it
	baseline     = 10 // nights there must be before a shift
	window       = 50 // nights before a shift that it is compared with, at most
	confirm      = 3  // nights a shift must have lasted
	recent       = 20 // nights it is looked for in
)
