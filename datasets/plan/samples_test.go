package plan

import (
	"fmt"
	"math"
	"testing"
)

func TestSamplesValidate(t *testing.T) {
	valid := func() Samples {
		return Samples{
			Name: "toy/train", H: 2, W: 3, C: 1, Images: make([]uint8, 12), Labels: []uint8{0, 1}, Classes: 2,
			Mean: []float32{0.5}, Std: []float32{0.25},
		}
	}
	features := func(s *Samples) {
		s.Images, s.Mean, s.Std, s.Features = nil, nil, nil, make([]float32, 12)
	}
	for _, c := range []struct {
		name   string
		change func(*Samples)
		want   string
	}{
		{"valid", func(*Samples) {}, "<nil>"},
		{"no height", func(s *Samples) { s.H = 0 }, "plan: toy/train: image 0×3×1, want every dimension positive"},
		{
			"short", func(s *Samples) { s.Images = s.Images[:11] },
			"plan: toy/train: 11 image bytes, want 12 (2 labels × 6)",
		},
		{"means", func(s *Samples) { s.Mean = nil }, "plan: toy/train: 0 means and 1 deviations, want 1 of each"},
		{"label", func(s *Samples) { s.Labels[1] = 2 }, "plan: toy/train: sample 1: label 2, want 0 … 1"},
		{
			"deviation", func(s *Samples) { s.Std[0] = 0 },
			"plan: toy/train: channel 0: standard deviation 0, want positive",
		},
		{"neither", func(s *Samples) { s.Images = nil }, "plan: toy/train: 0 image bytes, want 12 (2 labels × 6)"},
		{
			"both", func(s *Samples) { s.Features = make([]float32, 12) },
			"plan: toy/train: 12 image bytes and 12 features, want one of the two",
		},
		{"features", features, "<nil>"},
		{
			"short features", func(s *Samples) { features(s); s.Features = s.Features[:11] },
			"plan: toy/train: 11 features, want 12 (2 labels × 6)",
		},
		{
			"normalised features", func(s *Samples) { features(s); s.Mean, s.Std = []float32{0}, []float32{1} },
			"plan: toy/train: 1 means and 1 deviations, want 0 of each",
		},
		{
			"not a number", func(s *Samples) { features(s); s.Features[7] = float32(math.NaN()) },
			"plan: toy/train: sample 1: feature 1 is NaN, want a finite number",
		},
		{
			"infinite", func(s *Samples) { features(s); s.Features[5] = float32(math.Inf(-1)) },
			"plan: toy/train: sample 0: feature 5 is -Inf, want a finite number",
		},
		{
			"label of features", func(s *Samples) { features(s); s.Labels[1] = 2 },
			"plan: toy/train: sample 1: label 2, want 0 … 1",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := valid()
			c.change(&s)
			if got := fmt.Sprint(s.Validate()); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
