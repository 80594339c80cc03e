package settings

import (
	"math"
	"slices"
	"strings"

	"rollcall/algos"
	"rollcall/internal/files"
)

// OwnSeeds are seeds of parts of the draws, in place of the run's seed; none: the run's seed.
type OwnSeeds struct {
	SeedSplit        files.Optional // what the clients hold
	SeedPhi          files.Optional // φ
	SeedAvailability files.Optional // who is available
	SeedInit         files.Optional // the initial weights
	SeedBatches      files.Optional // how the clients train, and what the methods draw
}

// Seeds are the seeds of all draws of a run, by what they draw. Package rng lists the draws.
type Seeds struct {
	Split        uint32 // [rng.Split] and [rng.Generated]: what the clients hold
	Phi          uint32 // φ, the first draw of [rng.Availability], from which the p_i are computed
	Availability uint32 // the other draws of [rng.Availability]
	Init         uint32 // [rng.Init]
	Batches      uint32 // [rng.Batches], [rng.Augmentation], [rng.Dropout] and [rng.Sampling]
}

// seedRows say which draws have a seed of their own. A run reads a row only if it is given: what is not given is drawn
// from the run's seed, and its name and its settings stay as they are.
func seedRows() []Row {
	return []Row{
		seedOf("split", "what the clients hold: generated data, the split, --validation, --hold-out, --swap-pairs and "+
			"the subsets of --train-size and --test-size",
			func(s *Settings) *files.Optional { return &s.SeedSplit }, " with one of these", (*Settings).drawsData),
		seedOf("phi", "φ, the activity of the classes, from which the p_i are computed",
			func(s *Settings) *files.Optional { return &s.SeedPhi },
			" with --p none and one of FedAWE's availability models",
			func(s *Settings) bool { return !s.Chained() && !s.P.Valid }),
		seedOf("availability",
			"which clients are active in which round, the parameters of the chains, and the history of --prior",
			func(s *Settings) *files.Optional { return &s.SeedAvailability },
			" and, of a trace, with --prior, --trace-sample, --population or probabilities (--trace-format matrix)",
			func(s *Settings) bool {
				return s.Availability != "trace" || slices.Contains(Weighted(), s.Method) && s.Get("prior") != "none" ||
					s.TraceSample.Valid || s.Population != none || strings.HasPrefix(s.TraceFormat, "matrix")
			}),
		seedOf("init", "the initial weights",
			func(s *Settings) *files.Optional { return &s.SeedInit }, " without --init-from",
			func(s *Settings) bool { return s.InitFrom == "" }),
		seedOf("batches", "the order of the batches, crops, flips, dropout, and the clients that fedavg-s samples",
			func(s *Settings) *files.Optional { return &s.SeedBatches }, "", func(*Settings) bool { return true }),
	}
}

// seedOf returns the row of the seed of some draws. Runs that draw them, which in names, read it if it is given.
func seedOf(draws, help string, field func(*Settings) *files.Optional, in string, reads func(*Settings) bool) Row {
	return whole("seed-"+draws, "none", algos.Between(0, math.MaxUint32), "seed of "+help+"; none: --seed",
		func(s *Settings) any { return field(s) }).orNone().
		only(&use{in: "a number" + in, by: func(s *Settings) bool { return field(s).Valid && reads(s) }})
}

// SeedNames returns the names of the settings that are seeds.
func SeedNames() (names []string) {
	for _, r := range seedRows() {
		names = append(names, r.Name)
	}
	return names
}

// Seeds returns the seeds of a run with this seed.
func (s *Settings) Seeds(seed uint32) Seeds {
	of := func(own files.Optional) uint32 { return uint32(own.Or(float64(seed))) }
	return Seeds{of(s.SeedSplit), of(s.SeedPhi), of(s.SeedAvailability), of(s.SeedInit), of(s.SeedBatches)}
}

// UngivenSeeds returns the names of the seeds that are not given and from which the run would draw: those draws come
// from the run's seed. If there are none, the run's seed makes no difference.
func (s *Settings) UngivenSeeds() (names []string) {
	given := *s
	for _, r := range seedRows() {
		if s.Get(r.Name) != "none" {
			continue
		}
		*r.Field(&given).(*files.Optional) = files.Some(0)
		if r.For.by(&given) {
			names = append(names, r.Name)
		}
	}
	return names
}

// checkSeeds refuses a seed of its own for a part of what FedAWE's released code draws from one generator.
func (s *Settings) checkSeeds() error {
	if s.Draws != "numpy" {
		return nil
	}
	for _, name := range []string{"seed-split", "seed-phi", "seed-availability"} {
		if value := s.Get(name); value != "none" {
			return Usagef("--%s %s: with --draws numpy, where one generator draws split, φ and activity in turn, "+
				"want --draws philox, or --seed for all of them", name, value)
		}
	}
	return nil
}
