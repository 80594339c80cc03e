package datasets

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"runtime"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/internal/must"
)

func openSmall(t *testing.T, o Options) *Set {
	t.Helper()
	set := must.Get(Open(t.Context(), "synthetic", o))(t)
	return set
}

// The set is part of what results mean: a change of one byte is another set, and must be meant.
func TestSyntheticBytes(t *testing.T) {
	set := openSmall(t, Options{Seed: 3, TrainSize: 2000, TestSize: 500})
	// made by this generator
	if want := "26f52bace858d1e9b643246d4cfe6d94da4527b64e4c1908e5de868c464e63d1"; set.Checksum != want {
		t.Errorf("checksum %s, want %s", set.Checksum, want)
	}
}

// Nothing but the seed, the part and the number of a picture decides what it is.
func TestSyntheticDraws(t *testing.T) {
	base := openSmall(t, Options{Seed: 3, TrainSize: 2000, TestSize: 500})

	before := runtime.GOMAXPROCS(1)
	single := openSmall(t, Options{Seed: 3, TrainSize: 2000, TestSize: 500})
	runtime.GOMAXPROCS(before)
	if single.Checksum != base.Checksum {
		t.Errorf("on one core: checksum %s, on %d: %s", single.Checksum, before, base.Checksum)
	}

	larger := openSmall(t, Options{Seed: 3, TrainSize: 2511, TestSize: 507})
	if !bytes.HasPrefix(larger.Train.Images, base.Train.Images) ||
		!bytes.HasPrefix(larger.Train.Labels, base.Train.Labels) ||
		!bytes.HasPrefix(larger.Test.Images, base.Test.Images) ||
		!bytes.HasPrefix(larger.Test.Labels, base.Test.Labels) {
		t.Error("a larger set does not start with the smaller one")
	}
	if other := openSmall(t, Options{Seed: 4, TrainSize: 2000, TestSize: 500}); other.Checksum == base.Checksum {
		t.Error("another seed, the same set")
	}

	seen := map[string]string{}
	for _, s := range []*plan.Samples{base.Train, base.Test} {
		for i := range s.Len() {
			name := fmt.Sprintf("%s %d", s.Name, i)
			picture := string(s.Images[i*photoPixels : (i+1)*photoPixels])
			if twin, ok := seen[picture]; ok {
				t.Errorf("%s and %s are the same picture", twin, name)
			}
			seen[picture] = name
		}
	}
}

func TestSyntheticBalance(t *testing.T) {
	for _, n := range []int{1, 9, 10, 501, 1234} {
		set := openSmall(t, Options{TrainSize: n, TestSize: n})
		for _, s := range []*plan.Samples{set.Train, set.Test} {
			if s.Len() != n || len(s.Images) != n*photoPixels {
				t.Errorf("%s: %d labels and %d bytes, want %d and %d", s.Name, s.Len(), len(s.Images), n, n*photoPixels)
			}
			var count [imageClasses]int
			for _, l := range s.Labels {
				count[l]++
			}
			for class, k := range count {
				if k < n/imageClasses || k > (n+imageClasses-1)/imageClasses {
					t.Errorf("%s: %d of %d pictures of class %d, want a tenth", s.Name, k, n, class)
				}
			}
		}
	}
}

// Both parts are normalised by the training set's own moments. Tolerance: float32 against float64.
func TestSyntheticMoments(t *testing.T) {
	set := openSmall(t, Options{Seed: 8, TrainSize: 300, TestSize: 30})
	for c := range 3 {
		var sum, squares, n float64
		for i := c; i < len(set.Train.Images); i += 3 {
			x := float64(set.Train.Images[i]) / 255
			sum, squares, n = sum+x, squares+x*x, n+1
		}
		mean := sum / n
		std := math.Sqrt(squares/n - mean*mean)
		for _, s := range []*plan.Samples{set.Train, set.Test} {
			if math.Abs(float64(s.Mean[c])-mean) > 1e-6 || math.Abs(float64(s.Std[c])-std) > 1e-6 {
				t.Errorf("%s channel %d: mean %g std %g, want %g and %g ± 1e-6",
					s.Name, c, s.Mean[c], s.Std[c], mean, std)
			}
		}
	}
	if _, std := moments(make([]uint8, 30), 3); !(std[0] > 0) {
		t.Errorf("deviation of a black picture: %g, want positive", std[0])
	}
}

