package datasets

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
)

// Whatever the machine that wrote a file, and however it is stored, the content is the same.
func TestMAT5Forms(t *testing.T) {
	for _, n := range []int{1, 2, 13} {
		images, labels := digits(n)
		for name, w := range map[string]matWriter{"little": little(), "big": {binary.BigEndian}} {
			numbers := func(kind matType) []byte { // the labels, 1 … 10
				var b []byte
				for _, l := range labels {
					v := (int(l)+9)%10 + 1
					switch kind {
					case miINT8, miUINT8:
						b = append(b, byte(v))
					case miINT16, miUINT16:
						b = w.AppendUint16(b, uint16(v))
					case miINT32, miUINT32:
						b = w.AppendUint32(b, uint32(v))
					case miSINGLE:
						b = w.AppendUint32(b, math.Float32bits(float32(v)))
					default:
						b = w.AppendUint64(b, math.Float64bits(float64(v)))
					}
				}
				return b
			}
			for _, kind := range []matType{miINT8, miUINT8, miINT16, miUINT16, miINT32, miUINT32, miSINGLE, miDOUBLE} {
				x, y := w.images(images), w.matrix("y", mxDOUBLE, []int32{int32(n), 1}, kind, numbers(kind))
				other := w.matrix("other_thing", 4, []int32{1, 2}, miUINT8, []byte("no"))
				for form, file := range map[string][]byte{
					"plain":      slices.Concat(w.header(), x, y),
					"compressed": slices.Concat(w.header(), w.compressed(x), w.compressed(y)),
					"y first":    slices.Concat(w.header(), y, w.compressed(x)),
					"others too": slices.Concat(w.header(), other, w.compressed(y), w.compressed(other), x),
				} {
					t.Run(fmt.Sprintf("n=%d %s type=%d %s", n, name, kind, form), func(t *testing.T) {
						gotImages, gotLabels := must.Get2(parseSVHN(bytes.NewReader(file), int64(len(file)),
							publishedFile{}, content{}))(t)
						if !bytes.Equal(gotImages, images) || !bytes.Equal(gotLabels, labels) {
							t.Errorf("labels %v, want %v; images equal: %v, want true",
								gotLabels, labels, bytes.Equal(gotImages, images))
						}
					})
				}
			}
		}
	}
}

