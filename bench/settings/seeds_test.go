package settings

import (
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/algos"
	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/power"
)

// seeded returns the settings of a command line with these pairs of name and value.
func seeded(pairs ...string) (Settings, error) {
	given := Given{{Name: "data", Value: "leaf"}}
	for i := 0; i < len(pairs); i += 2 {
		given = slices.DeleteFunc(given, func(s algos.Setting) bool { return s.Name == pairs[i] })
		given = append(given, algos.Setting{Name: pairs[i], Value: pairs[i+1]})
	}
	return Resolve(given)
}

// A seed that is not given is not in the name of the run; one that is given is, and in run.json and the params.
func TestOwnSeedNamesRun(t *testing.T) {
	plain := must.Get(seeded())(t)
	for _, name := range SeedNames() {
		if own := plain.Named()[name]; own != nil {
			t.Errorf("--%s is not given: in run.json %v, want none there", name, own)
		}
		for _, value := range []string{"0", "7", "1000000", "4294967295"} { // not 1e+06, nor 4.294967295e+09
			s, err := seeded(name, value)
			if err != nil {
				t.Errorf("--%s %s: %v", name, value, err)
				continue
			}
			used := s.Named()
			if used[name] != value || s.Params().Get(name) != value || results.Hash(s) == results.Hash(plain) {
				t.Errorf("--%s %s: in run.json %v, params %q, another name %t, want %s in all", name, value, used[name],
					s.Params(), results.Hash(s) != results.Hash(plain), value)
			}
		}
	}
	if !slices.Equal(SeedNames(), power.Seeds) {
		t.Errorf("package power knows %v, want %v", power.Seeds, SeedNames())
	}
}

// Each seed is that of its own draws, and what is not given is the run's.
func TestSeeds(t *testing.T) {
	const most = math.MaxUint32
	s, err := seeded("seed-split", "11", "seed-init", "0", "seed-batches", "15")
	if got, want := s.Seeds(3), (Seeds{11, 3, 3, 0, 15}); err != nil || got != want {
		t.Errorf("seeds %+v, %v, want %+v", got, err, want)
	}
	s, err = seeded("seed-phi", "12", "seed-availability", "13")
	if got, want := s.Seeds(most), (Seeds{most, 12, 13, most, most}); err != nil || got != want {
		t.Errorf("seeds %+v, %v, want %+v", got, err, want)
	}
}

// What is not drawn has no seed: neither φ of an availability model with its own p_i nor initial weights of a file.
func TestUngivenSeeds(t *testing.T) {
	for _, c := range []struct {
		change func(*Settings)
		want   string
	}{
		{func(*Settings) {}, "split phi availability init batches"},
		{func(s *Settings) { s.SeedSplit, s.SeedInit = files.Some(0), files.Some(4) }, "phi availability batches"},
		{func(s *Settings) { s.P = files.Some(0.5) }, "split availability init batches"},
		{func(s *Settings) { s.Availability = "markov" }, "split availability init batches"},
		{func(s *Settings) { s.Availability = "trace" }, "split init batches"},
		{func(s *Settings) { s.Availability, s.Method = "trace", "ca-fed" }, "split init batches"},
		{func(s *Settings) {
			s.Availability, s.Method = "trace", "ca-fed"
			must.OK(t, s.Set("prior", "5"))
		}, "split availability init batches"},
		{func(s *Settings) { s.InitFrom = "w.safetensors" }, "split phi availability batches"},
	} {
		s := must.Get(seeded())(t)
		c.change(&s)
		if got := strings.ReplaceAll(strings.Join(s.UngivenSeeds(), " "), "seed-", ""); got != c.want {
			t.Errorf("%s: %s, want %s", s.Params(), got, c.want)
		}
	}
}
