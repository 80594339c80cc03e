package track

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results/stats"
)

var rateNights = flag.Int("nights", 240,
	"nights of the synthetic histories that detection rates are measured on; docs/alarms.md has 1000")

// Of the synthetic histories.
const (
	rateMetrics = 20
	firstPlant  = 60 // night of the first shift
	plantEvery  = 5  // nights between shifts, each in the next metric: a metric has one every 100 nights
)

// rates is how often a rule is right on one kind of machine.
type rates struct {
	nights, falseNights int // of all nights those with a false alarm, of any metric
	hits                    // of all metrics
	exact, near         int // of those found: first night right; off by two nights at most

	byMetric map[string]*hits
}

// hits are shifts that were planted, found by the third night, and found before 20 nights were over.
type hits struct{ planted, soon, found int }

// add adds the shifts of another metric.
func (h *hits) add(other hits) {
	h.planted, h.soon, h.found = h.planted+other.planted, h.soon+other.soon, h.found+other.found
}

// measure plants shifts of a size in so many metrics, up and then down again, and counts what the rule makes of them.
// history makes the history, in which a metric's night is multiplied by a factor.
func measure(
	t testing.TB, nights, metrics int, size float64, history func(factor func(night, metric int) float64) *History,
) (out rates) {
	t.Helper()
	rule := DefaultRule()
	type plant struct{ night, metric int }
	var plants []plant
	level := make([][]float64, metrics)
	for m := range level {
		level[m] = make([]float64, nights)
		for i := range level[m] {
			level[m][i] = 1
		}
	}
	for j := 0; size > 0 && firstPlant+(j+1)*plantEvery < nights; j++ {
		p := plant{firstPlant + j*plantEvery, j % metrics}
		plants = append(plants, p)
		for i := p.night; i < nights; i++ {
			level[p.metric][i] = 1
			if j/metrics%2 == 0 {
				level[p.metric][i] += size
			}
		}
	}
	h := history(func(night, metric int) float64 { return level[metric][night] })
	_, trends := rule.Examine(h) // in the order of the names, as the metrics are
	out.nights, out.byMetric = nights, map[string]*hits{}
	taken, alarms := map[plant]bool{}, map[int]bool{}
	for m, trend := range trends {
		own := &hits{}
		out.byMetric[trend.Metric] = own
		for _, p := range plants {
			if p.metric == m {
				own.planted++
			}
		}
		for _, s := range trend.Shifts {
			hit := -1
			for i, p := range plants {
				if p.metric == m && s.Found >= p.night && s.Found < p.night+recent && !taken[p] {
					hit = i
				}
			}
			if hit < 0 {
				alarms[s.Found] = true
				continue
			}
			p := plants[hit]
			taken[p] = true
			own.found++
			if s.Found-p.night < 3 {
				own.soon++
			}
			switch off := s.First - p.night; {
			case off == 0:
				out.exact++
				out.near++
			case -2 <= off && off <= 2:
				out.near++
			}
		}
		out.add(*own)
	}
	out.falseNights = len(alarms)
	return out
}

func share(n, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}

// TestRates guards the table of docs/alarms.md, which it prints: -run TestRates -v -nights 1000.
//
// A false alarm is a night on which any of the 20 metrics is reported without cause, shifts reported more than 20
// nights late among them. The limits are those promised, with what chance adds over fewer nights: of 240 nights with a
// true rate of 0.5 %, 5 or more false ones come with probability 0.8 % (binomial), and the seed is fixed.
func TestRates(t *testing.T) {
	if testing.Short() {
		t.Skip("several seconds of arithmetic")
	}
	var table strings.Builder
	for _, n := range noises {
		for _, size := range []float64{0, 0.03, 0.05, 0.10} {
			r := measure(t, *rateNights, rateMetrics, size, func(factor func(night, metric int) float64) *History {
				return synthetic(7, n, *rateNights, rateMetrics, factor)
			})
			fmt.Fprintf(&table, "| %s | %.0f %% | %d | %s | %s | %s | %s | %s |\n",
				n.name, 100*size, r.falseNights, share(r.falseNights, r.nights),
				share(r.soon, r.planted), share(r.found, r.planted), share(r.exact, r.found), share(r.near, r.found))
			if n.beyond {
				continue
			}
			if most := 4 + *rateNights/200; r.falseNights > min(most, max(4, *rateNights/100)) {
				t.Errorf("%s, shifts of %.0f %%: false alarms on %d of %d nights, want 4 or 1 %% at most",
					n.name, 100*size, r.falseNights, r.nights)
			}
			if size >= 0.05 && float64(r.soon) < 0.95*float64(r.planted) {
				t.Errorf("%s, shifts of %.0f %%: %d of %d found within 3 nights, want 95 %%",
					n.name, 100*size, r.soon, r.planted)
			}
			if size >= 0.05 && float64(r.exact) < 0.8*float64(r.found) { // measured: 85 to 90 %
				t.Errorf("%s, shifts of %.0f %%: first night right for %d of %d, want 80 %%",
					n.name, 100*size, r.exact, r.found)
			}
		}
	}
	t.Logf("%d nights, %d metrics\n| machine | shift | false nights | share | within 3 nights | found | first night "+
		"right | ± 2 nights |\n%s", *rateNights, rateMetrics, table.String())
}

