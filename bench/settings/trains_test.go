package settings

import (
	"testing"

	"rollcall/algos"
	"rollcall/datasets"
	"rollcall/results/papers"
)

// What the papers say of how a method trains is what it has by default, for every method, preset and data set.
func TestDefaultsAreThePapers(t *testing.T) {
	for _, method := range algos.Names() {
		for _, preset := range algos.Presets() {
			for _, about := range datasets.All() {
				want, err := Defaults(method, preset, about.Name)
				if err != nil {
					t.Fatal(err)
				}
				// FedAWE has the settings that no paper but its own changes; what is in doubt is spoilt first.
				got, err := Defaults("fedawe", preset, about.Name)
				if err != nil {
					t.Fatal(err)
				}
				got.Method, got.LR, got.ServerLR, got.Augment, got.Clip = method, -1, -1, "spoilt", Some(-1)
				for name, value := range papers.TrainsAs(method, preset, about.Name, about.Net).All() {
					if err := got.Set(name, value); err != nil {
						t.Fatalf("%s %s %s: %s=%s: %v", method, preset, about.Name, name, value, err)
					}
				}
				if !about.Augmented {
					got.Augment = "none"
				}
				wants := want.Values()
				for name, value := range got.Values() {
					if value != wants[name] {
						t.Errorf("%s, %s, %s: --%s %s as the paper trains, %s by default", method, preset, about.Name, name, value, wants[name])
					}
				}
			}
		}
	}
}
