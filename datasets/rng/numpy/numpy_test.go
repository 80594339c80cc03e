package numpy

import (
	"math"
	"testing"
)

// Expected values are NumPy 1.24.2's, after numpy.random.seed; its legacy generator and distributions are frozen.
func TestNumPyRandom(t *testing.T) {
	for seed, want := range map[uint32][]float64{
		3:          {0.5507979025745755, 0.7081478226181048, 0.2909047389129443},
		4294967295: {0.0976320289940138, 0.9123828453026218, 0.78903530185164},
	} {
		r := New(seed)
		for i, w := range want {
			if got := r.Float64(); got != w {
				t.Errorf("seed %d, number %d: %v, want %v", seed, i, got, w)
			}
		}
	}
}

// The state afterwards shows that as many numbers were used. Tolerance: the last bits of another library's log and pow.
func TestNumPyDirichlet(t *testing.T) {
	for _, c := range []struct {
		seed  uint32
		alpha float64
		draws int
		want  []float64 // of the last draw
		next  float64   // the next uniform number
	}{
		{3, 0.1, 2, []float64{
			1.7704773389352226e-06, 0.0001449366866871481, 0.0012115540072107716,
			3.841901373349619e-06, 4.075407628745582e-05, 0.8011951171756012, 0.1898681078569723, 3.14068995693431e-05,
			0.007482371983134745, 2.0138935824733975e-05,
		}, 0.4065199163762486},
		{
			5, 1, 2,
			[]float64{0.17642180632607257, 0.24903375337454553, 0.3822121397853614, 0.19233230051402056},
			math.NaN(),
		},
		{5, 2.5, 3, []float64{0.25960690060068575, 0.5789558338186127, 0.16143726558070146}, 0.579837810189545},
	} {
		r := New(c.seed)
		p := make([]float64, len(c.want))
		for range c.draws {
			r.Dirichlet(c.alpha, p)
		}
		for i, w := range c.want {
			if math.Abs(p[i]-w) > 1e-13*w {
				t.Errorf("alpha %g, component %d: %v, want %v within 1e-13 of it", c.alpha, i, p[i], w)
			}
		}
		if got := r.Float64(); !math.IsNaN(c.next) && got != c.next {
			t.Errorf("alpha %g: next number %v, want %v", c.alpha, got, c.next)
		}
	}
}

func TestNumPyBernoulli(t *testing.T) {
	const want = "01101011001010100000111010101011001010110010111001101011011010110000100100101011" +
		"00101010011011110110100101101011011010110110101010101010001010110010101000101101" +
		"01001110001010110010100100101111001010100010101000001010011010110010111100101011" +
		"00101010001010100110101000101011011011100110100000101001001010100010101001101010"
	r := New(7)
	p := []float64{0.1, 0.5, 0.9, 0, 1, 0.3, 0.7, 0.50001}
	got := ""
	for i := range want {
		if r.Bernoulli(p[i%len(p)]) {
			got += "1"
		} else {
			got += "0"
		}
	}
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if next := r.Float64(); next != 0.23783677370292255 {
		t.Errorf("next number %v, want 0.23783677370292255", next)
	}
}
