package datasets

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
)

// picture makes the PNG file of a picture of one colour of its own, in RGB.
func picture(i int) []byte { return pngForm{side: 32, depth: 8, kind: 2, limit: 1 + i%256}.file() }

type entry struct {
	name string
	data []byte
}

// miniTree makes the files of a tree of n pictures of each class in each part, in an order of no use.
func miniTree(n int) (files []entry) {
	for i := n - 1; i >= 0; i-- {
		for c, class := range cinicClasses {
			for p, part := range []string{"test", "train", "valid"} {
				files = append(files, entry{fmt.Sprintf("%s/%s/img-%d.png", part, class, i), picture(c*n*3 + p*n + i)})
			}
		}
	}
	return append(files, entry{"README.md", []byte("about")},
		entry{"train/airplane/._img-0.png", []byte("not an image")}, entry{"train/list.txt", nil})
}

func tarball(folder string, files []entry) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	w := tar.NewWriter(z)
	for _, f := range files {
		w.WriteHeader(&tar.Header{Name: folder + f.name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(f.data))})
		w.Write(f.data)
	}
	w.Close()
	z.Close()
	return b.Bytes()
}

func layTree(t *testing.T, folder string, files []entry) {
	t.Helper()
	for _, f := range files {
		write(t, filepath.Join(folder, f.name), f.data)
	}
}

// wantMini checks a set against the files of miniTree(2): labels in order, and every picture in its place.
func wantMini(t *testing.T, set *Set) {
	t.Helper()
	content := map[string][]byte{}
	for _, f := range miniTree(2) {
		content[f.name] = f.data
	}
	for p, s := range [][2][]uint8{{set.Train.Images, set.Train.Labels}, {set.Test.Images, set.Test.Labels}} {
		if len(s[1]) != 20 {
			t.Fatalf("%s: %d pictures, want 20", partNames[p], len(s[1]))
		}
		want := make([]uint8, photoPixels)
		for i, l := range s[1] {
			name := fmt.Sprintf("%s/%s/img-%d.png", partNames[p], cinicClasses[i/2], i%2)
			must.OK(t, decodePicture(content[name], want))
			if int(l) != i/2 || !bytes.Equal(s[0][i*photoPixels:(i+1)*photoPixels], want) {
				t.Errorf("%s: picture %d of label %d is not %s", partNames[p], i, l, name)
			}
		}
	}
}

// Wherever and however the pictures lie, the set is the same.
func TestOpenCINIC10(t *testing.T) {
	for _, c := range []struct {
		name, in string // in: the folder of the pictures, in the archive or below dir
		archive  bool
	}{
		{"archive", "", true},
		{"archive with a folder", "./CINIC-10/", true},
		{"folder", "CINIC-10/", false},
		{"directly", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, _, cache := alone(t)
			want := Found{Dir: filepath.Join(dir, c.in)}
			if c.archive {
				want = Found{Dir: dir, Archive: filepath.Join(dir, "CINIC-10.tar.gz"), Packed: true}
				write(t, want.Archive, tarball(c.in, miniTree(2)))
			} else {
				layTree(t, want.Dir, miniTree(2))
			}
			o := Options{Dir: dir, official: &newSmall(t, "cinic10").source}
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
			if all, err := Verify(t.Context(), "cinic10", o); err != nil || len(all) != 1 ||
				all[0].Status != Unchecked || !all[0].Status.OK() {
				t.Errorf("Verify: %v, %v, want unchecked", all, err)
			}
		})
	}
}

// Every way to spoil a tree, as an archive and as a folder. TestDecodePictureErrors has the ways to spoil a picture.
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
			"no PNG", replace("train/cat/img-1.png", []byte("GIF89a")),
			"train/cat/img-1.png: no PNG: starts with 474946383961", "", Malformed,
		},
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
			"one more", add("train/dog/z.png", picture(1)),
			"not the official file: train/dog: more than 2 pictures, want 2", "", Altered,
		},
	} {
		for _, form := range []string{"archive", "folder"} {
			t.Run(c.name+" "+form, func(t *testing.T) {
				dir, _, cache := alone(t)
				files, want, status := c.spoil(miniTree(2)), c.tar, c.status
				if form == "archive" {
					write(t, filepath.Join(dir, "CINIC-10.tar.gz"), tarball("", files))
				} else {
					layTree(t, filepath.Join(dir, "CINIC-10"), files)
					if c.folder != "" {
						want, status = c.folder, Missing
					}
				}
				o := Options{Dir: dir, official: &newSmall(t, "cinic10").source}
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
				all, err := Verify(t.Context(), "cinic10", o)
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
	_, err := Open(cancelled(t), "cinic10", Options{Dir: dir, official: &newSmall(t, "cinic10").source})
	wantError(t, err, context.Canceled, "datasets: cinic10: ")
	p := &tarPictures{filepath.Join(dir, "CINIC-10.tar.gz")}
	_, _, err = decodeAll(cancelled(t), p, maxPictures, nil)
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
	s := newSmall(t, "cinic10")
	s.perClass = perClass
	for range 2 { // from the archive, then from the cache
		s.wantTwice(t, Options{Dir: dir}, 2*10*perClass)
	}
}

// Of several broken pictures the first in the archive's order is named, however many cores decode.
func TestCINIC10FirstError(t *testing.T) {
	dir, _, _ := alone(t)
	files := miniTree(6)
	first := ""
	for i := range files {
		if i > 40 && i%3 != 2 && strings.HasSuffix(files[i].name, ".png") { // of train and test
			if files[i].data = []byte("broken"); first == "" {
				first = files[i].name
			}
		}
	}
	write(t, filepath.Join(dir, "CINIC-10.tar.gz"), tarball("", files))
	for range 20 {
		_, err := newSmall(t, "cinic10").open(t, Options{Dir: dir, AllowAltered: true})
		wantError(t, err, nil, first+": no PNG")
	}
}

func TestCINIC10BadArchive(t *testing.T) {
	good := tarball("", miniTree(2))
	damaged := bytes.Clone(good)
	damaged[len(damaged)-8] ^= 1 // of the CRC-32
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "an archive of nothing"},
		{"no gzip", []byte("<html>log in first</html>"), "a web page, want a tar archive, gzipped or not"},
		{
			"no tar", zipped(bytes.Repeat([]byte("nothing"), 200)),
			"no tar archive, gzipped or not: archive/tar: invalid tar header",
		},
		{"cut", good[:len(good)/2], "truncated: unexpected EOF"},
		{"cut behind the last entry", good[:len(good)-6], "truncated: unexpected EOF"},
		{"checksum", damaged, "gzip: invalid checksum"},
		{
			"twice", tarball("", append(miniTree(2), entry{"CINIC-10/train/cat/img-0.png", picture(0)})),
			"train/cat/img-0.png: twice in the archive",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, _, cache := alone(t)
			path := filepath.Join(dir, "CINIC-10.tar.gz")
			write(t, path, c.data)
			_, err := newSmall(t, "cinic10").open(t, Options{Dir: dir, AllowAltered: true})
			wantError(t, err, nil, "datasets: cinic10: "+path+": ", c.want)
			if _, err := os.Stat(cache); err == nil {
				wantClean(t, cache)
			}
		})
	}
}

