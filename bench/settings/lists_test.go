package settings

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"
)

func TestSeedLists(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []uint32 // nil: refused
	}{
		{nil, []uint32{3, 4, 6}},
		{[]string{"3-5"}, []uint32{3, 4, 5}},
		{[]string{"3-5,9"}, []uint32{3, 4, 5, 9}},
		{[]string{"9,0-1"}, []uint32{9, 0, 1}},
		{[]string{"7-7"}, []uint32{7}},
		{[]string{"8", "1-2"}, []uint32{8, 1, 2}},
		{[]string{"4294967294-4294967295"}, []uint32{4294967294, 4294967295}},
		{[]string{"5-3"}, nil},
		{[]string{"3-"}, nil},
		{[]string{"-3"}, nil},
		{[]string{"3-4-5"}, nil},
		{[]string{"3,,4"}, nil},
		{[]string{""}, nil},
		{[]string{"4294967296"}, nil},
		{[]string{"0-4294967296"}, nil},
		{[]string{"0-4294967295"}, nil}, // 16 GB
		{[]string{"1-60000", "70000-120000"}, nil},
	} {
		seeds := []uint32{3, 4, 6}
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		AddSeeds(fs, &seeds, "")
		var args []string
		for _, value := range c.args {
			args = append(args, "--seeds="+value)
		}
		err := fs.Parse(args)
		if (err == nil) != (c.want != nil) || c.want != nil && !slices.Equal(seeds, c.want) {
			t.Errorf("%q: seeds %v, %v, want %v", c.args, seeds, err, c.want)
		}
	}
}

// A setting takes several values with commas, or flags where a comma may be in the value; else the last flag counts.
func TestSettingLists(t *testing.T) {
	for _, c := range []struct {
		args  []string
		given Given
		lists []List
	}{
		{nil, nil, nil},
		{
			[]string{"--alpha=0.10", "--leaf-iid"},
			Given{{Name: "alpha", Value: "0.1"}, {Name: "leaf-iid", Value: "true"}},
			nil,
		},
		{[]string{"--alpha=0.1, 3e-1", "--clip=none,1"}, nil, []List{
			{"alpha", []string{"0.1", "0.3"}}, {"clip", []string{"none", "1"}},
		}},
		{[]string{`--split="file:a,b",even`}, nil, []List{{"split", []string{"file:a,b", "even"}}}},
		{[]string{"--rounds=3,4", "--rounds=5"}, Given{{Name: "rounds", Value: "5"}}, nil},
		{[]string{"--trace=a,b.csv"}, Given{{Name: "trace", Value: "a,b.csv"}}, nil},
		{[]string{"--trace=a,b.csv", "--trace=c"}, nil, []List{{"trace", []string{"a,b.csv", "c"}}}},
	} {
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		AddLists(fs)
		if err := fs.Parse(c.args); err != nil {
			t.Fatalf("%q: %v", c.args, err)
		}
		given, lists := ListsBy(fs)
		if !slices.Equal(given, c.given) || !slices.EqualFunc(lists, c.lists, func(a, b List) bool {
			return a.Name == b.Name && slices.Equal(a.Values, b.Values)
		}) {
			t.Errorf("%q: %v and %v, want %v and %v", c.args, given, lists, c.given, c.lists)
		}
	}
}

// What a flag prints, the flag reads again to the same values: tasks of --slurm are given it.
func TestListsReadAgain(t *testing.T) {
	rates, seeds := []float64{0.1}, []uint32{3}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddRates(fs, &rates, "lrs", "")
	AddSeeds(fs, &seeds, "")
	if err := fs.Parse([]string{"--lrs=1e-7,0.30000000000000004", "--lrs=2", "--seeds=1-3"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"lrs": {"1e-07", "0.30000000000000004", "2"}, "seeds": {"1", "2", "3"},
	} {
		list := fs.Lookup(name).Value.(pflag.SliceValue)
		got := list.GetSlice()
		if err := list.Replace(got); err != nil || !slices.Equal(got, want) || !slices.Equal(list.GetSlice(), want) {
			t.Errorf("--%s: %q, read again %q, %v, want %q", name, got, list.GetSlice(), err, want)
		}
	}
	if err := fs.Parse([]string{"--lrs=0.1,x"}); err == nil {
		t.Error("--lrs 0.1,x: no error, want numbers")
	}
}

// FuzzSeeds: a list of seeds is refused, or printed so that it is read to the same seeds.
func FuzzSeeds(f *testing.F) {
	for _, text := range []string{"3,4,6", "3-5,9", "5-3", "0x10-0b11111", "4294967295", "-", "1-100000"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var seeds []uint32
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		AddSeeds(fs, &seeds, "")
		if fs.Set("seeds", text) != nil {
			return
		}
		again := fs.Lookup("seeds").Value.(pflag.SliceValue).GetSlice()
		first := slices.Clone(seeds)
		if err := fs.Lookup("seeds").Value.(pflag.SliceValue).Replace(again); err != nil ||
			!slices.Equal(seeds, first) || len(seeds) == 0 || len(seeds) > mostSeeds {
			t.Errorf("%q: %v, printed and read %v, %v", text, first, seeds, err)
		}
	})
}
