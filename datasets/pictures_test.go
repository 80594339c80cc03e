package datasets

import (
	"archive/tar"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Of several broken pictures the first in the archive's order is named, however many cores decode.
func TestCINIC10FirstError(t *testing.T) {
	dir, _, _ := alone(t)
	files := miniTree(6)
	first := ""
	for i := range files {
		if i > 40 && i%3 != 2 && strings.HasSuffix(files[i].name, ".png") { // not those of valid
			if files[i].data = []byte("broken"); first == "" {
				first = files[i].name
			}
		}
	}
	write(t, filepath.Join(dir, "CINIC-10.tar.gz"), tarball("", files))
	for range 20 {
		_, err := Open(t.Context(), "cinic10", Options{Dir: dir, official: &newSmall(t, "cinic10").source})
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
		{"empty", nil, "truncated: unexpected EOF"},
		{"no gzip", []byte("<html>log in first</html>"), "gzip: invalid header"},
		{"no tar", zipped(bytes.Repeat([]byte("nothing"), 200)), `after entry "": archive/tar: invalid tar header`},
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
			_, err := Open(t.Context(), "cinic10", Options{Dir: dir, AllowAltered: true, official: &newSmall(t, "cinic10").source})
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
	return fingerprint{}, walkTar(bytes.NewReader(m), "CINIC-10", visit)
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
			got := allocated(func() { _, _, err = decodeAll(t.Context(), memPictures(c.data), nil) })
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
			d, _, err := decodeAll(t.Context(), memPictures(archive), nil)
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