// memPictures are pictures in a gzipped tar in memory.
type memPictures []byte

func (m memPictures) String() string                                   { return "memory" }
func (m memPictures) fingerprint(context.Context) (fingerprint, error) { return fingerprint{}, nil }

func (m memPictures) walk(_ context.Context, visit visitor) (fingerprint, error) {
	return fingerprint{}, walkPictures(bytes.NewReader(m), visit)
}

// A header may claim what it likes: 4 MB is enough for the decompressor and the buffers of the reader, and for the
// names of a thousand small files.
func TestCINIC10Hostile(t *testing.T) {
	header := func(size int64) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		w.WriteHeader(&tar.Header{Name: "train/cat/a.png", Typeflag: tar.TypeReg, Size: size, Format: tar.FormatGNU})
		return b.Bytes()
	}
	huge := pngForm{side: 32, depth: 8, kind: 2}.file()
	copy(huge[16:], []byte{0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff})
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"a file of 2^40 bytes": {zipped(header(1 << 40)), "train/cat/a.png: 1099511627776 bytes, want at most"},
		"a picture of 2^62 pixels": {
			tarball("", append(miniTree(1), entry{"train/cat/a.png", huge})),
			"train/cat/a.png: 2147483647×2147483647 pixels",
		},
		"a thousand nameless files": {
			tarball("", slices.Repeat([]entry{{"x", nil}}, 1000)),
			"train/airplane: no pictures",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			got := allocated(func() { _, _, err = decodeAll(t.Context(), memPictures(c.data), maxPictures, nil) })
			wantError(t, err, nil, c.want)
			if want := uint64(4 << 20); got > want {
				t.Errorf("%d bytes allocated, want at most %d", got, want)
			}
		})
	}
}

// FuzzCINIC10: whatever the bytes, as an archive or as a picture in one, nothing panics; what is accepted is a set of
// which every picture is what the library makes of its file.
func FuzzCINIC10(f *testing.F) {
	f.Add(tarball("", miniTree(1)), false)
	f.Add(tarball("CINIC-10/", miniTree(1)), false)
	f.Add(tarball("", miniTree(1))[:3000], false)
	for _, form := range []pngForm{
		{depth: 8, kind: 2},
		{depth: 2},
		{depth: 4, kind: 3, palette: 16},
		{depth: 8, kind: 3, palette: 9, transparent: []byte{1}},
		{depth: 16},
		{depth: 8, interlaced: true},
	} {
		form.side = 32
		f.Add(form.file(), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, isPicture bool) {
		if isPicture {
			out := make([]uint8, photoPixels)
			if err := decodePicture(data, out); err == nil {
				sameAsSlow(t, data, out)
			} else if strings.Contains(err.Error(), "\n") {
				t.Fatalf("error %q has several lines", err)
			}
			return
		}
		for _, archive := range [][]byte{data, zipped(data)} {
			d, _, err := decodeAll(t.Context(), memPictures(archive), maxPictures, nil)
			if err != nil {
				continue
			}
			if n := len(d.labels); n < 20 || d.train < 10 || d.train > n-10 || len(d.images) != n*photoPixels ||
				slices.Max(d.labels) > 9 {
				t.Fatalf("%d labels, %d to train on, %d bytes of images", n, d.train, len(d.images))
			}
		}
	})
}

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
		"download "+s.archive.url+": not the official file: ", "a web page, want a tar archive")
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
	all, err := Verify(t.Context(), "cinic10", o)
	if err != nil || len(all) != 1 || all[0].String() != s.archive.name+": recorded" {
		t.Errorf("Verify: %v, %v, want recorded", all, err)
	}

	write(t, path, other) // the same pictures in another archive
	_, err = Open(t.Context(), "cinic10", o)
	wantError(t, err, ErrAltered, "datasets: cinic10: "+path+": not the official file: ",
		fmt.Sprintf("%d bytes, SHA-256 ", len(other)), "recorded in "+s.archive.name+".sha256")
	if all, err := Verify(t.Context(), "cinic10", o); err != nil || len(all) != 1 || all[0].Status != Altered {
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
	wantError(t, err, nil, s.archive.name+".sha256: no SHA-256 of "+s.archive.name)
}
