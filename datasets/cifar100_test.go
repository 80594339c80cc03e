package datasets

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// The classes are the fine labels, and pixels lie as CIFAR-10's do.
func TestCIFAR100(t *testing.T) {
	s := newSmall(t, "cifar100")
	dir, _, _ := alone(t)
	s.lay(t, dir)
	set := must.Get(s.open(t, Options{Dir: dir}))(t)
	if set.Train.Len() != 200 || set.Test.Len() != 100 || set.Train.Classes != 100 {
		t.Fatalf("%d and %d samples of %d classes, want 200 and 100 of 100", set.Train.Len(), set.Test.Len(),
			set.Train.Classes)
	}
	for i, l := range set.Train.Labels {
		record := s.content["train.bin"][i*cifar100Record:][:cifar100Record]
		if l != record[1] {
			t.Fatalf("sample %d: label %d, want the fine one, %d", i, l, record[1])
		}
		for c := range 3 {
			if got, want := set.Train.Images[i*photoPixels+3*77+c], record[2+1024*c+77]; got != want {
				t.Fatalf("sample %d: pixel 77 of channel %d is %d, want %d", i, c, got, want)
			}
		}
	}
}

// No checksum of the files is published: those from the archive, whose checksum is, are recorded; others need as many
// images of each class as the official ones.
func TestCIFAR100Files(t *testing.T) {
	s := newSmall(t, "cifar100")
	dir, _, _ := alone(t)
	write(t, filepath.Join(dir, s.archive.name), s.tarball)
	verify := func(want Status) {
		t.Helper()
		all := must.Get(Verify(t.Context(), "cifar100", Options{Dir: dir, official: &s.source}))(t)
		if st := all[len(all)-1]; st.Status != want {
			t.Errorf("%s, want %s", st, want)
		}
	}
	verify(Official) // the archive
	must.Get(s.open(t, Options{Dir: dir}))(t)
	folder := filepath.Join(dir, "cifar-100-binary")
	wantClean(t, folder, "batches.meta.txt", "train.bin", "train.bin.sha256", "test.bin", "test.bin.sha256")
	verify(Recorded)
	text := string(must.Get(os.ReadFile(filepath.Join(folder, "test.bin.sha256")))(t))
	if !strings.HasPrefix(text, "# 307400 bytes, as extracted from http") {
		t.Errorf("record %q", text)
	}
	spoil := func(file string, at int, to byte) {
		data := bytes.Clone(s.content[file])
		data[at] = to
		write(t, filepath.Join(folder, file), data)
	}
	spoil("test.bin", 99, s.content["test.bin"][99]^1)
	_, err := s.open(t, Options{Dir: dir})
	wantError(t, err, ErrAltered, "test.bin: not the official file: altered: 307400 bytes, SHA-256 ",
		", want 307400 bytes")
	verify(Altered)
	must.Get(s.open(t, Options{Dir: dir, AllowAltered: true}))(t)
	must.OK(t, os.Remove(filepath.Join(folder, "test.bin.sha256")))
	must.Get(s.open(t, Options{Dir: dir}))(t) // nothing is known of a pixel
	verify(Unchecked)
	spoil("test.bin", 1, 1) // the first image, of class 0
	_, err = s.open(t, Options{Dir: dir})
	wantError(t, err, ErrAltered, "test.bin: not the official file: 0 images of class 0, want 1")
	verify(Altered)
	must.Get(s.open(t, Options{Dir: dir, AllowAltered: true}))(t)
	spoil("test.bin", 1, 100)
	_, err = s.open(t, Options{Dir: dir, AllowAltered: true})
	wantError(t, err, nil, "test.bin: record 0: label 100, want 0 … 99")
	verify(Malformed)
	write(t, filepath.Join(folder, "test.bin"), s.content["train.bin"])
	_, err = s.open(t, Options{Dir: dir, AllowAltered: true})
	wantError(t, err, nil, "test.bin: 614800 bytes, want 307400")
	write(t, filepath.Join(folder, "test.bin"), s.content["test.bin"])
	write(t, filepath.Join(folder, "test.bin.sha256"), []byte("junk"))
	_, err = s.open(t, Options{Dir: dir})
	wantError(t, err, ErrAltered, "test.bin: not the official file: malformed: ", "no SHA-256 of test.bin")
}
