package plan

import (
	"fmt"
	"math"
)

// Samples is one part of a data set, train or test, in the form in which engines store it. A set has either images, as
// bytes, or features, as real numbers. Engines crop, flip and normalise images when they read them, and read features
// unchanged.
type Samples struct {
	Name     string    // "cifar10/train"
	H, W, C  int       // height, width and channels of an image; 1, 1 and the number of features for other samples
	Images   []uint8   // [n,H,W,C]
	Features []float32 // [n,H,W,C], finite
	Labels   []uint8   // [n], 0 … Classes−1
	Classes  int
	Mean     []float32 // [C] mean of the training set, of values scaled to [0, 1]; nil with features
	Std      []float32 // [C] standard deviation, likewise, positive; nil with features
}

// Len returns the number of samples.
func (s *Samples) Len() int { return len(s.Labels) }

// Validate returns an error if shapes disagree, or if a label or a value is out of range.
func (s *Samples) Validate() error {
	pixels, what, have, normals := s.H*s.W*s.C, "image bytes", len(s.Images), s.C
	if s.Features != nil {
		what, have, normals = "features", len(s.Features), 0
	}
	switch {
	case s.H < 1 || s.W < 1 || s.C < 1:
		return fmt.Errorf("plan: %s: image %d×%d×%d, want every dimension positive", s.Name, s.H, s.W, s.C)
	case s.Images != nil && s.Features != nil:
		return fmt.Errorf("plan: %s: %d image bytes and %d features, want one of the two",
			s.Name, len(s.Images), len(s.Features))
	case have != len(s.Labels)*pixels:
		return fmt.Errorf("plan: %s: %d %s, want %d (%d labels × %d)",
			s.Name, have, what, len(s.Labels)*pixels, len(s.Labels), pixels)
	case len(s.Mean) != normals || len(s.Std) != normals:
		return fmt.Errorf("plan: %s: %d means and %d deviations, want %d of each",
			s.Name, len(s.Mean), len(s.Std), normals)
	}
	for i, l := range s.Labels {
		if int(l) >= s.Classes {
			return fmt.Errorf("plan: %s: sample %d: label %d, want 0 … %d", s.Name, i, l, s.Classes-1)
		}
	}
	for c, d := range s.Std {
		if !(d > 0) {
			return fmt.Errorf("plan: %s: channel %d: standard deviation %g, want positive", s.Name, c, d)
		}
	}
	for i, v := range s.Features {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("plan: %s: sample %d: feature %d is %g, want a finite number",
				s.Name, i/pixels, i%pixels, v)
		}
	}
	return nil
}
