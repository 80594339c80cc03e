package datasets

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"rollcall/internal/must"
)

// The first download is recorded, and a later one, or another archive in its place, must be the same.
func TestCINIC10Record(t *testing.T) {
	s := newSite(t, "cinic10", serve)
	first, other := tarball("", miniTree(2)), tarball("CINIC-10/", miniTree(2))
	dir, _, _ := alone(t)
	path := filepath.Join(dir, s.archive.name)
	o := Options{Dir: dir, official: &s.source}

	s.served[s.archive.name] = []byte("<html>log in first</html>")
	_, err := Open(t.Context(), "cinic10", o)
	wantError(t, err, ErrAltered, "datasets: cinic10: not found, looked in ",
		"download "+s.archive.url+": not the official file: ", "gzip: invalid header")
	wantClean(t, dir) // an error page is no first download

	s.served[s.archive.name] = tarball("", miniTree(1))
	_, err = Open(t.Context(), "cinic10", o)
	wantError(t, err, ErrAltered, "train/airplane: 1 pictures, want 2")
	wantClean(t, dir)

	s.served[s.archive.name] = first
	set := must.Get(Open(t.Context(), "cinic10", o))(t)
	wantMini(t, set)
	wantClean(t, dir, s.archive.name, s.archive.name+".sha256")
	sum := sha256.Sum256(first)
	want := fmt.Sprintf("# %d bytes, as first downloaded from %s\n%s  %s\n",
		len(first), s.archive.url, hex.EncodeToString(sum[:]), s.archive.name)
	if got, err := os.ReadFile(path + ".sha256"); err != nil || string(got) != want {
		t.Errorf("record %q, %v, want %q", got, err, want)
	}
	if all, err := Verify("cinic10", o); err != nil || len(all) != 1 || all[0].String() != s.archive.name+": recorded" {
		t.Errorf("Verify: %v, %v, want recorded", all, err)
	}

	write(t, path, other) // the same pictures in another archive
	_, err = Open(t.Context(), "cinic10", o)
	wantError(t, err, ErrAltered, "datasets: cinic10: "+path+": not the official file: ",
		fmt.Sprintf("%d bytes, SHA-256 ", len(other)), "recorded in "+s.archive.name+".sha256")
	if all, err := Verify("cinic10", o); err != nil || len(all) != 1 || all[0].Status != Altered {
		t.Errorf("Verify: %v, %v, want altered", all, err)
	}
	allowed := o
	allowed.AllowAltered = true
	if _, err := Open(t.Context(), "cinic10", allowed); err != nil {
		t.Errorf("AllowAltered: %v, want it accepted", err)
	}

	must.OK(t, os.Remove(path))
	s.served[s.archive.name] = other
	_, err = Fetch(t.Context(), "cinic10", o)
	wantError(t, err, ErrAltered, "download ", "delete that file if the site's has changed")
	wantClean(t, dir, s.archive.name+".sha256")

	write(t, path, first)
	write(t, path+".sha256", []byte("nonsense"))
	_, err = Open(t.Context(), "cinic10", o)
	wantError(t, err, nil, s.archive.name+".sha256: no size and SHA-256 of "+s.archive.name)
}