var noiseFile = flag.String("noise", "testdata/noise.csv", "recorded nights for TestRecordedNoise")

// recordedNight is a night that was measured while another load went on and off, with its metrics in the order of their
// names. TestRecordNoise of package bench/nightly records such nights.
type recordedNight struct {
	load   string // quiet, switching, or what was on all the time
	values []Measurement
}

func readNoise(t *testing.T, path string) (nights []recordedNight) {
	t.Helper()
	type recorded struct {
		Night     string  `csv:"night"`
		Load      string  `csv:"load"`
		Metric    string  `csv:"metric"`
		Unit      string  `csv:"unit"`
		Wall      samples `csv:"wall"`
		Processor samples `csv:"processor"`
		Reference samples `csv:"reference"`
	}
	last := ""
	for _, r := range must.Get(files.ReadCSVFile[recorded](path, files.MostTable))(t) {
		if r.Night != last {
			last, nights = r.Night, append(nights, recordedNight{load: r.Load})
		}
		n := &nights[len(nights)-1]
		n.values = append(n.values, Measurement{r.Metric, r.Unit, r.Wall, r.Processor, r.Reference})
	}
	for _, n := range nights {
		slices.SortFunc(n.values, func(a, b Measurement) int { return strings.Compare(a.Metric, b.Metric) })
	}
	return nights
}

const passSamples = 2

// redrawn makes a history of so many nights out of recorded ones. Each night is a recorded night of which the passes
// are drawn with replacement, the same for all metrics, so that metrics vary together as they did. stay is the chance
// that a night is of the same half of the recorded nights as the one before, the half with more other load or the half
// with less: with 1/2 nights are independent, with 0.9 a load lasts for ten nights. With wall the nights have no
// processor times, as on a system that does not tell them.
func redrawn(
	seed uint64, recorded []recordedNight, nights int, stay float64, wall bool, factor func(night, metric int) float64,
) *History {
	r := rand.New(rand.NewPCG(seed, 2))
	recorded = slices.SortedFunc(slices.Values(recorded), func(a, b recordedNight) int {
		return int(1e6 * (waiting(a) - waiting(b)))
	})
	h := &History{Path: "recorded", Machine: testMachine}
	begin := time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC)
	busy := 0
	for i := range nights {
		at := begin.AddDate(0, 0, i)
		night := Night{Run: RunName(at), Time: at, Version: "v1", Go: "go1.26"}
		if r.Float64() >= stay {
			busy = 1 - busy
		}
		half := len(recorded) / 2
		from := recorded[busy*half+r.IntN(half)]
		passes := len(from.values[0].Wall) / passSamples
		var drawn []int
		for range passes {
			drawn = append(drawn, r.IntN(passes))
		}
		for m, v := range from.values {
			out := Measurement{Metric: v.Metric, Unit: v.Unit}
			for _, p := range drawn {
				for j := p * passSamples; j < (p+1)*passSamples; j++ {
					out.Wall = append(out.Wall, v.Wall[j]*factor(i, m))
					if !wall {
						out.Processor = append(out.Processor, v.Processor[j]*factor(i, m))
						out.Reference = append(out.Reference, v.Reference[j])
					}
				}
			}
			night.Values = append(night.Values, out)
		}
		h.Nights = append(h.Nights, night)
	}
	return h
}

// waiting returns how much longer than its processor time a kernel on one thread took in a night, as a mean over the
// kernels: how long other programs had the processor.
func waiting(n recordedNight) float64 {
	var x []float64
	for _, v := range n.values {
		if strings.HasPrefix(v.Metric, "kernel/") {
			x = append(x, stats.Mean(v.Wall).Value/stats.Mean(v.Processor).Value)
		}
	}
	return stats.Mean(x).Value
}

