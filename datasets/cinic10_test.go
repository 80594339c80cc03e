package datasets

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
)

// The sample has real pictures in the official archive's layout. The checksum was computed apart from this program, by
// PIL over the files in ImageFolder's order: pixels [n,32,32,3] and labels of train, then those of test.
func TestCINIC10Sample(t *testing.T) {
	const want = "a6e9b04dd8dff914c37a302dbfc58ac142462e3e030067cb64cfd4e98942facf"
	archive := must.Get(os.ReadFile(realFile(t, "cinic10-sample/CINIC-10.tar.gz")))(t)
	dir, _, _ := alone(t)
	write(t, filepath.Join(dir, "CINIC-10.tar.gz"), archive)
	_, err := Open(t.Context(), "cinic10", Options{Dir: dir})
	wantError(t, err, ErrAltered, "datasets: cinic10: ", "train/airplane: 100 pictures, want 9000")
	o := Options{Dir: dir, AllowAltered: true}
	for _, from := range []string{"archive", "cache"} {
		set, err := Open(t.Context(), "cinic10", o)
		if err != nil || set.Checksum != want || set.Train.Len() != 1000 || set.Test.Len() != 900 || set.Dir != dir {
			t.Errorf("%s: got %+v, %v, want 1000 and 900 pictures of checksum %s", from, set, err, want)
		}
	}
	// Extracted, it is the same set.
	folder := filepath.Join(dir, "CINIC-10")
	z := must.Get(gzip.NewReader(bytes.NewReader(archive)))(t)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		data := must.Get(io.ReadAll(r))(t)
		if h.Typeflag == tar.TypeReg {
			write(t, filepath.Join(folder, h.Name), data)
		}
	}
	var out bytes.Buffer
	o.Progress = &out
	set, err := Open(t.Context(), "cinic10", o)
	if err != nil || set.Checksum != want || set.Dir != folder {
		t.Errorf("folder: got %+v, %v, want checksum %s", set, err, want)
	}
	if got := out.String(); !strings.Contains(got, "cinic10.cache: stale: the pictures have changed; created again\n") {
		t.Errorf("said %q, want that the cache is stale", got)
	}
}

// Wherever and however the pictures lie, the set is the same.
func TestOpenCINIC10(t *testing.T) {
	for _, c := range []struct {
		name string
		lay  func(t *testing.T, dir string) (want Found)
	}{
		{"archive", func(t *testing.T, dir string) Found {
			write(t, filepath.Join(dir, "CINIC-10.tar.gz"), tarball("", miniTree(2)))
			return Found{Dir: dir, Archive: filepath.Join(dir, "CINIC-10.tar.gz"), Packed: true}
		}},
		{"archive with a folder", func(t *testing.T, dir string) Found {
			write(t, filepath.Join(dir, "CINIC-10.tar.gz"), tarball("./CINIC-10/", miniTree(2)))
			return Found{Dir: dir, Archive: filepath.Join(dir, "CINIC-10.tar.gz"), Packed: true}
		}},
		{"folder", func(t *testing.T, dir string) Found {
			for _, f := range miniTree(2) {
				write(t, filepath.Join(dir, "CINIC-10", f.name), f.data)
			}
			return Found{Dir: filepath.Join(dir, "CINIC-10")}
		}},
		{"directly", func(t *testing.T, dir string) Found {
			for _, f := range miniTree(2) {
				write(t, filepath.Join(dir, f.name), f.data)
			}
			return Found{Dir: dir}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, _, cache := alone(t)
			want := c.lay(t, dir)
			o := Options{Dir: dir, official: miniCINIC()}
			if found, err := Find("cinic10", o); err != nil || found != want {
				t.Errorf("Find: got %+v, %v, want %+v", found, err, want)
			}
			if got, err := Fetch(t.Context(), "cinic10", o); err != nil || got != want.Dir {
				t.Errorf("Fetch: got %s, %v, want %s", got, err, want.Dir)
			}
			for range 2 { // decoded, then from the cache
				set := must.Get(Open(t.Context(), "cinic10", o))(t)
				wantMini(t, set)
				if set.Dir != want.Dir || set.Train.Name != "cinic10/train" || set.Test.Name != "cinic10/test" {
					t.Errorf("%s and %s in %s, want cinic10/train and cinic10/test in %s",
						set.Train.Name, set.Test.Name, set.Dir, want.Dir)
				}
				wantClean(t, cache, "cinic10.cache")
			}
			if all, err := Verify("cinic10", o); err != nil || len(all) != 1 ||
				all[0].Status != Unchecked || !all[0].Status.OK() {
				t.Errorf("Verify: %v, %v, want unchecked", all, err)
			}
		})
	}
}

