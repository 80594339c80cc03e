package datasets

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"rollcall/internal/longtest"
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

func TestOpenCIFAR10(t *testing.T) {
	m := newMini(t)
	dir, _, _ := alone(t)
	m.lay(t, dir)
	set := must.Get(Open(t.Context(), "cifar10", Options{Dir: dir, official: &m.fileSet}))(t)
	h := sha256.New()
	var labels []uint8
	for i, f := range m.files { // four images a file, in the order of the files, the test file last
		images, l := must.Get2(parseCIFAR10(bytes.NewReader(m.content[f.name]), f.size, f, content{}))(t)
		part, at := set.Train, i*4
		if i == 5 {
			part, at = set.Test, 0
		}
		if !bytes.Equal(part.Images[at*photoPixels:(at+4)*photoPixels], images) ||
			!bytes.Equal(part.Labels[at:at+4], l) {
			t.Errorf("%s is not at image %d of %s", f.name, at, part.Name)
		}
		if labels = append(labels, l...); i == 4 || i == 5 {
			h.Write(part.Images)
			h.Write(labels)
			labels = nil
		}
	}
	if want := hex.EncodeToString(h.Sum(nil)); set.Checksum != want {
		t.Errorf("checksum %s, want %s", set.Checksum, want)
	}
	if set.Name != "cifar10" || set.Train.Name != "cifar10/train" || set.Test.Name != "cifar10/test" {
		t.Errorf("names %q, %q, %q", set.Name, set.Train.Name, set.Test.Name)
	}
}

// Every way to spoil a file: Open refuses it, Verify names it, and AllowAltered accepts what is well-formed.
func TestSpoiledCIFAR10(t *testing.T) {
	longtest.Numbers(t)
	const file = "data_batch_3.bin"
	for _, c := range []struct {
		name    string
		spoil   func(m *mini, path string) error
		open    string // %[1]s: official checksum, %[2]s: that of data_batch_2.bin
		status  Status
		allowed bool
	}{
		{
			"truncated", func(_ *mini, path string) error { return os.Truncate(path, 12000) },
			"datasets: cifar10: data_batch_3.bin: 12000 bytes, want 12292", Malformed, false,
		},
		{
			"empty", func(_ *mini, path string) error { return os.Truncate(path, 0) },
			"datasets: cifar10: data_batch_3.bin: 0 bytes, want 12292", Malformed, false,
		},
		{"too long", func(m *mini, path string) error {
			return os.WriteFile(path, append(bytes.Clone(m.content[file]), 1), 0o644)
		}, "datasets: cifar10: data_batch_3.bin: 12293 bytes, want 12292", Malformed, false},
		{"bad label", func(m *mini, path string) error {
			data := bytes.Clone(m.content[file])
			data[2*cifarRecord] = 10
			return os.WriteFile(path, data, 0o644)
		}, "datasets: cifar10: data_batch_3.bin: record 2: label 10, want 0 … 9", Malformed, false},
		{"one pixel", func(m *mini, path string) error {
			data := bytes.Clone(m.content[file])
			data[5000] ^= 1
			return os.WriteFile(path, data, 0o644)
		}, "data_batch_3.bin: not the official file: altered: SHA-256 ", Altered, true},
		{
			"swapped", func(m *mini, path string) error {
				return os.WriteFile(path, m.content["data_batch_2.bin"], 0o644)
			},
			"data_batch_3.bin: not the official file: swapped: %[2]s (data_batch_2.bin), want %[1]s", Swapped, true,
		},
		{
			"missing", func(_ *mini, path string) error { return os.Remove(path) }, "lacks data_batch_3.bin", Missing,
			false,
		},
		{"a folder", func(_ *mini, path string) error {
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o755))
		}, "want a file", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMini(t)
			dir, _, _ := alone(t)
			m.lay(t, dir)
			must.OK(t, c.spoil(m, filepath.Join(dir, file)))
			o := Options{Dir: dir, official: &m.fileSet}
			_, err := Open(t.Context(), "cifar10", o)
			want := c.open
			if c.status == Swapped {
				want = fmt.Sprintf(want, m.files[2].sum, m.files[1].sum)
			}
			wantError(t, err, nil, "datasets: cifar10: ", want)
			if got := errors.Is(err, ErrAltered); got != c.allowed {
				t.Errorf("%v: is ErrAltered %v, want %v", err, got, c.allowed)
			}

			o.AllowAltered = true
			set, err := Open(t.Context(), "cifar10", o)
			if (err == nil) != c.allowed {
				t.Errorf("AllowAltered: error %v, want it accepted: %v", err, c.allowed)
			}
			if err == nil {
				clean := newMini(t)
				other := t.TempDir()
				clean.lay(t, other)
				official, err := Open(t.Context(), "cifar10", Options{Dir: other, official: &clean.fileSet})
				if err != nil || official.Checksum == set.Checksum {
					t.Errorf("checksum %s, that of the official data (%v)", set.Checksum, err)
				}
			}

			all, err := Verify("cifar10", o)
			if c.status == "" {
				wantError(t, err, nil, file, "want a file")
				return
			}
			if err != nil || len(all) != 6 {
				t.Fatalf("Verify: %v, %v, want six files", all, err)
			}
			for i, s := range all {
				want := Official
				if i == 2 {
					want = c.status
				}
				if s.Status != want || s.File != m.files[i].name || s.Path != filepath.Join(dir, s.File) {
					t.Errorf("file %d: %s (%s), want %s %s", i, s, s.Path, m.files[i].name, want)
				}
			}
		})
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
			t.Fatal("the records are not those of the file")
		}
	})
}
