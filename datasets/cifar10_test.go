package datasets

import (
	"bytes"
	"testing"
)

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
