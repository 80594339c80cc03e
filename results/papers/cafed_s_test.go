package papers

import (
	"math"
	"strings"
	"testing"

	"rollcall/results/plot"
)

// The optimum and the limits by hand. Five steps of 0.05 take a client of curvature 1 the share 1 − 0.95⁵ =
// 0.2262190625 of its way, and one of curvature 2 the share 1 − 0.9⁵ = 0.40951.
func TestQuadraticLimits(t *testing.T) {
	const a, b = 0.2262190625, 0.40951
	near := func(what string, got, want [2]float64) {
		t.Helper()
		for d := range got {
			if math.Abs(got[d]-want[d]) > 1e-12 { // some roundings of numbers up to 4
				t.Errorf("%s: got %v, want %v ± 1e-12", what, got, want)
			}
		}
	}
	near("optimum", optimumOf(quadraticClients), [2]float64{7. / 6, 1. / 2}) // 7/6 = (−3 + 2·3 − 2 + 2·3)/(1+2+1+2)
	for missing, want := range [][2]float64{
		{(-3*a + 3*b - 2*a + 3*b) / (2*a + 2*b), (-2*b - 2*a + 3*a + 3*b) / (2*a + 2*b)},
		{(3*b - 2*a + 3*b) / (a + 2*b), (-2*a + 3*a + 3*b) / (2*a + b)},
		{(-2*a + 3*b) / (a + b), 3},
		{3, 3},
	} {
		near("limit", fedAvgLimit(quadraticClients[missing:]), want)
	}
}

// A round of FedAvg is affine in each dimension, so that after t rounds the model is limit + αᵗ (start − limit), where
// α is 1 minus the mean share of the way: the paths are those, end in the limits, and more missing clients lead farther
// away.
func TestQuadraticPaths(t *testing.T) {
	rows := quadraticRows()
	if len(rows) != 4*41 {
		t.Fatalf("%d rows, want four paths of 40 rounds with their starts", len(rows))
	}
	before := 0.0
	for _, r := range rows {
		there := quadraticClients[r.Missing:]
		var want [2]float64
		for d, limit := range [2]float64{r.LimitX, r.LimitY} {
			alpha := 0.0
			for _, k := range there {
				alpha += math.Pow(1-0.05*k.h[d], 5) / float64(len(there))
			}
			want[d] = limit + math.Pow(alpha, float64(r.Round))*([2]float64{-4, 4}[d]-limit)
		}
		if math.Abs(r.X-want[0]) > 1e-12 || math.Abs(r.Y-want[1]) > 1e-12 { // some hundred roundings below 1e-15
			t.Errorf("%d missing, round %d: (%g, %g), want %v", r.Missing, r.Round, r.X, r.Y, want)
		}
		if d := math.Hypot(r.X-7./6, r.Y-0.5); math.Abs(r.Distance-d) > 1e-12 {
			t.Errorf("%d missing, round %d: distance %g, want %g", r.Missing, r.Round, r.Distance, d)
		}
		if r.Round == 40 {
			// α is at most 0.774, and 0.774⁴⁰ · 7 = 2.5e-4.
			if math.Hypot(r.X-r.LimitX, r.Y-r.LimitY) > 2.5e-4 || r.LimitDistance <= before {
				t.Errorf("%+v: want the limit reached, more than %g from the optimum", r, before)
			}
			before = r.LimitDistance
		}
	}
}

// On each level set the mean loss is 1, 2, 4 or 8 above its minimum, and the words have every limit.
func TestQuadraticFigure(t *testing.T) {
	rows := quadraticRows()
	f := quadraticFigure("x", rows)
	if len(f.Panels) != 2 || len(f.Panels[0]) != 2 || len(f.Names()) != 5 {
		t.Fatalf("%d rows of panels, names %v, want two and five", len(f.Panels), f.Names())
	}
	loss := func(clients []quadratic, w [2]float64) (sum float64) {
		for _, k := range clients {
			for d := range w {
				sum += k.h[d] * (w[d] - k.u[d]) * (w[d] - k.u[d]) / 2 / float64(len(clients))
			}
		}
		return sum
	}
	for missing := range 4 {
		chart := f.Panels[missing/2][missing%2].(plot.LineChart)
		for name, clients := range map[int][]quadratic{0: quadraticClients, 2: quadraticClients[missing:]} {
			s, lowest := chart.Series[name], loss(clients, optimumOf(clients))
			for i := range s.X {
				if math.IsNaN(s.X[i]) {
					continue
				}
				want := []float64{1, 2, 4, 8}[i/74]
				if got := loss(clients, [2]float64{s.X[i], s.Y[i]}) - lowest; math.Abs(got-want) > 1e-12*100 {
					t.Errorf("%d missing, %s: %g above the minimum, want %g", missing, s.Name, got, want)
				}
			}
		}
	}
	words := quadraticWords(rows)
	if strings.Count(words, "\n") != 4 ||
		!strings.Contains(words, "3 of 4 missing: FedAvg ends at (3.00, 3.00), 3.10 ") {
		t.Errorf("words %q, want four lines", words) // √((11/6)² + 2.5²) = 3.10
	}
}
