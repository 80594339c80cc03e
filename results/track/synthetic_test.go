package track

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// noise is how a synthetic machine errs. All numbers are fractions; deviations are of logarithms.
type noise struct {
	name    string
	sample  float64 // deviation of every sample
	metric  float64 // of a metric's night: all its samples alike
	night   float64 // of a night: all its metrics alike
	memory  float64 // correlation of a night's deviation with the last one's
	slow    float64 // how much slower the second mode is
	share   float64 // of the passes in the second mode
	passes  int     // of a night, each of which draws its mode
	samples int
	beyond  bool // what the rule was not made for: documented, not guarded
}

// noises are the machines of docs/tracking.md.
var noises = []noise{
	{name: "lognormal 2 %", sample: 0.02, samples: 20, passes: 1},
	{name: "lognormal 2 %, nights differ", sample: 0.02, metric: 0.005, night: 0.005, samples: 20, passes: 1},
	{
		name: "bimodal, each sample", sample: 0.02, metric: 0.005, night: 0.005, slow: 0.08, share: 0.3,
		passes: 20, samples: 20,
	},
	{
		name: "bimodal, each pass", sample: 0.02, metric: 0.005, night: 0.005, slow: 0.08, share: 0.3,
		passes: 10, samples: 20,
	},
	{
		name: "bimodal, whole nights", sample: 0.02, metric: 0.005, night: 0.005, slow: 0.08, share: 0.3, passes: 1,
		samples: 20, beyond: true,
	},
	{name: "2 % from night to night", metric: 0.02, samples: 20, passes: 1, beyond: true},
	{
		name: "nights like the last, 0.7", sample: 0.02, metric: 0.005, night: 0.01, memory: 0.7, samples: 20,
		passes: 1, beyond: true,
	},
}

var testMachine = Machine{
	Suite: "test/1", OS: "linux/amd64", CPU: "Some CPU @ 2 GHz", CPUs: 4, Threads: 2, Engine: "cpu-avx512",
	Device: "Some CPU @ 2 GHz", Clocks: "800-3500 MHz", Precision: "fp32",
}

// synthetic makes a history of so many nights. factor says by what a metric's night is multiplied beside the noise;
// nil: 1.
func synthetic(seed uint64, n noise, nights, metrics int, factor func(night, metric int) float64) *History {
	r := rand.New(rand.NewPCG(seed, 1))
	h := &History{Path: "synthetic", Machine: testMachine}
	all := n.night * r.NormFloat64()
	begin := time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC)
	for i := range nights {
		at := begin.AddDate(0, 0, i)
		night := Night{Run: RunName(at), Time: at, Version: "v1", Go: "go1.26"}
		all = n.memory*all + math.Sqrt(1-n.memory*n.memory)*n.night*r.NormFloat64()
		for m := range metrics {
			base := float64(10 * (m + 1))
			if factor != nil {
				base *= factor(i, m)
			}
			base *= math.Exp(all + n.metric*r.NormFloat64())
			v := Measurement{Metric: fmt.Sprintf("metric/%02d", m), Unit: "ms", Wall: make([]float64, n.samples)}
			mode := 1.0
			for j := range v.Wall {
				if j*n.passes%n.samples < n.passes { // a new pass
					mode = 1
					if r.Float64() < n.share {
						mode += n.slow
					}
				}
				v.Wall[j] = base * mode * math.Exp(n.sample*r.NormFloat64())
			}
			night.Values = append(night.Values, v)
		}
		h.Nights = append(h.Nights, night)
	}
	return h
}
