package datasets

import (
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	want := []string{"cifar10", "svhn", "cinic10", "mnist", "synthetic", "leaf", "binary"}
	if got := Names(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Every entry point refuses a name in the same words.
func TestRefusedNames(t *testing.T) {
	const names = "cifar10, svhn, cinic10, mnist, synthetic, leaf, binary"
	entries := map[string]func(name string) error{
		"Open":   func(name string) error { _, err := Open(t.Context(), name, Options{}); return err },
		"Fetch":  func(name string) error { _, err := Fetch(t.Context(), name, Options{}); return err },
		"Find":   func(name string) error { _, err := Find(name, Options{}); return err },
		"Verify": func(name string) error { _, err := Verify(name, Options{}); return err },
	}
	for entry, call := range entries {
		for _, c := range []struct {
			name string
			want string
		}{
			{"cifar", `datasets: "cifar": unknown data set, want one of ` + names},
			{"", `datasets: "": unknown data set, want one of ` + names},
		} {
			t.Run(entry+" "+c.name, func(t *testing.T) { wantError(t, call(c.name), nil, c.want) })
		}
	}
}

func TestAbout(t *testing.T) {
	for _, want := range []Info{
		{
			Name: "cifar10", Net: "cnn-cifar10", Augmented: true, Flip: true,
			Mean: []float32{.4914, .4822, .4465}, Std: []float32{.2023, .1994, .2010},
		},
		{Name: "synthetic", Net: "cnn-cifar10", Augmented: true},
		{
			Name: "svhn", Net: "cnn-svhn", Augmented: true, Mean: []float32{.4376821, .4437697, .47280442},
			Std: []float32{.19803012, .20101562, .19703614},
		},
		{Name: "cinic10", Net: "cnn-cinic10", Augmented: true, Flip: true, Mean: []float32{
			.47889522, .47227842, .43047404,
		}, Std: []float32{.24205776, .23828046, .25874835}},
		{Name: "mnist", Net: "linear-mnist", Mean: []float32{.1307}, Std: []float32{.3081}},
		{Name: "leaf", Net: "linear-synthetic"},
		{Name: "binary", Net: "linear-binary"},
	} {
		got, err := About(want.Name)
		if err != nil || got.Name != want.Name || got.Net != want.Net || got.Flip != want.Flip ||
			got.Augmented != want.Augmented || !slices.Equal(got.Mean, want.Mean) || !slices.Equal(got.Std, want.Std) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
		if len(got.Mean) > 0 {
			got.Mean[0] = 7 // the caller's own
			if again, _ := About(want.Name); again.Mean[0] != want.Mean[0] {
				t.Errorf("%s: a caller changed the mean for everybody", want.Name)
			}
		}
	}
}

// A generated set lies nowhere, and there is nothing to fetch or to verify.
func TestGeneratedHasNoFiles(t *testing.T) {
	for _, name := range []string{"synthetic", "leaf", "binary"} {
		if found, err := Find(name, Options{}); err != nil || found != (Found{}) {
			t.Errorf("%s: Find: %+v, %v, want nothing", name, found, err)
		}
		if dir, err := Fetch(t.Context(), name, Options{}); err != nil || dir != "" {
			t.Errorf("%s: Fetch: %q, %v, want nothing", name, dir, err)
		}
		if all, err := Verify(name, Options{}); err != nil || len(all) != 0 {
			t.Errorf("%s: Verify: %v, %v, want nothing", name, all, err)
		}
	}
}

// Names go into file names and CSV settings: lower case, no spaces, one line of the table each.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range loaders {
		name := l.info.Name
		if seen[name] || name == "" || strings.ToLower(name) != name || strings.ContainsAny(name, " ,;=/") {
			t.Errorf("%q: a bad name, or twice in the table", name)
		}
		seen[name] = true
		if l.info.Net == "" || len(l.info.Mean) != len(l.info.Std) {
			t.Errorf("%s: net %q, %d means, %d deviations, want a net and as many of each",
				name, l.info.Net, len(l.info.Mean), len(l.info.Std))
		}
	}
}