func TestSyntheticErrors(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{TrainSize: -1}, "datasets: synthetic: train of -1 pictures, want 1 … 1000000"},
		{
			Options{TrainSize: 10, TestSize: 1_000_001},
			"datasets: synthetic: test of 1000001 pictures, want 1 … 1000000",
		},
	} {
		_, err := Open(t.Context(), "synthetic", c.o)
		wantError(t, err, nil, c.want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Open(ctx, "synthetic", Options{})
	wantError(t, err, context.Canceled, "datasets: synthetic: ")
}

// Pixels by themselves say nothing: the nearest class mean is right about as often as a guess.
// Tolerance: chance is 10 %, and 2,000 pictures are within 0.034 of it (five standard errors); the rest is for what
// the means of 10,000 pictures may really find.
func TestSyntheticNotLinear(t *testing.T) {
	set := openSmall(t, Options{Seed: 5, TrainSize: 10_000, TestSize: 2000})
	var means [imageClasses][photoPixels]float64
	for i, l := range set.Train.Labels {
		for p, v := range set.Train.Images[i*photoPixels : (i+1)*photoPixels] {
			means[l][p] += float64(v) / 1000
		}
	}
	right := 0
	for i, l := range set.Test.Labels {
		best, nearest := math.Inf(1), 0
		for class := range means {
			distance := 0.0
			for p, v := range set.Test.Images[i*photoPixels : (i+1)*photoPixels] {
				d := float64(v) - means[class][p]
				distance += d * d
			}
			if distance < best {
				best, nearest = distance, class
			}
		}
		if nearest == int(l) {
			right++
		}
	}
	if acc := float64(right) / float64(set.Test.Len()); acc > 0.15 {
		t.Errorf("nearest class mean: accuracy %.3f, want at most 0.15", acc)
	}
}

// What is to be learnt is there: the mean direction of the grey slopes, which two convolutions can compute, tells the
// direction of the stripes far more often than one guess in five, and not always.
func TestSyntheticDirections(t *testing.T) {
	set := openSmall(t, Options{Seed: 5, TrainSize: 10, TestSize: 2000})
	right := 0
	for i, l := range set.Test.Labels {
		picture := set.Test.Images[i*photoPixels : (i+1)*photoPixels]
		grey := func(y, x int) float64 { // smoothed over 2×2, which halves the noise
			sum := 0.0
			for _, at := range [4]int{(y*32 + x) * 3, (y*32 + x + 1) * 3, (y*32 + 32 + x) * 3, (y*32 + x + 33) * 3} {
				sum += float64(picture[at]) + float64(picture[at+1]) + float64(picture[at+2])
			}
			return sum
		}
		var cos, sin float64 // of twice the slope's direction
		for y := 1; y < 30; y++ {
			for x := 1; x < 30; x++ {
				dx, dy := grey(y, x+1)-grey(y, x-1), grey(y+1, x)-grey(y-1, x)
				cos += dx*dx - dy*dy
				sin += 2 * dx * dy
			}
		}
		turn := math.Atan2(sin, cos) / (2 * math.Pi) // −½ … ½ of a half-turn
		direction := (int(math.Round(turn*synthDirs)) + synthDirs) % synthDirs
		if direction == int(l)%synthDirs {
			right++
		}
	}
	if acc := float64(right) / float64(set.Test.Len()); acc < 0.5 || acc > 0.95 {
		t.Errorf("direction of the slopes: right in %.3f, want 0.5 … 0.95 (a guess: 0.2)", acc)
	} else {
		t.Logf("direction of the slopes: right in %.3f", acc)
	}
}

func BenchmarkSynthetic(b *testing.B) {
	for b.Loop() {
		must.Get(generateSynthetic(b.Context(), Options{Seed: 1, TrainSize: 5000, TestSize: 1000}))(b)
	}
}
