package results

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
)

// OnlyOnce drops runs that are there twice, and complains of those that differ.
func OnlyOnce(runs []Run) (different []Run, bad []error) {
	type identity struct {
		key   CellKey
		like  Likeness // of unlike runs the numbers differ
		seed  uint32
		table string // runs that are not whole may well differ from one table to another
	}
	first := map[identity]int{}
	for _, r := range runs {
		id := identity{key: r.Key(), like: r.Likeness(), seed: r.Seed}
		if r.Status() != RunComplete {
			id.table = r.Dir
		}
		at, twice := first[id]
		if !twice {
			first[id] = len(different)
			different = append(different, r)
			continue
		}
		if err := SameNumbers(different[at].Curve, r.Curve); err != nil {
			bad = append(bad, fmt.Errorf("results: %s and %s: the same run, but %w",
				filepath.Join(different[at].Dir, CurveFile), filepath.Join(r.Dir, CurveFile), err))
		} else if same := &different[at]; r.Table != same.Table && !slices.Contains(same.Also, r.Table) {
			same.Also = append(same.Also, r.Table)
		}
	}
	return different, bad
}

// ByTable sorts runs by the tables that have them, each run as that table's.
func ByTable(runs []Run) (tables []string, of map[string][]Run) {
	var all []Run
	for _, r := range runs {
		for _, table := range append([]string{r.Table}, r.Also...) {
			r.Table = table
			all = append(all, r)
		}
	}
	return Grouped(all, func(r Run) string { return r.Table })
}

// SameNumbers reports where two curves of one run differ: in anything but time, version and the table they were run
// for.
func SameNumbers(a, b []CurveRow) error {
	plain := func(r CurveRow) CurveRow {
		r.ElapsedSec, r.Version, r.Table = 0, "", ""
		return r
	}
	for i := range min(len(a), len(b)) {
		if x, y := plain(a[i]), plain(b[i]); fmt.Sprint(x) != fmt.Sprint(y) { // as text: NaN equals NaN
			return fmt.Errorf("they differ in line %d, round %d", i+2, a[i].Round)
		}
	}
	if len(a) != len(b) {
		return fmt.Errorf("one ends after line %d, the other after line %d", len(a)+1, len(b)+1)
	}
	return nil
}

// RefuseTwins marks seeds of one cell as damaged that have the same numbers in every row, of whatever engine: one is a
// copy of the other. Models that were never trained, since nobody was there, may be the same, and so may those of which
// nothing but the first round is a number, since they diverged at once.
func RefuseTwins(runs []Run) (bad []error) {
	type twin struct {
		key     CellKey
		numbers string
	}
	first := map[twin]int{}
	for i := range runs {
		numbers, trained := evaluations(runs[i].Curve)
		if !trained {
			continue
		}
		t := twin{runs[i].Key(), numbers}
		at, twice := first[t]
		if !twice {
			first[t] = i
			continue
		}
		if runs[at].Seed == runs[i].Seed {
			continue
		}
		runs[at].Damaged, runs[i].Damaged = true, true
		bad = append(bad, fmt.Errorf("results: %s and %s: seeds %d and %d have the same numbers in every round, want "+
			"runs of their own", runs[at].Dir, runs[i].Dir, runs[at].Seed, runs[i].Seed))
	}
	return bad
}

// evaluations returns what was measured in every row of a curve, and whether it ever changed to other numbers.
func evaluations(curve []CurveRow) (numbers string, changed bool) {
	var b strings.Builder
	first := ""
	for i, r := range curve {
		row := fmt.Sprint(r.TrainLoss, r.TrainAcc, r.TestLoss, r.TestAcc)
		if i == 0 {
			first = row
		}
		number := !math.IsNaN(r.TestLoss.Value) && !math.IsInf(r.TestLoss.Value, 0)
		changed = changed || number && row != first
		fmt.Fprintf(&b, "%d %s\n", r.Round, row)
	}
	return b.String(), changed
}
