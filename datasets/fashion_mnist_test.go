package datasets

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"rollcall/internal/must"
)

// twins returns small sets of MNIST and Fashion-MNIST that know each other's files by their checksums, as the official
// ones do.
func twins(t *testing.T) map[string]*small {
	t.Helper()
	both := map[string]*small{"mnist": newSmall(t, "mnist"), "fashion-mnist": newSmall(t, "fashion-mnist")}
	both["mnist"].foreign = namesakes("fashion-mnist", both["fashion-mnist"].files)
	both["fashion-mnist"].foreign = namesakes("mnist", both["mnist"].files)
	return both
}

// The official files of each of the two sets are those that the other knows as foreign, and they have the same names.
func TestNamesakes(t *testing.T) {
	for name, other := range map[string]string{"mnist": "fashion-mnist", "fashion-mnist": "mnist"} {
		s, others := must.Get(lookup(name, Options{}))(t).official, must.Get(lookup(other, Options{}))(t).official
		for i, f := range others.files {
			if s.foreign[f.sum] != f.name+" of "+other || f.name != s.files[i].name || f.sum == s.files[i].sum {
				t.Errorf("%s: %q of %s %s, want it known as foreign", name, s.foreign[f.sum], other, f.name)
			}
		}
		if len(s.foreign) != 4 {
			t.Errorf("%s: %d foreign files, want 4", name, len(s.foreign))
		}
	}
}

// Files of MNIST are never taken for Fashion-MNIST, nor the other way round, in no place in which either is searched,
// compressed or not, and whatever is allowed.
func TestForeignFiles(t *testing.T) {
	both := twins(t)
	for name, other := range map[string]string{"mnist": "fashion-mnist", "fashion-mnist": "mnist"} {
		s, foreign := both[name], both[other]
		for _, at := range slices.Concat(s.folders, foreign.folders, []string{"."}) {
			for _, zipped := range []bool{false, true} {
				dir, env, _ := alone(t)
				for _, f := range foreign.files {
					file, data := f.plain(), foreign.content[f.plain()]
					if zipped {
						file, data = f.name, f.published(data)
					}
					write(t, filepath.Join(dir, at, file), data)
				}
				for _, o := range []Options{{Dir: dir}, {Dir: dir, AllowAltered: true}, {Dir: filepath.Join(dir, at)}} {
					o.official = &s.source
					_, err := Find(name, o)
					wantError(t, err, ErrNotFound, "datasets: "+name+": not found")
					if slices.Contains(s.folders, at) || o.Dir != dir {
						wantError(t, err, nil, " has t10k-labels-idx1-ubyte.gz of "+other)
					}
					if _, err := Verify(t.Context(), name, o); err == nil {
						t.Errorf("%s in %s: verify finds a set, want none", other, at)
					}
					if _, err := s.open(t, o); err == nil {
						t.Errorf("%s in %s: open finds a set, want none", other, at)
					}
				}
				// The set itself, in a place that is searched later, is found.
				s.lay(t, filepath.Join(env, s.folders[0]))
				set := must.Get(s.open(t, Options{Dir: dir}))(t)
				if want := filepath.Join(env, s.folders[0]); set.Dir != want || set.Checksum != s.checksum(t) {
					t.Errorf("%s beside %s: read from %s, want %s", name, other, set.Dir, want)
				}
			}
		}
	}
}

// A folder with files of both is of the set that its smallest file is of, and the others are refused.
func TestMixedFiles(t *testing.T) {
	both := twins(t)
	s, other := both["mnist"], both["fashion-mnist"]
	smallest := slices.SortedFunc(slices.Values(s.files), bySize)[0].name
	for _, f := range s.files {
		if f.name == smallest {
			continue
		}
		dir, _, _ := alone(t)
		s.lay(t, dir)
		write(t, filepath.Join(dir, f.plain()), other.content[f.plain()])
		for _, altered := range []bool{false, true} {
			_, err := s.open(t, Options{Dir: dir, AllowAltered: altered})
			wantError(t, err, ErrAltered, f.plain()+": not the official file: swapped: SHA-256 ",
				"("+f.name+" of fashion-mnist)")
		}
		for _, st := range must.Get(Verify(t.Context(), "mnist", Options{Dir: dir, official: &s.source}))(t) {
			if want := st.File == f.plain(); want != (st.Status == Swapped) {
				t.Errorf("%s: %s", f.plain(), st)
			}
		}
	}
}

// A download never completes a folder of the other set.
func TestFetchBesideForeign(t *testing.T) {
	s := newSite(t, "fashion-mnist", serve)
	other := newSmall(t, "mnist")
	s.foreign = namesakes("mnist", other.files)
	dir, _, _ := alone(t)
	for _, f := range other.files[:3] {
		write(t, filepath.Join(dir, f.plain()), other.content[f.plain()])
	}
	set := must.Get(s.open(t, Options{Dir: dir}))(t)
	if want := filepath.Join(dir, "FashionMNIST", "raw"); set.Dir != want || len(s.asked) != 4 {
		t.Errorf("in %s after %q, want %s after four downloads", set.Dir, s.asked, want)
	}
	for _, f := range other.files[:3] {
		got := must.Get(os.ReadFile(filepath.Join(dir, f.plain())))(t)
		if string(got) != string(other.content[f.plain()]) {
			t.Errorf("%s of mnist has changed", f.plain())
		}
	}
}
