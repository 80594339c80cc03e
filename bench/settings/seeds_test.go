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
		if own := plain.named()[name]; own != nil {
			t.Errorf("--%s is not given: in run.json %v, want none there", name, own)
		}
		for _, value := range []string{"0", "7", "1000000", "4294967295"} { // not 1e+06, nor 4.294967295e+09
			s, err := seeded(name, value)
			if err != nil {
				t.Errorf("--%s %s: %v", name, value, err)
				continue
			}
			used := s.named()
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

func TestSeedsRefused(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"seed-split -1", "--seed-split -1: want a whole number 0 … 4294967295, or none"},
		{"seed-split 4294967296", "want a whole number 0 … 4294967295, or none"},
		{"seed-init 1.5", "--seed-init 1.5: want a whole number"},
		{"seed-batches x", `"x" is neither a number nor none`},
		{"seed-batches none", "want it with a number, or not at all"},
		{"seed-phi 4 p 0.5", "want it with a number with --p none and one of FedAWE's availability models"},
		{"seed-phi 4 availability uniform", "--seed-phi 4: of no use"},
		{"seed-availability 4 availability trace trace seeds_test.go", "want it with a number and, of a trace, with"},
		{"seed-phi 4 draws numpy data cifar10", "--seed-phi 4: with --draws numpy, where one generator draws"},
		{"seed-split 4 draws numpy data cifar10", "--seed-split 4: with --draws numpy"},
		{"seed-availability 4 draws numpy data cifar10", "--seed-availability 4: with --draws numpy"},
	} {
		if _, err := seeded(strings.Fields(c.line)...); !IsUsage(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want a usage error with %q", c.line, err, c.want)
		}
	}
	if _, err := seeded("seed-init", "4", "seed-batches", "5", "draws", "numpy", "data", "cifar10"); err != nil {
		t.Errorf("numpy draws neither weights nor batches: %v, want no error", err)
	}
}
