package datasets

import (
	"bytes"
	"slices"
	"testing"

	"rollcall/internal/must"
)

// The order of pixels, by hand: plane c, row y, column x of the file is row y, column x, channel c in memory.
func TestParseCIFAR10(t *testing.T) {
	data := make([]byte, 2*cifarRecord)
	for r := range 2 {
		data[r*cifarRecord] = byte(3 + r)
		for c := range 3 {
			for p := range 1024 {
				data[r*cifarRecord+1+c*1024+p] = byte(7*p + 50*c + r)
			}
		}
	}
	images, labels := must.Get2(parseCIFAR10(bytes.NewReader(data), int64(len(data)),
		publishedFile{size: 2 * cifarRecord}, content{}))(t)
	if !slices.Equal(labels, []uint8{3, 4}) {
		t.Errorf("labels %v, want 3 4", labels)
	}
	for i, got := range images {
		r, p, c := i/3072, i%3072/3, i%3
		if want := byte(7*p + 50*c + r); got != want {
			t.Fatalf("image %d pixel %d channel %d: %d, want %d", r, p, c, got, want)
		}
	}
}

// FuzzCIFAR10: whatever the bytes, the parser does not panic, accepts exactly what is well-formed, loses nothing of
// it, and returns nothing otherwise.
func FuzzCIFAR10(f *testing.F) {
	valid := make([]byte, 2*cifarRecord)
	for i := range valid {
		valid[i] = byte(i % 251)
	}
	valid[0], valid[cifarRecord] = 9, 0
	f.Add(valid, uint8(2))
	f.Add(valid[:cifarRecord], uint8(1))
	f.Add(valid[:cifarRecord], uint8(2))
	f.Add(valid[1:], uint8(2))
	f.Add(append(bytes.Clone(valid[:cifarRecord]), bytes.Repeat([]byte{10}, cifarRecord)...), uint8(2))
	f.Add([]byte{}, uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, n uint8) {
		records := int(n % 4)
		f := publishedFile{size: int64(records) * cifarRecord}
		images, labels, err := parseCIFAR10(bytes.NewReader(data), int64(len(data)), f, content{})
		good := len(data) == records*cifarRecord
		for r := 0; good && r < records; r++ {
			good = data[r*cifarRecord] < 10
		}
		if (err == nil) != good {
			t.Fatalf("%d bytes as %d records: error %v, want accepted: %v", len(data), records, err, good)
		}
		if err != nil {
			if images != nil || labels != nil {
				t.Fatalf("refused (%v), yet something was returned", err)
			}
			return
		}
		var back []byte // the inverse
		for r := range records {
			back = append(back, labels[r])
			for c := range 3 {
				for p := range 1024 {
					back = append(back, images[r*photoPixels+3*p+c])
				}
			}
		}
		if !bytes.Equal(back, data) {
			t.Fatal("the records are not the ones of the file")
		}
	})
}
