package track

import (
	"encoding/csv"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rollcall/results/stats"
)

var noiseFile = flag.String("noise", "testdata/noise.csv", "recorded nights for TestRecordedNoise")

// recordedNight is a night that was measured while another load went on and off, with its metrics in the order of their
// names. TestRecordNoise of package bench/nightly records such nights.
type recordedNight struct {
	load   string // quiet, switching, or what was on all the time
	values []Measurement
}

// readNoise returns the recorded nights.
func readNoise(t *testing.T, path string) (nights []recordedNight) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	last := ""
	for _, row := range rows[1:] {
		if row[0] != last {
			last, nights = row[0], append(nights, recordedNight{load: row[1]})
		}
		n := &nights[len(nights)-1]
		n.values = append(n.values, Measurement{
			Metric: row[2], Unit: row[3], Wall: numbers(t, row[4]), Processor: numbers(t, row[5]),
			Reference: numbers(t, row[6]),
		})
	}
	for _, n := range nights {
		slices.SortFunc(n.values, func(a, b Measurement) int { return strings.Compare(a.Metric, b.Metric) })
	}
	return nights
}

func numbers(t *testing.T, cell string) (x []float64) {
	t.Helper()
	for word := range strings.FieldsSeq(cell) {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil {
			t.Fatal(err)
		}
		x = append(x, v)
	}
	return x
}

// passSamples is the number of a metric's samples in a pass.
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

// cacheBound are the metrics whose time depends on what others leave of the shared caches and of the memory bus, which
// the reference loop does not use. docs/tracking.md promises nothing for them.
var cacheBound = []string{
	"server/combine", "kernel/fc1_forward", "kernel/fc1_backward", "kernel/conv1_forward", "eval/cifar10",
}

// TestRecordedNoise measures the rates on nights that were recorded on a busy machine, and guards what
// docs/tracking.md promises. It prints the tables: -run TestRecordedNoise -v -nights 1000.
func TestRecordedNoise(t *testing.T) {
	if testing.Short() {
		t.Skip("several seconds of arithmetic")
	}
	recorded := readNoise(t, *noiseFile)
	for _, n := range recorded {
		t.Logf("recorded: %s, wall time %.2f of processor time", n.load, waiting(n))
	}
	metrics := recorded[0].values
	var table, byMetric strings.Builder
	for _, wall := range []bool{false, true} {
		if wall && *rateNights < 1000 { // for the table alone
			continue
		}
		for _, stay := range []float64{0.5, 0.9} {
			for _, size := range []float64{0, 0.05, 0.1} {
				r := measure(t, *rateNights, len(metrics), size, func(factor func(night, metric int) float64) *History {
					return redrawn(11, recorded, *rateNights, stay, wall, factor)
				})
				var steady hits
				fmt.Fprintf(&byMetric, "wall %v, load stays %.1f, %.0f %%:", wall, stay, 100*size)
				for _, v := range metrics {
					own := r.byMetric[v.Metric]
					fmt.Fprintf(&byMetric, " %s %s %s %d;", v.Metric, share(own.soon, own.planted),
						share(own.found, own.planted), own.alarms)
					if !slices.Contains(cacheBound, v.Metric) {
						steady.planted += own.planted
						steady.soon += own.soon
						steady.found += own.found
					}
				}
				byMetric.WriteString("\n")
				fmt.Fprintf(&table, "| %v | %.1f | %.0f %% | %d | %s | %s | %s | %s | %s |\n", wall, stay, 100*size,
					r.falseNights, share(r.falseNights, r.nights), share(steady.soon, steady.planted),
					share(steady.found, steady.planted), share(r.soon, r.planted), share(r.found, r.planted))
				if wall || stay != 0.5 {
					continue
				}
				if most := 4 + *rateNights/200; r.falseNights > min(most, max(4, *rateNights/100)) {
					t.Errorf("shifts of %.0f %%: false alarms on %d of %d nights, want 4 or 1 %% at most",
						100*size, r.falseNights, r.nights)
				}
				if float64(steady.soon) < 0.95*float64(steady.planted) {
					t.Errorf("shifts of %.0f %%: %d of %d found within 3 nights, want 95 %%",
						100*size, steady.soon, steady.planted)
				}
			}
		}
	}
	t.Logf("%d nights, %d metrics\n| wall | stay | shift | false nights | share | steady within 3 | found | "+
		"all within 3 | found |\n%s%s", *rateNights, len(metrics), table.String(), byMetric.String())
}
