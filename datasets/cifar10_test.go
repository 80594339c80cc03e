package datasets

import (
	"bytes"
	"testing"
)

// FuzzCIFAR: whatever the bytes, the parser does not panic, accepts exactly what is well-formed, loses nothing of it
// but CIFAR-100's coarse labels, and returns nothing otherwise.
func FuzzCIFAR(f *testing.F) {
	valid := make([]byte, 2*cifarRecord)
	for i := range valid {
		valid[i] = byte(i % 251)
	}
	valid[0], valid[cifarRecord] = 9, 0
	f.Add(valid, uint8(2), false)
	f.Add(valid[:cifarRecord], uint8(1), false)
	f.Add(valid[:cifarRecord], uint8(2), false)
	f.Add(valid[1:], uint8(2), false)
	f.Add(append(bytes.Clone(valid[:cifarRecord]), bytes.Repeat([]byte{10}, cifarRecord)...), uint8(2), false)
	f.Add([]byte{}, uint8(0), false)
	f.Add(append([]byte{19}, valid[:cifarRecord]...), uint8(1), true)
	f.Add(append([]byte{7, 99}, valid[1:cifarRecord]...), uint8(1), true)
	f.Add(append([]byte{7, 100}, valid[1:cifarRecord]...), uint8(1), true)
	f.Fuzz(func(t *testing.T, data []byte, n uint8, fine bool) {
		set, classes, before := &cifar10Files, byte(10), 0
		if fine {
			set, classes, before = &cifar100Files, 100, 1
		}
		records, record := int(n%4), before+1+photoPixels
		f := publishedFile{size: int64(records) * int64(record)}
		images, labels, err := set.parse(bytes.NewReader(data), int64(len(data)), f, content{})
		good := len(data) == records*record
		for r := 0; good && r < records; r++ {
			good = data[r*record+before] < classes
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
			back = append(append(back, data[r*record:][:before]...), labels[r])
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
