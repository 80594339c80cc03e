package datasets

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"testing"

	"rollcall/internal/must"
)

// picture makes the PNG file of a picture of one colour of its own, in RGB.
func picture(i int) []byte { return pngForm{side: 32, depth: 8, kind: 2, limit: 1 + i%256}.file() }

// entry is a file of a test archive.
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

// tarball packs files below a folder.
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
