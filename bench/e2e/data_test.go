package e2e

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// A result on altered files is that of these files, and of no others.
func TestRunOnAlteredData(t *testing.T) {
	first, label := t.TempDir(), t.TempDir()
	writeTinyData(t, first)
	writeTinyData(t, label)
	labels := idxLabels(200)
	labels[8] = 1 // the class of the first picture
	must.OK(t, os.WriteFile(filepath.Join(label, "data/MNIST/raw/train-labels-idx1-ubyte"), labels, 0o666))
	out := t.TempDir()
	run := func(dir string, more ...string) []string {
		line := strings.Fields("run --data mnist --clients 4 --rounds 1 --local-steps 1 --batch 8 --out " + out +
			" --data-dir " + filepath.Join(dir, "data"))
		return append(line, more...)
	}
	for _, c := range []struct {
		name, dir string
		kept      bool
		more      []string
	}{
		{"first", first, false, nil},
		{"again", first, true, nil},
		{"another label", label, false, []string{"--again"}},
		{"the first files", first, false, []string{"--again"}},
		{"another label, mixed", label, true, []string{"--mixed"}},
	} {
		o := pass(t, run(c.dir, append(c.more, "--allow-altered")...)...)
		if strings.Contains(o.stdout, "kept") != c.kept {
			t.Errorf("%s: stdout %q, want a kept run: %t", c.name, o.stdout, c.kept)
		}
	}
	dir := filepath.Dir(only(t, out, curvePath))
	for _, files := range []string{label, first} { // each stands aside while the other is in place
		o := pass(t, run(files, "--allow-altered")...)
		if !strings.Contains(o.stderr, ": moved back from .old") || !strings.Contains(o.stdout, "kept") {
			t.Errorf("%s: %q, %q, want the run taken back", files, o.stdout, o.stderr)
		}
	}
	for _, aside := range must.Get(filepath.Glob(filepath.Join(dir, ".old*")))(t) {
		must.OK(t, os.RemoveAll(aside))
	}
	before := contents(t, only(t, out, curvePath))
	o := rollcall(t, run(label, "--allow-altered")...)
	if o.status != statusFailure || !strings.Contains(o.stderr, "data checksum sha256:") ||
		!strings.Contains(o.stderr, "--mixed accepts a finished run") ||
		contents(t, only(t, out, curvePath)) != before {
		t.Errorf("another label: status %d, %q, want both checksums, what to do, and the run left alone",
			o.status, o.stderr)
	}
	oneLineError(t, rollcall(t, run(first)...), statusFailure, "not the official file")
}

// writeTinyData writes what commands read, below data in a folder: tiny MNIST and SVHN, and traces of availability.
func writeTinyData(t testing.TB, dir string) {
	t.Helper()
	for path, content := range map[string][]byte{
		"data/MNIST/raw/train-images-idx3-ubyte": idxPictures(tinyPictures(200, 28*28)),
		"data/MNIST/raw/train-labels-idx1-ubyte": idxLabels(200),
		"data/MNIST/raw/t10k-images-idx3-ubyte":  idxPictures(tinyPictures(60, 28*28)),
		"data/MNIST/raw/t10k-labels-idx1-ubyte":  idxLabels(60),
		"data/svhn/train_32x32.mat":              matFile(60),
		"data/svhn/test_32x32.mat":               matFile(20),
		"data/trace.csv":                         []byte("client,start,end\n0,0,2\n1,1,3\n2,0,4\n3,2,4\n"),
		"data/seconds.csv":                       []byte("client,start,end\n0,0,25\n1,10,30\n2,5,40\n"),
		"data/backwards.csv":                     []byte("client,start,end\n0,0,2\n1,3,1\n"),
		"data/columns.csv":                       []byte("client,from,to\n0,0,2\n"),
	} {
		path = filepath.Join(dir, path)
		must.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must.OK(t, os.WriteFile(path, content, 0o666))
	}
}

// tinyPictures returns n pictures of so many bytes: dim noise and a bright band that says the class, i % 10.
func tinyPictures(n, size int) (images [][]byte) {
	noise := rand.New(rand.NewPCG(uint64(n), uint64(size)))
	for i := range n {
		picture := make([]byte, size)
		for k := range picture {
			picture[k] = byte(noise.UintN(60))
			if k*14/size == i%10+2 {
				picture[k] += 180
			}
		}
		images = append(images, picture)
	}
	return images
}

// idxPictures is MNIST's format of pictures: a magic number, three sizes and the pixels.
func idxPictures(images [][]byte) []byte {
	content := []byte{0, 0, 8, 3}
	for _, size := range []int{len(images), 28, 28} {
		content = binary.BigEndian.AppendUint32(content, uint32(size))
	}
	return append(content, bytes.Join(images, nil)...)
}

// idxLabels is its format of labels.
func idxLabels(n int) []byte {
	content := binary.BigEndian.AppendUint32([]byte{0, 0, 8, 1}, uint32(n))
	for i := range n {
		content = append(content, byte(i%10))
	}
	return content
}

// matFile is SVHN's format, MATLAB's of level 5: X uint8 [32,32,3,n] and y [n,1], where 10 means 0.
func matFile(n int) []byte {
	header := append([]byte("MATLAB 5.0 MAT-file, tiny"), bytes.Repeat([]byte{' '}, 99)...)
	header = append(header, 0, 1, 'I', 'M')
	var labels []byte
	for i := range n {
		labels = append(labels, byte((i+9)%10+1))
	}
	return slices.Concat(
		header,
		matMatrix('X', []int{32, 32, 3, n}, bytes.Join(tinyPictures(n, 32*32*3), nil)),
		matMatrix('y', []int{n, 1}, labels),
	)
}

// matMatrix is one variable of bytes: flags, sizes, name and numbers, each an element of a type and a length.
func matMatrix(name byte, dims []int, numbers []byte) []byte {
	const miINT8, miUINT8, miINT32, miUINT32, miMATRIX, mxUINT8 = 1, 2, 5, 6, 14, 9
	word := binary.LittleEndian.AppendUint32
	element := func(kind uint32, data []byte) []byte {
		b := append(word(word(nil, kind), uint32(len(data))), data...)
		return append(b, make([]byte, (8-len(b)%8)%8)...)
	}
	var sizes []byte
	for _, d := range dims {
		sizes = word(sizes, uint32(d))
	}
	return element(miMATRIX, slices.Concat(
		element(miUINT32, word(word(nil, mxUINT8), 0)), element(miINT32, sizes),
		element(miINT8, []byte{name}), element(miUINT8, numbers),
	))
}
