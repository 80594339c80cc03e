package results

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
)

// OnlyOnce keeps the first of several copies of a run, which several tables may have, and notes the other tables in it.
// bad names the copies whose numbers differ.
func OnlyOnce(runs []Run) (different []Run, bad []error) {
	type identity struct {
		key   CellKey
		like  Likeness // runs that are not alike have different numbers
		seed  uint32
		table string // of runs that are not complete: their copies may differ in length
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

// ByTable groups runs by table. A run that several tables have is in the group of each, with the name of that table.
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

// SameNumbers returns where two curves first differ, in any column but time, version and table; nil if they do not.
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

// RefuseTwins marks two seeds of one cell as damaged if they have the same numbers in every row, whatever the engine:
// one must be a copy of the other. Two runs may rightly be equal if no client was ever available to train, or if both
// diverged before their second evaluation.
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
		bad = append(bad, fmt.Errorf("results: %s and %s: seeds %d and %d have the same numbers in every round, "+
			"want runs of their own", runs[at].Dir, runs[i].Dir, runs[at].Seed, runs[i].Seed))
	}
	return bad
}

// evaluations returns the measured columns of a curve as text, and whether a later row has other numbers than the
// first.
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
