package settings

import (
	"bufio"
	"os"
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
	if want := len(datasets.All()) * len(algos.Presets()) * len(algos.Names()); n != want {
		t.Errorf("%d goldens, want %d: one for every data set, preset and method", n, want)
	}
}