func TestMAT5Errors(t *testing.T) {
	w, big := little(), matWriter{binary.BigEndian}
	images, labels := digits(3)
	x, y := w.images(images), w.labels(labels)
	good := slices.Concat(w.header(), x, y)
	edit := func(at int, b ...byte) []byte {
		out := bytes.Clone(good)
		copy(out[at:], b)
		return out
	}
	dims := func(d ...int32) []byte {
		n := int32(1)
		for _, k := range d {
			n *= k
		}
		return slices.Concat(w.header(), w.matrix("X", mxUINT8, d, miUINT8, make([]byte, max(n, 0))), y)
	}
	label := func(kind matType, data ...byte) []byte {
		return slices.Concat(w.header(), x, w.matrix("y", mxDOUBLE, []int32{3, 1}, kind, data))
	}
	compressed := w.compressed(x)
	broken := bytes.Clone(compressed)
	broken[len(broken)-1] ^= 1 // of the Adler-32
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "0 bytes, want a MAT-file, whose header alone has 128"},
		{"header alone", w.header(), "X: not in the file, want images [32 32 3 n]"},
		{
			"another byte order mark", edit(126, 'X', 'Y'),
			`header: byte order "XY", want "IM" (little-endian) or "MI" (big-endian)`,
		},
		{"big-endian mark on a little-endian file", edit(126, 'M', 'I'), "header: version 0x0001, want 0x0100"},
		{
			"big-endian header on a little-endian file", append(big.header(), good[128:]...),
			"element 1: tag 0e00000038240000: a small element of 3584 bytes, want at most 4",
		},
		{"HDF5", edit(124, 0, 2), "header: version 0x0200, want 0x0100 (MAT-file level 5)"},
		{"cut in a tag", good[:132], "element 1: truncated: 4 bytes, want a tag of 8"},
		{"cut in X", good[:3000], "element 1: truncated: 2864 bytes, want 9272"},
		{"cut in y", good[:len(good)-4], "element 2: truncated: "},
		{"cut in compressed X", slices.Concat(w.header(), compressed[:len(compressed)-20]), "element 1: truncated: "},
		{
			"no matrix", slices.Concat(w.header(), w.element(miDOUBLE, make([]byte, 8))),
			"element 1: type 9, want a matrix (14) or a compressed one (15)",
		},
		{
			"no zlib", slices.Concat(w.header(), w.element(miCOMPRESSED, []byte("no zlib!"))),
			"element 1: zlib: invalid header",
		},
		{"zlib checksum", slices.Concat(w.header(), broken, y), "element 1: zlib: invalid checksum"},
		{
			"zlib ends early", slices.Concat(w.header(), w.compressed(x[:2000]), y),
			"X: image 0: truncated: unexpected EOF",
		},
		{
			"zlib goes on", slices.Concat(w.header(), w.compressed(append(bytes.Clone(x), 1, 2, 3)), y),
			"element 1: 3 bytes behind the matrix, want none",
		},
		{"no X", slices.Concat(w.header(), y), "X: not in the file"},
		{"no y", slices.Concat(w.header(), x), "y: not in the file, want labels [n 1]"},
		{"X twice", slices.Concat(w.header(), x, x, y), "X: twice in the file"},
		{"y twice", slices.Concat(w.header(), y, y, x), "y: twice in the file"},
		{"one channel", dims(32, 32, 1, 3), "X: dimensions [32 32 1 3], want [32 32 3 n]"},
		{"another size", dims(28, 32, 3, 3), "X: dimensions [28 32 3 3], want [32 32 3 n]"},
		{"images first", dims(3, 32, 32, 3), "X: dimensions [3 32 32 3], want [32 32 3 n]"},
		{"five dimensions", dims(32, 32, 3, 3, 1), "X: dimensions [32 32 3 3 1], want [32 32 3 n]"},
		{"no image", dims(32, 32, 3, 0), "X: dimensions [32 32 3 0], want [32 32 3 n]"},
		{"negative", dims(32, 32, 3, -3), "X: dimensions [32 32 3 -3], want none negative"},
		{"X as doubles", slices.Concat(w.header(), w.matrix("X", mxDOUBLE, []int32{32, 32, 3, 3}, miUINT8,
			make([]byte, 9216)), y), "X: class 6 stored as type 2, want bytes (9 as 2)"},
		{"X as text", slices.Concat(w.header(), w.matrix("X", 4, []int32{32, 32, 3, 3}, miUINT8, make([]byte, 9216)),
			y), "X: class 0 stored as type 0, want bytes (9 as 2)"},
		{"data short", slices.Concat(w.header(), w.matrix("X", mxUINT8, []int32{32, 32, 3, 3}, miUINT8,
			make([]byte, 9215)), y), "X: 9215 bytes of data, want 9216 (dimensions [32 32 3 3] × 1)"},
		{
			"y a matrix",
			slices.Concat(w.header(), x, w.matrix("y", mxDOUBLE, []int32{3, 2}, miUINT8, make([]byte, 6))),
			"y: dimensions [3 2], want [n 1]",
		},
		{
			"y as text", slices.Concat(w.header(), x, w.matrix("y", 4, []int32{3, 1}, miUINT8, []byte{1, 2, 3})),
			"y: no real numbers, want labels [n 1]",
		},
		{"fewer labels", slices.Concat(w.header(), x, w.labels(labels[:2])), "y: 2 labels, want 3, the images of X"},
		{
			"more labels", slices.Concat(w.header(), x, w.labels(append(slices.Clone(labels), 1))),
			"y: 4 labels, want 3, the images of X",
		},
		{"label 0", label(miUINT8, 1, 0, 2), "y: label 1 is 0, want 1 … 10"},
		{"label 11", label(miUINT8, 1, 10, 11), "y: label 2 is 11, want 1 … 10"},
		{"label −1", label(miINT8, 255, 10, 1), "y: label 0 is -1, want 1 … 10"},
		{
			"label 1.5", label(miSINGLE, slices.Concat([]byte{0, 0, 128, 63, 0, 0, 192, 63}, make([]byte, 4))...),
			"y: label 1 is 1.5, want 1 … 10",
		},
		{"label 258", label(miUINT16, 1, 0, 2, 1, 2, 0), "y: label 1 is 258, want 1 … 10"},
		{"label NaN", label(miDOUBLE, slices.Concat(binary.LittleEndian.AppendUint64(nil,
			math.Float64bits(math.NaN())), make([]byte, 16))...), "y: label 0 is NaN, want 1 … 10"},
		{"type of numbers", label(11, 1, 2, 3), "y: stored as type 11, want a type of numbers"},
		{"a name of control characters", slices.Concat(w.header(),
			w.matrix("a\nb", mxUINT8, []int32{2, 2}, miUINT8, []byte{1})), `"a\nb": 1 bytes of data, want 4`},
		{"a long name", slices.Concat(w.header(), w.matrix(strings.Repeat("n", 300), mxUINT8, []int32{1, 1}, miUINT8,
			[]byte{1})), "element 1: name: 300 bytes, want at most 256"},
	} {
		t.Run(c.name, func(t *testing.T) {
			images, labels, err := parseSVHN(bytes.NewReader(c.file), int64(len(c.file)), publishedFile{}, content{})
			wantError(t, err, nil, c.want)
			if images != nil || labels != nil {
				t.Error("refused, yet something was returned")
			}
		})
	}
}

