package datasets

import (
	"fmt"
	"strings"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
)

// Every entry point refuses a name in the same words.
func TestRefusedNames(t *testing.T) {
	const names = "cifar10, cifar100, svhn, cinic10, mnist, fashion-mnist, femnist, synthetic, leaf, binary"
	entries := map[string]func(name string) error{
		"Open":   func(name string) error { _, err := Open(t.Context(), name, Options{}); return err },
		"Fetch":  func(name string) error { _, err := Fetch(t.Context(), name, Options{}); return err },
		"Find":   func(name string) error { _, err := Find(name, Options{}); return err },
		"Verify": func(name string) error { _, err := Verify(t.Context(), name, Options{}); return err },
	}
	for entry, call := range entries {
		for _, name := range []string{"cifar", ""} {
			want := fmt.Sprintf("datasets: %q: unknown data set, want one of %s", name, names)
			t.Run(entry+" "+name, func(t *testing.T) { wantError(t, call(name), nil, want) })
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
		if all, err := Verify(t.Context(), name, Options{}); err != nil || len(all) != 0 {
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

// What is known of a set before it is made is what it then takes; of LEAF's, whose clients draw how much they hold,
// less.
func TestLeastBytes(t *testing.T) {
	for _, c := range []struct {
		name    string
		options Options
		exact   bool
	}{
		{"synthetic", Options{TrainSize: 300, TestSize: 20}, true},
		{"binary", Options{Clients: 6, Reading: ReadCode}, true},
		{"leaf", Options{Clients: 6, Reading: ReadCode}, false},
	} {
		set := must.Get(Open(t.Context(), c.name, c.options))(t)
		least, got := LeastBytes(c.name, c.options), set.Bytes()
		if least <= 0 || least > got || c.exact && least != got {
			t.Errorf("%s: %d bytes, want %d before it is made (or, of leaf, fewer)", c.name, got, least)
		}
	}
}

// A file-based set's own sizes: three bytes a pixel, or one, and a label each.
func TestLeastBytesOfFiles(t *testing.T) {
	for name, want := range map[string]int64{
		"cifar10": 60_000 * 3073, "svhn": 99_289 * 3073, "cinic10": 180_000 * 3073, "mnist": 70_000 * 785,
		"cifar100": 60_000 * 3073, "fashion-mnist": 70_000 * 785, "femnist": 0,
	} {
		if got := LeastBytes(name, Options{}); got != want {
			t.Errorf("%s: %d bytes, want %d", name, got, want)
		}
		if got := LeastBytes(name, Options{AllowAltered: true}); got != 0 {
			t.Errorf("%s, whatever the files: at least %d bytes, want 0", name, got)
		}
	}
}

// Opening a set of features takes little more memory than the set: nothing of its size is copied on the way.
func TestOpenCopiesNoFeatures(t *testing.T) {
	longtest.Numbers(t)
	var set *Set
	var err error
	got := allocated(func() { set, err = Open(t.Context(), "leaf", Options{Clients: 100, Reading: ReadCode}) })
	must.OK(t, err)
	size := uint64(set.Bytes())
	if most := size + size/2 + 2<<20; got > most { // half as much for the clients' models, two pieces of 1 MB
		t.Errorf("%d bytes allocated for a set of %d, want at most %d", got, size, most)
	}
	t.Logf("%d bytes allocated for a set of %d", got, size)
}
