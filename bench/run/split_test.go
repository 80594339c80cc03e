package run

import (
	"slices"
	"testing"

	"rollcall/bench/settings/settingstest"
	"rollcall/internal/must"
)

// Opening a run and starting it share one split of the data, and another run has its own. The availability begins
// anew, also where it is drawn from one generator with the split.
func TestSplitOnce(t *testing.T) {
	for _, draws := range []string{"philox", "numpy"} {
		t.Run(draws, func(t *testing.T) {
			ses := onCPU(t, "off")
			s := settingstest.Tiny(t, "data=synthetic", "net=lenet5", "train-size=80", "test-size=20", "draws="+draws,
				"availability=sine", "rounds=5")
			must.OK(t, ses.OpenData(t.Context(), &s, 3))
			opened := must.Get(ses.populate(&s, 3))(t)
			for round := range 5 { // as the dry run does
				opened.Availability.Active(round)
			}
			again := must.Get(ses.populate(&s, 3))(t)
			fresh := must.Get(Populate(ses.Data, &s, 3))(t)
			if &again.train[0] != &opened.train[0] {
				t.Error("the same run: the data are split again, want the split that is there")
			}
			for round := range 5 {
				got, want := again.Availability.Active(round), fresh.Availability.Active(round)
				if !slices.Equal(got, want) {
					t.Errorf("round %d: %v are active, want %v", round, got, want)
				}
			}
			if other := must.Get(ses.populate(&s, 4))(t); &other.train[0] == &opened.train[0] {
				t.Error("another seed: the same split, want its own")
			}
		})
	}
}
