package datasets

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"runtime"
	"testing"

	"rollcall/datasets/plan"
)

// Nothing but the seed, the part and the number of a picture decides what it is, on every machine.
func TestSyntheticDraws(t *testing.T) {
	base := generated(t, "synthetic", Options{Seed: 3, TrainSize: 2000, TestSize: 500})
	// made by this generator
	if want := "26f52bace858d1e9b643246d4cfe6d94da4527b64e4c1908e5de868c464e63d1"; base.Checksum != want {
		t.Errorf("checksum %s, want %s", base.Checksum, want)
	}

	before := runtime.GOMAXPROCS(1)
	single := generated(t, "synthetic", Options{Seed: 3, TrainSize: 2000, TestSize: 500})
	runtime.GOMAXPROCS(before)
	if single.Checksum != base.Checksum {
		t.Errorf("on one core: checksum %s, on %d: %s", single.Checksum, before, base.Checksum)
	}

	larger := generated(t, "synthetic", Options{Seed: 3, TrainSize: 2511, TestSize: 507})
	if !bytes.HasPrefix(larger.Train.Images, base.Train.Images) ||
		!bytes.HasPrefix(larger.Train.Labels, base.Train.Labels) ||
		!bytes.HasPrefix(larger.Test.Images, base.Test.Images) ||
		!bytes.HasPrefix(larger.Test.Labels, base.Test.Labels) {
		t.Error("a larger set does not start with the smaller one")
	}
	other := generated(t, "synthetic", Options{Seed: 4, TrainSize: 2000, TestSize: 500})
	if other.Checksum == base.Checksum {
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
		set := generated(t, "synthetic", Options{TrainSize: n, TestSize: n})
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
	set := generated(t, "synthetic", Options{Seed: 8, TrainSize: 300, TestSize: 30})
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
	_, err := Open(cancelled(t), "synthetic", Options{})
	wantError(t, err, context.Canceled, "datasets: synthetic: ")
}
