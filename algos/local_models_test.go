package algos

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"rollcall/internal/must"
)

// The methods with local models say so of themselves, and every client has one of them.
func TestLocalModelMethods(t *testing.T) {
	forAll(t, func(t *testing.T, name string, o Options) {
		f, _ := toyFederation(8, 16, -8, 2)
		m := start(t, name, f, o)
		play(t, m, f, trace(f, 10))
		rows, of := LocalModels(m)
		if have, want := rows != nil, Has(name, OwnModels); have != want || len(rows) != len(of) {
			t.Fatalf("%d rows of %v, want some: %t", len(rows), of, want)
		}
		clients, last := slices.Sorted(slices.Values(slices.Concat(of...))), -1
		if rows != nil && fmt.Sprint(clients) != "[0 1 2 3]" {
			t.Errorf("models of %v, want every client once", of)
		}
		for _, who := range of {
			if !slices.IsSorted(who) || who[0] <= last {
				t.Errorf("models of %v, want clients ascending, and the model of the smallest first", of)
			}
			last = who[0]
		}
	})
}

// The local models are x_i of Algorithm 1: who was away keeps the old model, and their mean is what is evaluated.
func TestFedAWELocalModels(t *testing.T) {
	f, e := toyFederation(8, 16, -8, 2)
	m := start(t, "fedawe", f, withValues(Paper, "fedawe-clip", "none"))
	for i, c := range []struct {
		active []int
		want   string
	}{
		{nil, "[[0 1 2 3]]"},
		{[]int{1, 3}, "[[0 2] [1 3]]"},
		{[]int{3}, "[[0 2] [1] [3]]"},
		{[]int{0, 1}, "[[0 1] [2] [3]]"},
		{[]int{0, 1, 2, 3}, "[[0 1 2 3]]"},
	} {
		must.Get(m.Round(t.Context(), at(i, f, 1, c.active...)))(t)
		rows, of := LocalModels(m)
		if got := fmt.Sprint(of); got != c.want {
			t.Errorf("round %d, active %v: models of %v, want %v", i, c.active, got, c.want)
		}
		mean := 0.0
		for j, row := range rows {
			mean += float64(len(of[j])) / 4 * float64(e.at(row)[0]) / 3 // in units of (3, 4)
		}
		if got := model(t, m, f); !near(got, mean, 1e-5*(1+math.Abs(mean))) { // float32 sums of four terms
			t.Errorf("round %d: model %v, want %v, the mean of the local models", i, got, scaled(mean))
		}
	}
}
