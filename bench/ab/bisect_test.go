package ab

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// search is a bisection of n builds of which all from slow on take 5 % longer, on a busy machine.
func search(r *rand.Rand, slow int, factor float64, broken ...int) Bisect {
	return Bisect{
		Rule: DefaultRule(), Passes: 16, Most: 40, Say: func(int, int) {},
		Measure: func(_ context.Context, builds ...int) (numbers []float64, err error) {
			for i, build := range builds {
				if slices.Contains(broken, build) {
					return nil, &ProgramError{i, errors.New("does not compile")}
				}
				x := 20 * machine(r)
				if build >= slow {
					x *= factor
				}
				numbers = append(numbers, x)
			}
			return numbers, nil
		},
	}
}

// The first slow build is found wherever it is; a wrong one is named in at most 5 %.
func TestBisect(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n, searches = 33, 200
	right, wrong := 0, 0
	for range searches {
		slow := 1 + r.IntN(n-1)
		found, err := search(r, slow, 1.05).Find(t.Context(), n)
		switch {
		case err != nil && !errors.Is(err, ErrNoDifference):
			t.Fatal(err)
		case err == nil && found.Alone() && found.Slow == slow:
			right++
		case err == nil && (found.Fast >= slow || found.Slow < slow):
			wrong++
		}
	}
	// Some searches end at a build that is nearer to neither end in 40 passes.
	if right < searches*9/10 || wrong > searches/20 {
		t.Errorf("%d right and %d wrong of %d, want 90 %% and at most 5 %%", right, wrong, searches)
	}
}

// Two builds need no search, and no difference is no culprit.
func TestBisectEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	found, err := search(r, 1, 1.1).Find(t.Context(), 2)
	if err != nil || !found.Alone() || found.Slow != 1 || len(found.Probes) != 2 {
		t.Errorf("two: %+v, %v, want the second", found, err)
	}
	for name, factor := range map[string]float64{"equal": 1, "faster": 0.9} {
		if found, err = search(r, 1, factor).Find(t.Context(), 5); !errors.Is(err, ErrNoDifference) {
			t.Errorf("%s: %+v, %v, want no difference", name, found, err)
		}
	}
}

// Broken builds are skipped for their neighbours, and stay in the answer where they may be the first slow one.
func TestBisectSkips(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		name       string
		slow       int
		broken     []int
		fast, last int
	}{
		{"elsewhere", 3, []int{8}, 2, 3},
		{"the middle", 12, []int{8}, 11, 12},
		{"the culprit", 8, []int{7, 8}, 6, 9},
		{"before the culprit", 9, []int{8}, 7, 9},
		{"all between", 8, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 0, 16},
	} {
		found, err := search(r, c.slow, 1.2, c.broken...).Find(t.Context(), 17)
		if err != nil || found.Fast != c.fast || found.Slow != c.last {
			t.Errorf("%s: %+v, %v, want fast up to %d and slow from %d", c.name, found, err, c.fast, c.last)
		}
	}
	for _, end := range []int{0, 16} {
		if found, err := search(r, 3, 1.2, end).Find(t.Context(), 17); err == nil {
			t.Errorf("%d is broken: %+v, want an error", end, found)
		}
	}
}

// A build half-way between fast and slow ends the search.
func TestBisectHalfWay(t *testing.T) {
	b := Bisect{
		Rule: DefaultRule(), Passes: 10, Most: 12, Say: func(int, int) {},
		Measure: func(_ context.Context, builds ...int) (numbers []float64, err error) {
			for _, build := range builds {
				numbers = append(numbers, []float64{1, 2, 4}[build])
			}
			return numbers, nil
		},
	}
	found, err := b.Find(t.Context(), 3)
	if err != nil || found.Alone() || len(found.Probes) != 3 || found.Probes[2].Side != HalfWay ||
		found.Probes[2].Passes != 12 {
		t.Errorf("%+v, %v, want it undecided after 12 passes", found, err)
	}
}

// A cancelled search ends with the error of its context, not with a skipped build.
func TestBisectCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := search(rand.New(rand.NewPCG(7, 8)), 2, 1.2)
	measure := b.Measure
	b.Measure = func(ctx context.Context, builds ...int) ([]float64, error) {
		if len(builds) == 3 {
			cancel()
			return nil, ctx.Err()
		}
		return measure(ctx, builds...)
	}
	if found, err := b.Find(ctx, 5); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v, want it cancelled", found, err)
	}
}
