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

// The defaults of every data set, preset and method have the hash they had when settings were fields with tags. A hash
// that changes renames every run that is there already. Origin of the goldens: commit 24feb20, whose fields and
// literals they are; mifa, mifa-wait and fedvarp have --memory since; those of unbiased, more-available, adafed and
// ca-fed, and of code-no-momentum, are of the commit that made that preset.
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

// Every setting is in run.json once: among those that the run looks at, which name it, or among the others.
func TestEverySettingInRunFile(t *testing.T) {
	for _, method := range algos.Names() {
		for _, data := range []string{"cifar10", "leaf"} {
			s, err := Defaults(method, "code", data)
			if err != nil {
				t.Fatal(err)
			}
			used, unused := s.split()
			for _, r := range Rows() {
				name := r.Name
				switch name { // of files the content names the run, not the path
				case "trace":
					name = "trace-sha256"
				case "init-from":
					name = "init-sha256"
				}
				_, looks := s.Uses(r.Name)
				_, inUsed := used[name]
				_, inUnused := unused[name]
				if inUsed != looks || inUnused == looks {
					t.Errorf("%s on %s: --%s: among those looked at %t, among the others %t, want it there %t",
						method, data, r.Name, inUsed, inUnused, looks)
				}
			}
			if len(used)+len(unused) != len(Rows()) {
				t.Errorf("%s on %s: %d settings, want %d", method, data, len(used)+len(unused), len(Rows()))
			}
		}
	}
}

// Another default of a setting that the run looks at is another name; a parameter of another method is not.
func TestHashOfDefaults(t *testing.T) {
	for _, p := range algos.Params() {
		for _, method := range algos.Names() {
			s, err := Defaults(method, "code", "cifar10")
			if err != nil {
				t.Fatal(err)
			}
			other := s
			if err := other.Set(p.Name, second(p)); err != nil {
				t.Fatal(err)
			}
			_, looks := other.Uses(p.Name)
			if same := results.Hash(s) == results.Hash(other); same == looks {
				t.Errorf("%s: --%s %s: the same hash %t, want %t", method, p.Name, second(p), same, !looks)
			}
		}
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