// A header may claim what it likes: memory is taken for what a file of this length can hold. A file of n bytes may have
// 1032·n (deflate's ratio), and 1 MB is enough for the buffers of the reader; each case claims 3 GB or more.
func TestMAT5Hostile(t *testing.T) {
	w := little()
	const n = 1 << 20 // images: 3 GB
	// The matrix up to its data, with lengths that fit together.
	claim := func(n int32) []byte {
		size := uint32(n) * photoPixels
		m := w.matrix("X", mxUINT8, []int32{32, 32, 3, n}, miUINT8, make([]byte, 8))
		m = m[:len(m)-8]
		w.PutUint32(m[len(m)-4:], size)
		w.PutUint32(m[4:], uint32(len(m)-8)+size)
		return m
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"plain": {append(w.header(), claim(n)...), "element 1: truncated"},
		"compressed": {
			append(w.header(), w.compressed(claim(n))...),
			"X: 3221225472 bytes of data, but the file can hold ",
		},
		"dimensions overflow": {
			append(w.header(),
				w.compressed(w.matrix("X", mxUINT8, []int32{1 << 30, 1 << 30, 1 << 30, 1 << 30}, miUINT8, nil))...),
			"X: dimensions [1073741824 1073741824], want",
		},
		"dimensions of 2^40": {append(w.header(), w.compressed(w.matrix("X", mxUINT8, []int32{1 << 20, 1 << 20},
			miUINT8, make([]byte, 8)))...), "X: 8 bytes of data, want 1099511627776"},
		"a name of 4 GB": {slices.Concat(w.header(),
			w.compressed(append(slices.Clone(claim(n)[:40]), 1, 0, 0, 0, 255, 255, 255, 255))), "element 1: "},
		"many empty variables": {slices.Concat(w.header(),
			bytes.Repeat(w.matrix("e", mxUINT8, []int32{0, 0}, miUINT8, nil), 1000)), "X: not in the file"},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			got := allocated(func() {
				_, _, err = parseSVHN(bytes.NewReader(c.file), int64(len(c.file)), publishedFile{}, content{})
			})
			wantError(t, err, nil, c.want)
			if want := uint64(1<<20 + deflateRatio*len(c.file)); got > want {
				t.Errorf("%d bytes allocated for a file of %d, want at most %d", got, len(c.file), want)
			}
		})
	}
}

// FuzzMAT5: whatever the bytes, the reader does not panic; what it accepts is a set of digits that a file can hold, and
// it is the same again when written and read once more.
func FuzzMAT5(f *testing.F) {
	images, labels := digits(2)
	for _, w := range []matWriter{little(), {binary.BigEndian}} {
		x, y := w.images(images), w.labels(labels)
		f.Add(slices.Concat(w.header(), x, y))
		f.Add(slices.Concat(w.header(), w.compressed(x), w.compressed(y)))
		f.Add(slices.Concat(w.header(), w.matrix("t", 4, []int32{1, 2}, miUINT16, []byte("ab")), y, x))
		f.Add(slices.Concat(w.header(), w.compressed(x)[:100]))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		images, labels, err := parseSVHN(bytes.NewReader(data), int64(len(data)), publishedFile{}, content{})
		if err != nil {
			if images != nil || labels != nil || strings.Contains(err.Error(), "\n") {
				t.Fatalf("refused (%q), yet something was returned, or the error has several lines", err)
			}
			return
		}
		if len(labels) == 0 || len(images) != len(labels)*photoPixels || len(images) > deflateRatio*len(data) {
			t.Fatalf("%d image bytes and %d labels of %d bytes", len(images), len(labels), len(data))
		}
		w := little()
		again := slices.Concat(w.header(), w.compressed(w.labels(labels)), w.images(images))
		images2, labels2, err := parseSVHN(bytes.NewReader(again), int64(len(again)), publishedFile{}, content{})
		if err != nil || !bytes.Equal(images, images2) || !bytes.Equal(labels, labels2) {
			t.Fatalf("written and read again: %v, or another content", err)
		}
	})
}

