package datasets

import (
	"testing"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
)

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
