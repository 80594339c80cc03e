package datasets

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"rollcall/internal/must"
)

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name string
		at   func(dir, env, cache string) string // what holds the files
	}{
		{"archive layout in Dir", func(dir, _, _ string) string { return filepath.Join(dir, "cifar-10-batches-bin") }},
		{"Dir itself", func(dir, _, _ string) string { return dir }},
		{"environment", func(_, env, _ string) string { return filepath.Join(env, "cifar-10-batches-bin") }},
		{"cache itself", func(_, _, cache string) string { return cache }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSmall(t, "cifar10")
			dir, env, cache := alone(t)
			at := c.at(dir, env, cache)
			s.lay(t, at)
			s.lay(t, filepath.Join(cache, "cifar-10-batches-bin")) // always last
			if at == cache {
				must.OK(t, os.RemoveAll(filepath.Join(cache, "cifar-10-batches-bin")))
			}
			got, err := Find("cifar10", Options{Dir: dir, official: &s.source})
			if want := (Found{Dir: at}); err != nil || got != want {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		})
	}
}

func TestFindNothing(t *testing.T) {
	s := newSmall(t, "cifar10")
	dir, env, cache := alone(t)
	for _, f := range s.files[:4] {
		write(t, filepath.Join(env, "cifar-10-batches-bin", f.name), s.content[f.name])
	}
	_, err := Find("cifar10", Options{Dir: dir, official: &s.source})
	wantError(t, err, ErrNotFound, "datasets: cifar10: not found, looked in "+dir+", "+env+" (",
		"cifar-10-batches-bin lacks data_batch_5.bin, test_batch.bin), "+cache)
	_, again := s.open(t, Options{Dir: dir})
	wantError(t, again, ErrUnavailable, err.Error()+"; download "+s.archive.url+": unavailable: ")
	wantError(t, again, ErrNotFound)
}

// A folder that may not be read is named with the reason, and the next place is looked at.
func TestFindForbidden(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	s := newSmall(t, "cifar10")
	dir, env, _ := alone(t)
	s.lay(t, dir)
	must.OK(t, os.Chmod(dir, 0))
	defer os.Chmod(dir, 0o755)
	o := Options{Dir: dir, official: &s.source}
	_, err := Find("cifar10", o)
	wantError(t, err, ErrNotFound, dir+" (", "permission denied")
	s.lay(t, env)
	if found, err := Find("cifar10", o); err != nil || found.Dir != env {
		t.Errorf("got %+v, %v, want %s", found, err, env)
	}
}

// A place named twice is looked at once, and no place at all is an error too.
func TestPlaces(t *testing.T) {
	s := newSmall(t, "cifar10")
	dir, _, cache := alone(t)
	t.Setenv("ROLLCALL_DATA", dir+"/.")
	_, err := Find("cifar10", Options{Dir: dir, official: &s.source})
	wantError(t, err, ErrNotFound, "looked in "+dir+", "+cache)

	t.Setenv("ROLLCALL_DATA", "")
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	_, err = Fetch(t.Context(), "cifar10", Options{official: &s.source})
	wantError(t, err, ErrNotFound, "nowhere to look")
}

