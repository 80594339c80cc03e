// Package power says, from runs that differ in their seeds alone, how much of the spread each seed makes, and how many
// seeds a difference needs.
package power

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rollcall/results"
)

// Seeds are the settings that are seeds of a part of a run's draws, in the order in which a run draws. A run without
// one of them draws that part from its own seed.
var Seeds = []string{"seed-split", "seed-phi", "seed-availability", "seed-init", "seed-batches"}

// Factor is a seed that a design varies, or several that it varies together.
type Factor struct {
	Name   string // split, phi, …; several are joined by +
	Levels int    // how many seeds there are
}

// Design is complete runs of one method that differ in their seeds alone: any two seeds of two factors meet in exactly
// one run.
type Design struct {
	results.CellKey // without seeds
	Rounds          int
	Factors         []Factor
	Runs            []results.Run // sorted by their seeds

	level [][]int          // [factor][run], for the analysis of variance
	seeds []string         // [run] all seeds of a run as text
	like  results.Likeness // of its runs, without settings and the revision of the method
}

// Designs returns the crossed designs among runs, by method. Runs whose seeds all vary together, as those of --seeds,
// are no design. bad says which runs vary several seeds but are not crossed, and why: usually some are missing.
func Designs(runs []results.Run) (designs []Design, bad []error) {
	type group struct {
		key  results.CellKey
		like results.Likeness
	}
	runs = slices.DeleteFunc(slices.Clone(runs), func(r results.Run) bool { return r.Status() != results.RunComplete })
	keys, groups := results.Grouped(runs, func(r results.Run) group {
		key, like := r.Key(), r.Likeness()
		key.Params, like.Settings = key.Params.Without(Seeds...), settingsHash(&r)
		return group{key, like}
	})
	for _, k := range keys {
		d := Design{CellKey: k.key, Runs: groups[k], Rounds: groups[k][0].Rounds(), like: k.like}
		d.like.Settings, d.like.Revisions.Method = "", 0
		d.factors()
		if len(d.Factors) < 2 {
			continue
		}
		if err := d.crossed(); err != nil {
			bad = append(bad, fmt.Errorf("power: %s: %w", d.CellKey, err))
			continue
		}
		designs = append(designs, d)
	}
	slices.SortStableFunc(designs, func(a, b Design) int {
		return cmp.Or(cmp.Compare(a.Method, b.Method), cmp.Compare(a.Params, b.Params))
	})
	return designs, bad
}

// settingsHash returns the hash of a run's settings without seeds.
func settingsHash(r *results.Run) string {
	of, _ := r.Info.Settings.(map[string]any)
	of = maps.Clone(of)
	for _, name := range Seeds {
		delete(of, name)
	}
	return results.Hash(of)
}

// seedOf returns the seed of a part of a run's draws, as text.
func seedOf(r *results.Run, name string) string {
	of, _ := r.Info.Settings.(map[string]any)
	if own, given := of[name]; given {
		return fmt.Sprint(own)
	}
	return fmt.Sprint(r.Seed)
}

// factors finds the seeds that vary, joins those that vary together, and sorts the runs by their seeds.
func (d *Design) factors() {
	seedsOf := func(r *results.Run) (all []string) {
		for _, name := range Seeds {
			all = append(all, fmt.Sprintf("%10s", seedOf(r, name))) // padded, so that 10 comes after 9
		}
		return all
	}
	slices.SortFunc(d.Runs, func(a, b results.Run) int { return slices.Compare(seedsOf(&a), seedsOf(&b)) })
	for _, name := range Seeds {
		number, level := map[string]int{}, make([]int, len(d.Runs))
		for i := range d.Runs {
			seed := seedOf(&d.Runs[i], name)
			if _, met := number[seed]; !met {
				number[seed] = len(number)
			}
			level[i] = number[seed]
		}
		short := strings.TrimPrefix(name, "seed-")
		// Seeds that vary together give the runs the same numbers, since both are numbered in the order of the runs.
		same := slices.IndexFunc(d.level, func(other []int) bool { return slices.Equal(other, level) })
		switch {
		case len(number) < 2:
		case same >= 0:
			d.Factors[same].Name += "+" + short
		default:
			d.Factors, d.level = append(d.Factors, Factor{short, len(number)}), append(d.level, level)
		}
	}
	for i := range d.Runs {
		d.seeds = append(d.seeds, strings.Join(seedsOf(&d.Runs[i]), " "))
	}
}

// crossed returns an error unless any two seeds of two factors meet in exactly one run.
func (d *Design) crossed() error {
	for f := range d.Factors {
		for g := range f {
			met := map[[2]int]bool{}
			for i := range d.Runs {
				met[[2]int{d.level[g][i], d.level[f][i]}] = true
			}
			a, b := d.Factors[g], d.Factors[f]
			if pairs := a.Levels * b.Levels; len(met) != pairs || len(d.Runs) != pairs {
				return fmt.Errorf("%d runs, in which %d of the %d pairs of %d seeds of %s and %d of %s meet, "+
					"want each pair in one run, as rollcall sweep --crossed trains them",
					len(d.Runs), len(met), pairs, a.Levels, a.Name, b.Levels, b.Name)
			}
		}
	}
	return nil
}

// pairs reports whether the runs of two designs are pairs: they have the same seeds, and differ in nothing but the
// method and settings.
func (d *Design) pairs(other *Design) bool {
	of := func(d *Design) results.CellKey { return d.Ignoring([]string{"method", "params"}) }
	return of(d) == of(other) && d.like == other.like && d.Rounds == other.Rounds && slices.Equal(d.seeds, other.seeds)
}