// Every way to spoil a tree, as an archive and as a folder.
func TestSpoiledCINIC10(t *testing.T) {
	longtest.Numbers(t)
	replace := func(name string, data []byte) func([]entry) []entry {
		return func(files []entry) []entry {
			i := slices.IndexFunc(files, func(f entry) bool { return f.name == name })
			files[i].data = data
			return files
		}
	}
	remove := func(prefix string) func([]entry) []entry {
		return func(files []entry) []entry {
			return slices.DeleteFunc(files, func(f entry) bool { return strings.HasPrefix(f.name, prefix) })
		}
	}
	add := func(name string, data []byte) func([]entry) []entry {
		return func(files []entry) []entry { return append(files, entry{name, data}) }
	}
	for _, c := range []struct {
		name   string
		spoil  func([]entry) []entry
		tar    string // error of the archive; empty: as a folder
		folder string // error of the folder; empty: as an archive
		status Status
	}{
		{
			"another size", replace("train/cat/img-1.png", pngForm{side: 28, depth: 8, kind: 2}.file()),
			"train/cat/img-1.png: 28×28 pixels, want 32×32", "", Malformed,
		},
		{
			"alpha", replace("test/truck/img-0.png", pngForm{side: 32, depth: 8, kind: 6}.file()),
			"test/truck/img-0.png: colour type 6 (RGB and alpha), want 0", "", Malformed,
		},
		{
			"16 bits", replace("test/truck/img-0.png", pngForm{side: 32, depth: 16}.file()),
			"test/truck/img-0.png: 16 bits a channel, want at most 8", "", Malformed,
		},
		{
			"no PNG", replace("train/cat/img-1.png", []byte("GIF89a")),
			"train/cat/img-1.png: no PNG: starts with 474946383961", "", Malformed,
		},
		{"cut PNG", replace("train/cat/img-1.png", picture(3)[:100]), "train/cat/img-1.png: ", "", Malformed},
		{
			"too large", replace("train/cat/img-1.png", make([]byte, maxPicture+1)),
			"train/cat/img-1.png: 1048577 bytes, want at most 1048576", "", Malformed,
		},
		{
			"another kind of file", add("train/cat/a.jpg", nil), "train/cat/a.jpg: no PNG file by its name, want .png",
			"", Malformed,
		},
		{
			"unknown class", add("test/zebra/a.png", picture(1)),
			"test/zebra: unknown class, want one of airplane, automobile", "", Malformed,
		},
		{"no pictures of a class", func(files []entry) []entry {
			return add("train/truck/.keep", nil)(remove("train/truck/")(files))
		}, "train/truck: no pictures, want at least one", "", Malformed},
		{
			"missing class folder", remove("train/truck/"), "train/truck: no pictures, want at least one",
			"CINIC-10 lacks " + filepath.Join("train", "truck"), Malformed,
		},
		{
			"no test", remove("test/"), "test/airplane: no pictures, want at least one",
			"lacks " + filepath.Join("test", "airplane") + ", ", Malformed,
		},
		{
			"one less", remove("test/frog/img-1.png"), "not the official file: test/frog: 1 pictures, want 2", "",
			Altered,
		},
		{
			"one more", add("train/dog/z.png", picture(1)), "not the official file: train/dog: 3 pictures, want 2", "",
			Altered,
		},
	} {
		for _, form := range []string{"archive", "folder"} {
			t.Run(c.name+" "+form, func(t *testing.T) {
				dir, _, cache := alone(t)
				files, want, status := c.spoil(miniTree(2)), c.tar, c.status
				if form == "archive" {
					write(t, filepath.Join(dir, "CINIC-10.tar.gz"), tarball("", files))
				} else {
					for _, f := range files {
						write(t, filepath.Join(dir, "CINIC-10", f.name), f.data)
					}
					if c.folder != "" {
						want, status = c.folder, Missing
					}
				}
				o := Options{Dir: dir, official: miniCINIC()}
				_, err := Open(t.Context(), "cinic10", o)
				wantError(t, err, nil, "datasets: cinic10: ", filepath.Join(dir, "CINIC-10"), want)
				o.AllowAltered = true
				_, err = Open(t.Context(), "cinic10", o)
				if (err == nil) != (c.status == Altered) {
					t.Errorf("AllowAltered: %v, want it accepted: %v", err, c.status == Altered)
				}
				if err != nil && isFile(filepath.Join(cache, "cinic10.cache")) {
					t.Error("a cache of what was refused")
				}
				all, err := Verify("cinic10", o)
				if err != nil || len(all) == 0 || all[0].Status != status || all[0].Status.OK() {
					t.Errorf("Verify: %v, %v, want %s", all, err, status)
				}
			})
		}
	}
}

func TestCINIC10Cancelled(t *testing.T) {
	dir, _, cache := alone(t)
	write(t, filepath.Join(dir, "CINIC-10.tar.gz"), tarball("", miniTree(2)))
	_, err := Open(cancelled(t), "cinic10", Options{Dir: dir, official: miniCINIC()})
	wantError(t, err, context.Canceled, "datasets: cinic10: ")
	p := &tarPictures{filepath.Join(dir, "CINIC-10.tar.gz"), "CINIC-10"}
	_, _, err = decodeAll(cancelled(t), p, nil)
	wantError(t, err, context.Canceled)
	if _, err := os.Stat(cache); err == nil {
		wantClean(t, cache)
	}
}

// Loading takes less than twice the memory of the set, as promised, decoded or from the cache: 20,000 pictures, 61 MB.
func TestCINIC10Memory(t *testing.T) {
	longtest.Numbers(t)
	const perClass = 1000
	dir, _, _ := alone(t)
	var files []entry
	some := [][]byte{picture(3), picture(50), picture(255)}
	for _, part := range partNames {
		for _, class := range cinicClasses {
			for i := range perClass {
				files = append(files, entry{fmt.Sprintf("%s/%s/%d.png", part, class, i), some[i%3]})
			}
		}
	}
	write(t, filepath.Join(dir, "CINIC-10.tar.gz"), tarball("", files))
	c := miniCINIC()
	c.perClass = perClass
	const data = 2 * 10 * perClass * (photoPixels + 1)
	for _, from := range []string{"archive", "cache"} {
		var set *Set
		var err error
		peak := peakHeap(func() { set, err = Open(t.Context(), "cinic10", Options{Dir: dir, official: c}) })
		if err != nil {
			t.Fatal(err)
		}
		// a little of the heap before is freed meanwhile
		if set.Train.Len() != 10*perClass || peak < data*9/10 || peak > 2*data {
			t.Errorf("%s: %d pictures to train on; peak heap %d bytes for a set of %d, "+
				"want that and at most twice as much", from, set.Train.Len(), peak, data)
		}
		t.Logf("%s: peak heap %.2f times the set", from, float64(peak)/data)
	}
}