// The official archive lying in a place is checked and extracted, without the network.
func TestFetchArchive(t *testing.T) {
	s := newSmall(t, "cifar10")
	dir, _, _ := alone(t)
	write(t, filepath.Join(dir, s.archive.name), s.tarball)
	o := Options{Dir: dir, official: &s.source}

	found, err := Find("cifar10", o)
	want := Found{Dir: filepath.Join(dir, s.folders[0]), Archive: filepath.Join(dir, s.archive.name)}
	if err != nil || found != want {
		t.Errorf("Find: got %+v, %v, want %+v", found, err, want)
	}
	if all, err := Verify(t.Context(), "cifar10", o); err != nil || len(all) != 1 || all[0].Status != Official {
		t.Errorf("Verify: %v, %v, want the archive as the official one", all, err)
	}
	got, err := Fetch(t.Context(), "cifar10", o)
	if want := filepath.Join(dir, s.folders[0]); err != nil || got != want {
		t.Fatalf("Fetch: got %s, %v, want %s", got, err, want)
	}
	wantClean(t, dir, s.folders[0], s.archive.name)
	wantClean(t, got, "batches.meta.txt", "data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
		"data_batch_4.bin", "data_batch_5.bin", "test_batch.bin")
	for name, want := range s.content {
		if data, err := os.ReadFile(filepath.Join(got, name)); err != nil || !bytes.Equal(data, want) {
			t.Errorf("%s: %v, or not the content of the archive", name, err)
		}
	}
	if info, err := os.Stat(got); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode of %s: %v, %v, want 0755", got, info.Mode(), err)
	}
}

func TestFetchBadArchive(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, s *small)
		is    error
		want  string
	}{
		{"altered", func(_ *testing.T, s *small) { s.tarball[100] ^= 1 }, ErrAltered, "MD5 "},
		{"file missing", func(t *testing.T, s *small) {
			delete(s.content, "test_batch.bin")
			s.pack(t, s.folders[0])
		}, nil, "test_batch.bin: not in the archive"},
		{"file short", func(t *testing.T, s *small) {
			s.content["data_batch_3.bin"] = s.content["data_batch_3.bin"][:100]
			s.pack(t, s.folders[0])
		}, nil, "data_batch_3.bin: 100 bytes, want 12292"},
		{"cut", func(_ *testing.T, s *small) { s.setArchive(s.tarball[:len(s.tarball)/2]) }, nil, "unexpected EOF"},
		{
			"no gzip", func(_ *testing.T, s *small) { s.setArchive([]byte("hello, world")) }, nil,
			"no tar archive, gzipped or not: ",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSmall(t, "cifar10")
			dir, _, _ := alone(t)
			c.spoil(t, s)
			path := filepath.Join(dir, s.archive.name)
			write(t, path, s.tarball)
			_, err := s.open(t, Options{Dir: dir})
			wantError(t, err, c.is, "datasets: cifar10: ", path, c.want)
			wantClean(t, dir, s.archive.name) // nothing half-extracted; the user's archive is the user's
		})
	}
}

// Extraction adds what an incomplete folder lacks, and leaves what it holds.
func TestExtractIntoIncomplete(t *testing.T) {
	s := newSmall(t, "cifar10")
	dir, _, _ := alone(t)
	write(t, filepath.Join(dir, s.archive.name), s.tarball)
	kept := filepath.Join(dir, s.folders[0], "data_batch_2.bin")
	write(t, kept, []byte("mine"))
	write(t, filepath.Join(dir, "."+s.folders[0]+"-123.tmp", "data_batch_1.bin"), nil) // of a process that was killed
	got := must.Get(Fetch(t.Context(), "cifar10", Options{Dir: dir, official: &s.source}))(t)
	if data, err := os.ReadFile(kept); err != nil || string(data) != "mine" {
		t.Errorf("%s was overwritten: %.20q, %v", kept, data, err)
	}
	if missing, err := s.missing(got); err != nil || len(missing) != 0 {
		t.Errorf("still missing: %q, %v", missing, err)
	}
	wantClean(t, dir, s.folders[0], s.archive.name)
}

func TestExtractCancelled(t *testing.T) {
	s := newSmall(t, "cifar10")
	dir := t.TempDir()
	write(t, filepath.Join(dir, s.archive.name), s.tarball)
	path := filepath.Join(dir, s.archive.name)
	err := s.extract(cancelled(t), Found{Dir: filepath.Join(dir, s.folders[0]), Archive: path}, Options{})
	wantError(t, err, context.Canceled, path)
	wantClean(t, dir, s.archive.name)
	to := t.TempDir()
	wantError(t, s.unpack(cancelled(t), path, to, true), context.Canceled)
	wantClean(t, to)
}
