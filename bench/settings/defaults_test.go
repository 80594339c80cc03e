package settings

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"

	"rollcall/algos"
	"rollcall/datasets"
	"rollcall/results"
)

// The defaults of every data set, preset and method have the hash they had when settings were fields with tags. A hash that
// changes renames every run that is there already. Origin of the goldens: commit 24feb20, whose fields and literals
// they are.
func TestDefaultsKeepTheirHash(t *testing.T) {
	f, err := os.Open("testdata/defaults.txt") // data preset method hash
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		w := strings.Fields(lines.Text())
		s, err := Defaults(w[2], w[1], w[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := results.Hash(s); got != w[3] {
			t.Errorf("%s, %s, %s: hash %s, want %s", w[0], w[1], w[2], got, w[3])
		}
	}
	if want := len(datasets.Names()) * len(algos.Presets()) * len(algos.Names()); n != want {
		t.Errorf("%d goldens, want %d: one for every data set, preset and method", n, want)
	}
}

// A parameter that a method declares is in run.json where a run of the method has another value than the default; those
// that were there from the start are in all others as well.
func TestParametersInRunFile(t *testing.T) {
	for _, p := range algos.Params() {
		for _, method := range algos.Names() {
			s, err := Defaults(method, "code", "cifar10")
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Set(p.Name, second(p)); err != nil {
				t.Fatal(err)
			}
			text, err := s.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			reads, legacy := slices.Contains(p.Methods(), method), slices.Contains(slices.Concat(inEveryRun, ofFedAR), p.Name)
			if got := strings.Contains(string(text), `"`+p.Name+`":`); got != (reads || legacy) {
				t.Errorf("%s in run.json of %s: %t, want %t", p.Name, method, got, reads || legacy)
			}
		}
	}
	// A parameter that came after the first version, as a row has it.
	late := Row{Param: &algos.Param{Name: "prior", Kind: algos.Whole, None: true, Default: "7"}}
	s := Settings{Method: "fedau", Preset: "code"}
	if late.chosen(&s) {
		t.Error("a parameter of no method of the run is in run.json")
	}
}

// second returns a value that is not the default.
func second(p *algos.Param) string {
	candidates := append(p.Words, "true")
	if isNumber := p.Kind == algos.Number || p.Kind == algos.Whole; isNumber {
		candidates = slices.DeleteFunc([]string{"none", "1", "3", "0.5"}, func(value string) bool {
			return p.CheckFor(value, 100) != nil
		})
	}
	for _, value := range candidates {
		if value != p.Default {
			return value
		}
	}
	return ""
}