// Loading a set takes less than twice its memory, as promised: 12,000 and 4,000 images, 49 MB.
func TestSVHNMemory(t *testing.T) {
	longtest.Numbers(t)
	s := newSmall(t, "svhn")
	dir, _, _ := alone(t)
	for i, n := range []int{12_000, 4_000} {
		images, labels := digits(n)
		w := little()
		data := slices.Concat(w.header(), w.compressed(w.images(images)), w.compressed(w.labels(labels)))
		write(t, filepath.Join(dir, s.files[i].name), data)
	}
	s.wantTwice(t, Options{Dir: dir, AllowAltered: true}, 16_000)
}

type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// matWriter makes MAT-files for tests, byte by byte, apart from the reader.
type matWriter struct{ byteOrder }

func (w matWriter) header() []byte {
	b := append([]byte("MATLAB 5.0 MAT-file, made by a test"), bytes.Repeat([]byte{' '}, 89)...)
	b = w.AppendUint16(b, 0x0100)
	if w.Uint16([]byte{1, 0}) == 1 {
		return append(b, "IM"...)
	}
	return append(b, "MI"...)
}

// element writes a whole element, padded.
func (w matWriter) element(kind matType, data []byte) []byte {
	b := w.AppendUint32(w.AppendUint32(nil, uint32(kind)), uint32(len(data)))
	b = append(b, data...)
	return append(b, make([]byte, (8-len(b)%8)%8)...)
}

// small writes an element of at most four bytes into its tag.
func (w matWriter) small(kind matType, data []byte) []byte {
	b := append(w.AppendUint32(nil, uint32(len(data))<<16|uint32(kind)), data...)
	return append(b, make([]byte, 8-len(b))...)
}

// matrix writes a variable; its numbers and its name go into tags if they fit.
func (w matWriter) matrix(name string, class matClass, dims []int32, kind matType, data []byte) []byte {
	fit := func(kind matType, data []byte) []byte {
		if len(data) > 0 && len(data) <= 4 {
			return w.small(kind, data)
		}
		return w.element(kind, data)
	}
	var d []byte
	for _, n := range dims {
		d = w.AppendUint32(d, uint32(n))
	}
	flags := w.AppendUint32(w.AppendUint32(nil, uint32(class)), 0)
	head := slices.Concat(w.element(miUINT32, flags), w.element(miINT32, d), fit(miINT8, []byte(name)))
	return w.element(miMATRIX, append(head, fit(kind, data)...))
}

func (w matWriter) compressed(element []byte) []byte {
	var z bytes.Buffer
	c, _ := zlib.NewWriterLevel(&z, zlib.BestSpeed)
	c.Write(element)
	c.Close()
	return append(w.AppendUint32(w.AppendUint32(nil, uint32(miCOMPRESSED)), uint32(z.Len())), z.Bytes()...)
}

// images writes X of images [n,32,32,3].
func (w matWriter) images(images []uint8) []byte {
	x := make([]byte, len(images))
	for i := range images {
		n, row, column, channel := i/3072, i/96%32, i/3%32, i%3
		x[n*3072+channel*1024+column*32+row] = images[i]
	}
	dims := []int32{32, 32, 3}
	if n := len(images) / 3072; n > 1 { // MATLAB writes a last dimension of 1 only where it must
		dims = append(dims, int32(n))
	}
	return w.matrix("X", mxUINT8, dims, miUINT8, x)
}

// labels writes y of labels 0 … 9 as it stands in the official files: doubles, kept as bytes.
func (w matWriter) labels(labels []uint8) []byte {
	y := make([]byte, len(labels))
	for i, l := range labels {
		if y[i] = l; l == 0 {
			y[i] = 10
		}
	}
	return w.matrix("y", mxDOUBLE, []int32{int32(len(y)), 1}, miUINT8, y)
}

func little() matWriter { return matWriter{binary.LittleEndian} }

// digits are n images and labels, every one different.
func digits(n int) (images, labels []uint8) {
	images, labels = make([]uint8, n*photoPixels), make([]uint8, n)
	for i := range images {
		images[i] = uint8(i*7 + i/3072*13 + i/251)
	}
	for i := range labels {
		labels[i] = uint8(i % 10)
	}
	return images, labels
}
