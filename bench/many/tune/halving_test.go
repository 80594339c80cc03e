package tune

import (
	"math"
	"slices"
	"testing"

	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/stats"
)

func TestRungs(t *testing.T) {
	for _, c := range []struct {
		rounds, every int
		want          []int
	}{
		{500, 10, []int{130, 250, 500}}, // 125 is not evaluated
		{500, 5, []int{125, 250, 500}},
		{40, 10, []int{10, 20, 40}},
		{45, 10, []int{20, 30, 45}},
		{20, 10, []int{10, 20}},
		{7, 10, []int{7}},
		{1, 1, []int{1}},
		{3, 1, []int{1, 2, 3}},
	} {
		if got := rungs(c.rounds, c.every); !slices.Equal(got, c.want) {
			t.Errorf("rungs(%d, %d) = %v, want %v", c.rounds, c.every, got, c.want)
		}
	}
}

// curveOf returns the curve of a run that is evaluated in rounds 0, 10, 20, …, with these accuracies and ten times the
// rest to 1 as losses.
func curveOf(accs ...float64) (rows []results.CurveRow) {
	for i, acc := range accs {
		rows = append(rows, results.CurveRow{
			Round: 10 * i, TestAcc: files.Some(acc), TestLoss: files.Some(10 * (1 - acc)),
		})
	}
	return rows
}

func TestScoreOf(t *testing.T) {
	one := curveOf(0.9, 0.1, 0.2, 0.3, 0.7, 0.8)
	two := curveOf(0.9, 0.3, 0.4, 0.5, 0.9, math.NaN())
	for _, c := range []struct {
		round    int
		acc, std float64 // over both
	}{
		// The initial model does not count; up to three evaluations do, and nothing that comes later.
		{10, 0.2, 0.1 * math.Sqrt2},
		{20, 0.25, 0.1 * math.Sqrt2},
		{30, 0.3, 0.1 * math.Sqrt2},
		{40, (0.4 + 0.6) / 2, 0.1 * math.Sqrt2},
	} {
		got := scoreOf(&settings.Settings{Data: "mnist", Net: "lenet5"}, [][]results.CurveRow{one, two}, c.round)
		// A few roundings of numbers below 10.
		if got.diverged || math.Abs(got.acc.Mean-c.acc) > 1e-12 || math.Abs(got.loss-10*(1-c.acc)) > 1e-12 ||
			math.Abs(got.acc.Std.Value-c.std) > 1e-12 || got.acc.N != 2 {
			t.Errorf("round %d: %+v, want accuracy %g ± %g and loss %g", c.round, got, c.acc, c.std, 10*(1-c.acc))
		}
	}
	for _, round := range []int{50, 60} { // the loss is no number; the run ended before
		run := &settings.Settings{Data: "mnist", Net: "lenet5"}
		if got := scoreOf(run, [][]results.CurveRow{one, two}, round); !got.diverged {
			t.Errorf("round %d: %+v, want it diverged", round, got)
		}
	}
}

// at returns a trial with an accuracy and a loss; a NaN loss: it diverged.
func at(lr, serverLR, acc, loss float64) trial {
	s := score{acc: stats.Estimate{Mean: acc, N: 1}, loss: loss, diverged: math.IsNaN(loss)}
	return trial{pair{lr, serverLR}, s}
}

func TestBest(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name   string
		trials []trial
		most   int
		want   []int
	}{
		{"by accuracy", []trial{at(1, 1, 0.5, 1), at(2, 1, 0.7, 9), at(3, 1, 0.6, 5)}, 2, []int{1, 2}},
		{"then by loss", []trial{at(1, 1, 0.5, 3), at(2, 1, 0.5, 2), at(3, 1, 0.5, 1)}, 1, []int{2}},
		{"then the smaller local rate", []trial{at(3, 1, 0.4, 1), at(1, 2, 0.5, 1), at(2, 1, 0.5, 1)}, 1, []int{1}},
		{"then the smaller server rate", []trial{at(1, 3, 0.5, 1), at(1, 2, 0.5, 1), at(1, 1, 0.4, 1)}, 1, []int{1}},
		{"all of a tie", []trial{at(1, 3, 0.5, 1), at(1, 2, 0.5, 1)}, 1, []int{0, 1}},
		{"never diverged ones", []trial{at(1, 1, 0, nan), at(2, 1, 0.1, 9), at(3, 1, 0, nan)}, 2, []int{1}},
		{"all diverged", []trial{at(1, 1, 0, nan), at(2, 1, 0, nan)}, 1, nil},
		{"more than there are", []trial{at(1, 1, 0.5, 1)}, 3, []int{0}},
		{"none", nil, 1, nil},
	} {
		if got := best(c.trials, c.most); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestEdge(t *testing.T) {
	for _, c := range []struct {
		grid []float64
		rate float64
		want string
	}{
		{[]float64{0.1, 0.05, 0.01}, 0.1, "lr largest"},
		{[]float64{0.01, 0.05, 0.1}, 0.1, "lr largest"},
		{[]float64{0.1, 0.05, 0.01}, 0.05, ""},
		{[]float64{0.1, 0.05, 0.01}, 0.01, "lr smallest"},
		{[]float64{0.1}, 0.1, ""}, // nothing else was tried, and nobody asked
	} {
		if got := edge("lr", c.grid, c.rate); got != c.want {
			t.Errorf("%g of %v: %q, want %q", c.rate, c.grid, got, c.want)
		}
	}
}
