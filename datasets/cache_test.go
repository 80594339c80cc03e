package datasets

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollcall/internal/must"
)

// A cache is used as long as it is whole and fits the pictures; otherwise the pictures are decoded again, with a
// message.
func TestCache(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, archive, cache string)
		said  string // empty: nothing, the cache is used
	}{
		{"whole", func(*testing.T, string, string) {}, ""},
		{"older", func(t *testing.T, archive, _ string) { // the content counts
			must.OK(t, os.Chtimes(archive, time.Time{}, time.Now().Add(time.Hour)))
		}, ""},
		{"gone", func(t *testing.T, _, cache string) { os.Remove(cache) }, "decoding 40 pictures"},
		{"pictures changed", func(t *testing.T, archive, _ string) {
			write(t, archive, tarball("CINIC-10/", miniTree(2)))
		}, "stale: the pictures have changed; created again"},
		{
			"first pixel", func(t *testing.T, _, cache string) { flipByte(t, cache, cacheHeaderSize) },
			"corrupt: SHA-256 ",
		},
		{"last label", func(t *testing.T, _, cache string) { flipByte(t, cache, -1) }, "corrupt: SHA-256 "},
		{
			"magic", func(t *testing.T, _, cache string) { flipByte(t, cache, 15) },
			`header: "rollcall cinic 0", want "rollcall cinic 1"`,
		},
		{"fingerprint", func(t *testing.T, _, cache string) { flipByte(t, cache, 20) }, "corrupt: header of SHA-256 "},
		{
			"number of pictures", func(t *testing.T, _, cache string) { flipByte(t, cache, 51) },
			"corrupt: header of SHA-256 ",
		},
		{"cut", func(t *testing.T, _, cache string) { os.Truncate(cache, 1000) }, "corrupt: 1000 bytes, want 1230"},
		{
			"cut in the header", func(t *testing.T, _, cache string) { os.Truncate(cache, 100) },
			"header: truncated: unexpected EOF",
		},
		{"empty", func(t *testing.T, _, cache string) { os.Truncate(cache, 0) }, "header: truncated: unexpected EOF"},
		{"a folder", func(t *testing.T, _, cache string) { os.Remove(cache); os.Mkdir(cache, 0o755) }, "not kept: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, _, cacheDir := alone(t)
			archive, cache := filepath.Join(dir, "CINIC-10.tar.gz"), filepath.Join(cacheDir, "cinic10.cache")
			write(t, archive, tarball("", miniTree(2)))
			var out bytes.Buffer
			o := Options{Dir: dir, official: &newSmall(t, "cinic10").source, Progress: &out}
			first := must.Get(Open(t.Context(), "cinic10", o))(t)
			if want := "decoded pictures kept in " + cache; !strings.Contains(out.String(), want) {
				t.Errorf("said %q, want %q", out.String(), want)
			}
			c.spoil(t, archive, cache)
			out.Reset()
			set, err := Open(t.Context(), "cinic10", o)
			if err != nil || set.Checksum != first.Checksum {
				t.Fatalf("got %+v, %v, want the same set of checksum %s", set, err, first.Checksum)
			}
			if got := out.String(); !strings.Contains(got, c.said) || (c.said == "") != (got == "") {
				t.Errorf("said %q, want %q", got, c.said)
			}
			wantClean(t, cacheDir, "cinic10.cache")
			if c.name == "a folder" {
				return
			}
			out.Reset() // whole again
			if again, err := Open(t.Context(), "cinic10", o); err != nil || again.Checksum != first.Checksum ||
				out.Len() > 0 {
				t.Errorf("got %+v, %v, said %q, want the cache used without a word", again, err, out.String())
			}
		})
	}
}

// flipByte changes the last bit of a byte of a file, from its end if at is negative.
func flipByte(t *testing.T, path string, at int64) {
	t.Helper()
	data := must.Get(os.ReadFile(path))(t)
	if at < 0 {
		at += int64(len(data))
	}
	data[at] ^= 1
	write(t, path, data)
}

// Pictures in a folder are known by names, sizes and times.
func TestCacheOfFolder(t *testing.T) {
	for _, c := range []struct {
		name  string
		touch func(t *testing.T, folder string)
		stale bool
	}{
		{"nothing", func(*testing.T, string) {}, false},
		{"another time", func(t *testing.T, folder string) {
			must.OK(t, os.Chtimes(filepath.Join(folder, "train/cat/img-0.png"), time.Time{}, time.Unix(1e9, 0)))
		}, true},
		{"another name", func(t *testing.T, folder string) {
			must.OK(t, os.Rename(filepath.Join(folder, "train/cat/img-0.png"),
				filepath.Join(folder, "train/cat/img-00.png")))
		}, true},
		{"a file nobody reads", func(t *testing.T, folder string) {
			write(t, filepath.Join(folder, "valid/cat/new.png"), nil)
		}, false},
		{"another place", func(t *testing.T, folder string) {
			must.OK(t, os.Rename(folder, filepath.Join(filepath.Dir(folder), "CINIC-10")))
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, _, _ := alone(t)
			folder := filepath.Join(dir, "CINIC-10")
			if c.name == "another place" {
				folder = filepath.Join(dir, "elsewhere")
			}
			layTree(t, folder, miniTree(2))
			o := Options{Dir: dir, official: &newSmall(t, "cinic10").source}
			if c.name == "another place" {
				o.Dir = folder
			}
			must.Get(Open(t.Context(), "cinic10", o))(t)
			c.touch(t, folder)
			var out bytes.Buffer
			o.Progress, o.Dir = &out, dir
			set := must.Get(Open(t.Context(), "cinic10", o))(t)
			wantMini(t, set)
			if got := strings.Contains(out.String(), "stale"); got != c.stale {
				t.Errorf("said %q, want the cache stale: %v", out.String(), c.stale)
			}
		})
	}
}

// Without a place for the cache the set is decoded all the same; what killed processes left is cleared away.
func TestCacheNowhere(t *testing.T) {
	dir, _, cacheDir := alone(t)
	write(t, filepath.Join(dir, "CINIC-10.tar.gz"), tarball("", miniTree(2)))
	var out bytes.Buffer
	o := Options{Dir: dir, official: &newSmall(t, "cinic10").source, Progress: &out}

	write(t, cacheDir, nil) // a file where the folder should be
	wantMini(t, must.Get(Open(t.Context(), "cinic10", o))(t))
	if !strings.Contains(out.String(), "not kept: ") {
		t.Errorf("said %q, want that nothing is kept", out.String())
	}

	os.Remove(cacheDir)
	old, fresh := filepath.Join(cacheDir, ".rollcall-1.tmp"), filepath.Join(cacheDir, ".rollcall-2.tmp")
	write(t, old, nil)
	write(t, fresh, nil) // another process may be at it
	must.OK(t, os.Chtimes(old, time.Time{}, time.Now().Add(-25*time.Hour)))
	must.Get(Open(t.Context(), "cinic10", o))(t)
	wantClean(t, cacheDir, "cinic10.cache", filepath.Base(fresh))

	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	wantMini(t, must.Get(Open(t.Context(), "cinic10", o))(t))
}
