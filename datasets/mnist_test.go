package datasets

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func zipped(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(data)
	z.Close()
	return b.Bytes()
}

const mnistPixels = mnistSide * mnistSide

func idx(data []byte, dims ...uint32) []byte {
	b := []byte{0, 0, 8, byte(len(dims))}
	for _, d := range dims {
		b = binary.BigEndian.AppendUint32(b, d)
	}
	return append(b, data...)
}

// readMNIST reads a file of images, or of labels without a shape, compressed or not.
func readMNIST(file []byte, shape []int) (data []uint8, sum string, err error) {
	f := mnistFiles.files[1]
	if shape != nil {
		f = mnistFiles.files[0]
	}
	var c content
	sum, err = mnistFiles.readFrom(bytes.NewReader(file), int64(len(file)), f, &c)
	return append(c.images, c.labels...), sum, err
}

func TestParseIDXErrors(t *testing.T) {
	images := idx(make([]byte, 2*mnistPixels), 2, 28, 28)
	shape := []int{28, 28}
	gz := zipped(images)
	damaged := bytes.Clone(gz)
	damaged[len(damaged)-8] ^= 1 // of the CRC-32
	for _, c := range []struct {
		name  string
		data  []byte
		shape []int
		want  string
	}{
		{"empty", nil, shape, "header: truncated: unexpected EOF"},
		{
			"little-endian",
			[]byte{3, 8, 0, 0, 2, 0, 0, 0},
			shape,
			"header: 03080000, want 00000803 (bytes in 3 dimensions)",
		},
		{"doubles", []byte{0, 0, 14, 3}, shape, "header: 00000e03, want 00000803"},
		{"cut in the dimensions", images[:9], shape, "header: truncated: unexpected EOF"},
		{"another size", idx(make([]byte, 2*27*28), 2, 27, 28), shape, "dimensions [2 27 28], want n items of [28 28]"},
		{"no image", idx(nil, 0, 28, 28), shape, "dimensions [0 28 28], want at least one item"},
		{"cut", images[:len(images)-1], shape, "1567 bytes of data, want 1568: truncated: unexpected EOF"},
		{"too long", append(bytes.Clone(images), 1, 2), shape, "1570 bytes of data, want 1568"},
		{"no gzip", []byte{0x1f, 0x8b, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9}, shape, "gzip: invalid header"},
		{"gzip cut in its header", gz[:5], shape, "truncated: unexpected EOF"},
		{"gzip cut", gz[:len(gz)-9], shape, "truncated: unexpected EOF"},
		{"gzip of too little", zipped(images[:1000]), shape, "984 bytes of data, want 1568: truncated: unexpected EOF"},
		{"gzip of too much", zipped(append(bytes.Clone(images), 1, 2)), shape, "1570 bytes of data, want 1568"},
		{"gzip checksum", damaged, shape, "gzip: invalid checksum"},
		{"label", idx([]byte{1, 10, 2}, 3), nil, "label 1 is 10, want 0 … 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := readMNIST(c.data, c.shape)
			wantError(t, err, nil, c.want)
		})
	}
}

// A header may claim what it likes: a file of n bytes may have 1032·n, and 64 KB for buffers and decompressor.
func TestIDXHostile(t *testing.T) {
	const n = maxPictures
	huge := idx(nil, n, 28, 28)
	for name, data := range map[string][]byte{
		"plain": huge, "compressed": zipped(huge), "labels": idx(nil, n),
	} {
		t.Run(name, func(t *testing.T) {
			shape := []int{28, 28}
			if name == "labels" {
				shape = nil
			}
			var err error
			got := allocated(func() {
				_, _, err = readMNIST(data, shape)
			})
			wantError(t, err, nil, "want at most ", " in a file of this size")
			if want := uint64(deflateRatio*len(data) + 1<<16); got > want {
				t.Errorf("%d bytes allocated for a file of %d, want at most %d", got, len(data), want)
			}
		})
	}
}

// FuzzIDX: whatever the bytes, the parser does not panic, and what it accepts is all of the file.
func FuzzIDX(f *testing.F) {
	images, labels := idx(bytes.Repeat([]byte{1, 2, 3, 200}, mnistPixels/2), 2, 28, 28), idx([]byte{0, 9, 3}, 3)
	for _, data := range [][]byte{
		images, labels, zipped(images), zipped(labels), images[:100], idx(nil, math.MaxUint32, 28, 28),
	} {
		f.Add(data, true)
		f.Add(data, false)
	}
	f.Fuzz(func(t *testing.T, data []byte, asImages bool) {
		shape, dims := []int(nil), []uint32{1}
		if asImages {
			shape, dims = []int{28, 28}, []uint32{1, 28, 28}
		}
		got, sum, err := readMNIST(data, shape)
		if err != nil {
			if got != nil || strings.Contains(err.Error(), "\n") {
				t.Fatalf("refused (%q), yet something was returned, or the error has several lines", err)
			}
			return
		}
		if asImages {
			dims[0] = uint32(len(got) / mnistPixels)
		} else if dims[0] = uint32(len(got)); slices.Max(got) > 9 {
			t.Fatalf("label %d accepted", slices.Max(got))
		}
		if want := fmt.Sprintf("SHA-256 %x", sha256.Sum256(idx(got, dims...))); sum != want {
			t.Fatal("the data are not the ones of the file")
		}
	})
}