// steady are the metrics that hardly need what other programs take away besides processors: the shared caches and the
// memory bus. A shift of one of them alone is mostly found in three nights.
var steady = []string{
	"kernel/conv2_forward", "kernel/conv2_backward", "kernel/gather", "kernel/dropout", "kernel/softmax",
	"kernel/update", "server/norm",
}

// TestRecordedNoise measures the rates on nights that were recorded on a busy machine, and guards what
// docs/alarms.md promises. It prints the tables: -run TestRecordedNoise -v -nights 1000.
func TestRecordedNoise(t *testing.T) {
	if testing.Short() {
		t.Skip("several seconds of arithmetic")
	}
	recorded := readNoise(t, *noiseFile)
	for _, n := range recorded {
		t.Logf("recorded: %s, wall time %.2f of processor time", n.load, waiting(n))
	}
	for _, wall := range []bool{false, true} {
		for _, stay := range []float64{0.5, 0.9} {
			if guarded := !wall && stay == 0.5; guarded || *rateNights >= 1000 { // the others are for the table alone
				noiseRates(t, recorded, stay, wall, guarded)
			}
		}
	}
}

// noiseRates measures and prints the rates for one kind of history; see redrawn. If guarded, they must be as promised.
func noiseRates(t *testing.T, recorded []recordedNight, stay float64, wall, guarded bool) {
	t.Helper()
	var table strings.Builder
	for _, size := range []float64{0, 0.05, 0.1} {
		history := func(seed uint64) func(factor func(night, metric int) float64) *History {
			return func(factor func(night, metric int) float64) *History {
				return redrawn(seed, recorded, *rateNights, stay, wall, factor)
			}
		}
		r := measure(t, *rateNights, len(recorded[0].values), size, history(11))
		var calm hits
		fmt.Fprintf(&table, "shifts of %.0f %%: %d false nights, %s; found within 3 nights %s, within 20 %s\n",
			100*size, r.falseNights, share(r.falseNights, r.nights),
			share(r.soon, r.planted), share(r.found, r.planted))
		if most := 4 + *rateNights/200; guarded && r.falseNights > min(most, max(4, *rateNights/100)) {
			t.Errorf("shifts of %.0f %%: false alarms on %d of %d nights, want 4 or 1 %% at most",
				100*size, r.falseNights, r.nights)
		}
		if size == 0 {
			continue
		}
		for _, v := range recorded[0].values {
			own := r.byMetric[v.Metric]
			fmt.Fprintf(&table, "  %s: %s, %s\n", v.Metric, share(own.soon, own.planted), share(own.found, own.planted))
			if slices.Contains(steady, v.Metric) {
				calm.add(*own)
			}
		}
		all, soon, metrics := wholeNights(size, 5, history)
		fmt.Fprintf(&table, "  the steady ones: %s; all metrics at once: %s, with %.1f metrics\n",
			share(calm.soon, calm.planted), share(soon, all), metrics)
		if guarded && float64(soon) < 0.95*float64(all) {
			t.Errorf("all metrics %.0f %% slower: %d of %d found within 3 nights, want 95 %%", 100*size, soon, all)
		}
		if guarded && float64(calm.soon) < 0.8*float64(calm.planted) { // measured: 90 %
			t.Errorf("a steady metric %.0f %% slower: %d of %d found within 3 nights, want 80 %%",
				100*size, calm.soon, calm.planted)
		}
	}
	t.Logf("wall times %v, the load stays with probability %.1f, %d nights\n%s",
		wall, stay, *rateNights, table.String())
}

// wholeNights shifts all metrics at once, every 50 nights up and then down, in histories of so many seeds. It returns
// the number of shifts, how many were found within three nights by any metric, and by how many metrics on average.
func wholeNights(
	size float64, seeds int, history func(seed uint64) func(factor func(night, metric int) float64) *History,
) (planted, soon int, metrics float64) {
	const every = 50
	for seed := range seeds {
		h := history(uint64(100 + seed))(func(night, _ int) float64 {
			if night >= firstPlant && (night-firstPlant)/every%2 == 0 {
				return 1 + size
			}
			return 1
		})
		found := map[int]int{} // metrics by the first night of the shift
		_, trends := DefaultRule().Examine(h)
		for _, trend := range trends {
			for _, s := range trend.Shifts {
				if after := s.Found - firstPlant; after >= 0 && after%every < 3 {
					found[after/every]++
				}
			}
		}
		for p := firstPlant; p+3 <= len(h.Nights); p += every {
			planted++
			if n := found[(p-firstPlant)/every]; n > 0 {
				soon++
				metrics += float64(n)
			}
		}
	}
	return planted, soon, metrics / float64(max(1, soon))
}

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

// noises are the machines of docs/alarms.md.
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
