package settings

import (
	"fmt"

	"rollcall/algos"
	"rollcall/datasets"
	"rollcall/results/papers"
)

// Defaults returns the settings of a run without any flag: the default of every row, then the learning rates of the
// method's definition, and then the settings of its paper for the preset and the data set. A rate that is in neither
// is 0, which [Settings.Validate] refuses.
func Defaults(method, preset, data string) (s Settings, err error) {
	if err := OneOf("method", method, algos.Names()); err != nil {
		return s, err
	}
	if err := OneOf("preset", preset, algos.Presets()); err != nil {
		return s, err
	}
	if err := OneOf("data", data, datasets.Names()); err != nil {
		return s, err
	}
	about, err := datasets.About(data)
	if err != nil {
		return s, err
	}
	for _, r := range rows() {
		if r.Field != nil { // a parameter of a method that is not set has its default anyway
			if err := r.set(&s, r.Default); err != nil {
				return s, fmt.Errorf("settings: --%s: default %q: %w", r.Name, r.Default, err)
			}
		}
	}
	// The order matters: what the paper says comes over the rows' defaults, which are the same for all methods. Data
	// that are never augmented stay so, whatever the paper says.
	s.Method, s.Preset, s.Data, s.Net = method, preset, data, about.Net
	of := algos.Of(method)
	s.LR, s.ServerLR = of.LR, of.ServerLR
	for name, value := range papers.TrainsAs(method, preset, data, about.Net).All() {
		if err := s.Set(name, value); err != nil {
			return s, err
		}
	}
	if !about.Augmented {
		s.Augment = "none"
	}
	return s, nil
}
