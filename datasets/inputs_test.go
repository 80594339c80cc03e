package datasets

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/internal/must"
)

// gzip's own rule: streams may follow each other, zeros may follow the last, and nothing else.
func TestGunzip(t *testing.T) {
	one, two := zipped([]byte("one")), zipped([]byte("two"))
	for _, c := range []struct {
		name       string
		file       []byte
		want, fail string
	}{
		{"one stream", one, "one", ""},
		{"two streams", slices.Concat(one, two), "onetwo", ""},
		{"a zero", append(bytes.Clone(one), 0), "one", ""},
		{"a block of zeros", append(bytes.Clone(one), make([]byte, 4096)...), "one", ""},
		{"zeros after two", slices.Concat(one, two, make([]byte, 1<<17)), "onetwo", ""},
		{"empty streams", slices.Concat(bytes.Repeat(zipped(nil), 300), one, zipped(nil)), "one", ""},
		{"other bytes", slices.Concat(one, []byte("junk")), "one", "after the end of the gzip stream: byte 0x6a"},
		{"bytes after zeros", slices.Concat(one, make([]byte, 5000), []byte{7}), "one", "byte 0x07, want zeros"},
		{"a stream after zeros", slices.Concat(one, make([]byte, 512), two), "one", "byte 0x1f, want zeros"},
		{"half a stream", slices.Concat(one, two[:7]), "one", "truncated"},
		{"half a mark", append(bytes.Clone(one), 0x1f), "one", "byte 0x1f, want zeros"},
		{"cut", one[:len(one)-3], "one", "unexpected EOF"},
		{"no gzip", []byte("junk"), "", "truncated"},
	} {
		var got []byte
		z, err := newGunzip(bufio.NewReader(bytes.NewReader(c.file)))
		if err == nil {
			got, err = io.ReadAll(z)
		}
		failed := err != nil && c.fail != "" && strings.Contains(err.Error(), c.fail)
		if string(got) != c.want || !failed && (err != nil || c.fail != "") {
			t.Errorf("%s: %q, %v, want %q, %q", c.name, got, err, c.want, c.fail)
		}
	}
}

// FuzzGunzip: what compress/gzip reads, and maybe zeros after it, is read the same.
func FuzzGunzip(f *testing.F) {
	f.Add(zipped([]byte("one")), uint16(3))
	f.Add(slices.Concat(zipped(nil), zipped([]byte("two"))), uint16(0))
	f.Fuzz(func(t *testing.T, file []byte, zeros uint16) {
		var want []byte
		reference, wantErr := gzip.NewReader(bytes.NewReader(file))
		if wantErr == nil {
			want, wantErr = io.ReadAll(io.LimitReader(reference, 1<<20))
		}
		z, err := newGunzip(bufio.NewReader(bytes.NewReader(append(bytes.Clone(file), make([]byte, zeros)...))))
		var got []byte
		if err == nil {
			got, err = io.ReadAll(io.LimitReader(z, 1<<20))
		}
		if wantErr == nil && (err != nil || !bytes.Equal(got, want)) {
			t.Errorf("%d bytes, %v, want %d", len(got), err, len(want))
		}
	})
}

// An archive of one's own is as good as the files in it.
func TestOwnArchive(t *testing.T) {
	for _, c := range []struct {
		name    string
		pack    func(t *testing.T, s *small)
		altered bool   // read with AllowAltered
		fail    string // "": it is read
	}{
		{name: "in the folder", pack: func(t *testing.T, s *small) { s.pack(t, s.folders[0]) }},
		{name: "at the root", pack: func(t *testing.T, s *small) { s.pack(t, ".") }},
		{name: "below ./", pack: func(t *testing.T, s *small) { s.pack(t, "./"+s.folders[0]) }},
		{name: "in another folder", pack: func(t *testing.T, s *small) { s.pack(t, "home/me/cifar") }},
		{name: "zeros after its end", pack: func(t *testing.T, s *small) {
			s.pack(t, s.folders[0])
			s.tarball = append(s.tarball, make([]byte, 10240)...)
		}},
		{name: "other bytes after its end", pack: func(t *testing.T, s *small) {
			s.pack(t, s.folders[0])
			s.tarball = append(s.tarball, "junk"...)
		}, fail: "after the end of the gzip stream: byte 0x6a"},
		{name: "a picture changed", pack: func(t *testing.T, s *small) {
			s.content["data_batch_2.bin"][7] ^= 1
			s.pack(t, s.folders[0])
		}, fail: "data_batch_2.bin: altered: SHA-256 "},
		{name: "a picture changed, allowed", pack: func(t *testing.T, s *small) {
			s.content["data_batch_2.bin"][7] ^= 1
			s.pack(t, s.folders[0])
		}, altered: true},
		{name: "two files swapped", pack: func(t *testing.T, s *small) {
			a, b := "data_batch_2.bin", "data_batch_3.bin"
			s.content[a], s.content[b] = s.content[b], s.content[a]
			s.pack(t, s.folders[0])
		}, fail: "data_batch_2.bin: swapped: SHA-256 "},
		{name: "a label of no class", pack: func(t *testing.T, s *small) {
			s.content["data_batch_2.bin"][0] = 10
			s.pack(t, s.folders[0])
		}, altered: true, fail: "data_batch_2.bin: malformed: record 0: label 10"},
		{name: "a file missing", pack: func(t *testing.T, s *small) {
			delete(s.content, "test_batch.bin")
			s.pack(t, s.folders[0])
		}, altered: true, fail: "test_batch.bin: not in the archive"},
		{name: "a file twice", pack: func(t *testing.T, s *small) {
			s.files = append(slices.Clone(s.files), s.files[0])
			s.pack(t, s.folders[0])
			s.files = s.files[:len(s.files)-1]
		}, fail: "data_batch_1.bin: twice in the archive"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSmall(t, "cifar10")
			official := s.archive
			c.pack(t, s)
			s.archive = official
			dir, _, _ := alone(t)
			path := filepath.Join(dir, s.archive.name)
			write(t, path, append(s.tarball, 0)) // of another length in any case
			o := Options{Dir: dir, AllowAltered: c.altered, official: &s.source}
			all, err := Verify(t.Context(), "cifar10", o)
			ok := err == nil && !slices.ContainsFunc(all, func(f FileStatus) bool { return !f.Status.OK() })
			if ok != (c.fail == "" && !c.altered) {
				t.Errorf("verify: %v, %v", all, err)
			}
			_, err = s.open(t, o)
			if c.fail == "" {
				must.OK(t, err)
				return
			}
			wantError(t, err, ErrAltered, "extract "+path, "not the official file: ", "; in it: ", c.fail)
			wantClean(t, dir, s.archive.name)
		})
	}
}

// An archive may have been decompressed, under either name.
func TestPlainArchives(t *testing.T) {
	cifar10, cinic10 := newSmall(t, "cifar10"), newSmall(t, "cinic10")
	for _, c := range []struct {
		set *small
		gz  []byte
	}{{cifar10, cifar10.tarball}, {cinic10, tarball("", miniTree(2))}} {
		for _, name := range []string{c.set.archive.name, strings.TrimSuffix(c.set.archive.name, ".gz")} {
			dir, _, _ := alone(t)
			write(t, filepath.Join(dir, name), unzipped(t, c.gz))
			o := Options{Dir: dir, official: &c.set.source}
			all := must.Get(Verify(t.Context(), c.set.info.Name, o))(t)
			if bad := slices.IndexFunc(all, func(f FileStatus) bool { return !f.Status.OK() }); bad >= 0 {
				t.Errorf("%s: %s", name, all[bad])
			}
			must.Get(Open(t.Context(), c.set.info.Name, o))(t)
		}
	}
}

// What is no tar archive is named as what it is.
func TestForeignArchives(t *testing.T) {
	for begin, want := range map[string]string{
		"PK\x03\x04": "a zip file, want a tar archive, gzipped or not", "\xfd7zXZ\x00": "an xz file",
		"BZh91AY": "a bzip2 file", "\x28\xb5\x2f\xfd": "a zstd file", "\n <!DOCTYPE html>": "a web page",
		"anything else": "no tar archive, gzipped or not", "": "an archive of nothing",
		"\x80\x04\x95": "a pickle of Python",
	} {
		for _, set := range []string{"cifar10", "cinic10"} {
			s := newSmall(t, set)
			dir, _, _ := alone(t)
			write(t, filepath.Join(dir, s.archive.name), []byte(begin))
			for _, altered := range []bool{false, true} {
				_, err := s.open(t, Options{Dir: dir, AllowAltered: altered})
				wantError(t, err, nil, s.archive.name+": ", want)
			}
			all, err := Verify(t.Context(), set, Options{Dir: dir, official: &s.source})
			if err != nil || len(all) != 1 || all[0].Status != Malformed || !strings.Contains(all[0].Found, want) {
				t.Errorf("%s %q: %v, %v, want %s", set, begin, all, err, want)
			}
		}
	}
	// A tar archive without the mark of later ones is an archive, too.
	old := tarball("", miniTree(2))
	plain := unzipped(t, old)
	for at := 0; at+512 <= len(plain); at += 512 {
		if block := plain[at : at+512]; string(block[257:262]) == "ustar" {
			copy(block[257:], make([]byte, 255))
			copy(block[148:156], "        ")
			sum := 0
			for _, b := range block {
				sum += int(b)
			}
			copy(block[148:], fmt.Sprintf("%06o\x00 ", sum))
		}
	}
	dir, _, _ := alone(t)
	write(t, filepath.Join(dir, "CINIC-10.tar"), plain)
	wantMini(t, must.Get(Open(t.Context(), "cinic10", Options{Dir: dir, official: &newSmall(t, "cinic10").source}))(t))
}

// The pictures of an archive may lie in any folder.
func TestCINIC10Folders(t *testing.T) {
	for _, folder := range []string{"", "CINIC-10/", "./", "./CINIC-10/", "/", "cin/", "data/CINIC-10/"} {
		dir, _, _ := alone(t)
		write(t, filepath.Join(dir, "CINIC-10.tar.gz"), tarball(folder, miniTree(2)))
		set, err := Open(t.Context(), "cinic10", Options{Dir: dir, official: &newSmall(t, "cinic10").source})
		if err != nil {
			t.Errorf("%s: %v", folder, err)
			continue
		}
		wantMini(t, set)
	}
}

// Pictures of the same names, sizes and times are others, as those of a disk image may be whose times are all one.
func TestCINIC10CacheOfOthers(t *testing.T) {
	alone(t)
	var sums []string
	for _, shade := range []byte{1, 200} {
		dir := t.TempDir()
		layTree(t, dir, miniTree(2))
		for _, e := range miniTree(2) {
			path := filepath.Join(dir, e.name)
			must.OK(t, os.WriteFile(path, flatPNG(shade), 0o666))
			must.OK(t, os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)))
		}
		o := Options{Dir: dir, AllowAltered: true, official: &newSmall(t, "cinic10").source}
		sums = append(sums, must.Get(Open(t.Context(), "cinic10", o))(t).Checksum)
	}
	if sums[0] == sums[1] {
		t.Error("the second tree has the pixels of the first")
	}
}

// flatPNG is a picture of one colour, whose file has the same length for each.
func flatPNG(shade byte) []byte {
	p := image.NewGray(image.Rect(0, 0, photoSide, photoSide))
	for i := range p.Pix {
		p.Pix[i] = shade
	}
	var b bytes.Buffer
	_ = (&png.Encoder{CompressionLevel: png.NoCompression}).Encode(&b, p) // a buffer takes all
	return b.Bytes()
}

// A record may be one that sha256sum has written, which says no size.
func TestRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.tar.gz")
	sum := strings.Repeat("0f", 32)
	now := record{7, sum}
	for text, want := range map[string]Status{
		sum + "  a.tar.gz\n":                                 Recorded,
		sum + " *a.tar.gz\r\n":                               Recorded,
		sum + "  /some/where/a.tar.gz\n":                     Recorded,
		strings.ToUpper(sum) + "  a.tar.gz\n":                Recorded,
		"# 7 bytes\n" + sum + "  a.tar.gz\n":                 Recorded,
		"# 8 bytes\n" + sum + "  a.tar.gz\n":                 Altered,
		strings.Repeat("0e", 32) + "  a.tar.gz\n":            Altered,
		sum + "  b.tar.gz\n" + sum + "  ./a.tar.gz":          Recorded,
		sum + "  b.tar.gz\n":                                 "",
		"# 9999999999999999999 bytes\n" + sum + "  a.tar.gz": "",
		sum: "",
	} {
		write(t, recordPath(path), []byte(text))
		got, _, err := recorded(path, now)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %s, %v, want %q", text, got, err, want)
		}
	}
}

// An interruption and a full disk say nothing of the files, and stop whoever waits for the archive in no way.
func TestOwnArchiveInterrupted(t *testing.T) {
	s := newSmall(t, "cifar10")
	official := s.archive
	s.pack(t, "other")
	s.archive = official
	dir, _, _ := alone(t)
	path := filepath.Join(dir, s.archive.name)
	write(t, path, append(s.tarball, 0))
	found := Found{Dir: filepath.Join(dir, s.folders[0]), Archive: path}
	for n := range 40 { // reads until the context ends
		ctx := &endingContext{Context: t.Context(), left: n}
		if err := s.extract(ctx, found, Options{}); err != nil {
			if !errors.Is(err, context.Canceled) || errors.Is(err, ErrAltered) {
				t.Errorf("after %d: %v, want it interrupted and no word of the files", n, err)
			}
			wantClean(t, dir, s.archive.name)
		}
		must.OK(t, os.RemoveAll(found.Dir))
		ctx = &endingContext{Context: t.Context(), left: n}
		all, err := s.verifyArchive(ctx, found)
		other := slices.ContainsFunc(all, func(f FileStatus) bool { return f.Status != Official })
		if err != nil && !errors.Is(err, context.Canceled) || err == nil && (other || len(all) != len(s.files)) {
			t.Errorf("after %d: %v, %v, want it interrupted", n, all, err)
		}
	}
}

// endingContext ends once it was asked so many times.
type endingContext struct {
	context.Context
	left int
}

func (e *endingContext) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

// What verify looks at is what run would use.
func TestVerifyTheSame(t *testing.T) {
	s := newSmall(t, "cifar10")
	dir, env, _ := alone(t)
	write(t, filepath.Join(dir, s.archive.name), s.tarball)
	write(t, filepath.Join(env, s.folders[0], "test_batch.bin"), s.content["test_batch.bin"])
	all, err := Verify(t.Context(), "cifar10", Options{Dir: dir, official: &s.source})
	if err != nil || len(all) != 1 || all[0].Status != Official || filepath.Dir(all[0].Path) != dir {
		t.Errorf("%v, %v, want the archive in %s", all, err, dir)
	}
	// A link to nothing or a folder in the place of a file is named, and not passed over.
	bad := filepath.Join(dir, s.folders[0], "test_batch.bin")
	must.OK(t, errors.Join(os.Mkdir(filepath.Dir(bad), 0o777), os.Symlink("nothing", bad)))
	_, err = s.open(t, Options{Dir: dir})
	wantError(t, err, nil, bad+": a folder, or a link to none, in the place of a file")
}

func unzipped(t testing.TB, file []byte) []byte {
	t.Helper()
	return must.Get(io.ReadAll(must.Get(gzip.NewReader(bytes.NewReader(file)))(t)))(t)
}

// FuzzArchive: whatever the bytes of an archive are, nothing is written beside its folder, and it is extracted if all
// of its files are the official ones, and only then.
func FuzzArchive(f *testing.F) {
	s := newSmall(f, "cifar10")
	plain := unzipped(f, s.tarball)
	f.Add(s.tarball)
	f.Add(plain)
	f.Add(plain[:len(plain)/2])
	f.Add(append(bytes.Clone(s.tarball), "tail"...))
	s.pack(f, "./other")
	f.Add(unzipped(f, s.tarball))
	s.pack(f, "../../up")
	f.Add(unzipped(f, s.tarball))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, archive := range [][]byte{data, zipped(data)} {
			top := t.TempDir()
			path := filepath.Join(top, "a", s.archive.name)
			write(t, path, archive)
			found := Found{Dir: filepath.Join(top, "a", "b"), Archive: path}
			all, broken := s.verifyArchive(t.Context(), found)
			err := s.extract(t.Context(), found, Options{})
			left := []string{s.archive.name, "b"}
			if err != nil {
				left = left[:1]
			}
			wantClean(t, top, "a")
			wantClean(t, filepath.Join(top, "a"), left...)
			other := func(f FileStatus) bool { return f.Status != Official }
			if official := broken == nil && !slices.ContainsFunc(all, other); official != (err == nil) {
				t.Fatalf("extracted: %v; verified: %v, %v", err, all, broken)
			}
		}
	})
}

// FuzzRecord: whatever is in a file .sha256, it is a record that reads back, or an error of a line.
func FuzzRecord(f *testing.F) {
	path := filepath.Join(f.TempDir(), "a.tar.gz")
	sum := strings.Repeat("0f", 32)
	must.OK(f, writeRecord(path, "http://a/b", record{7, sum}))
	f.Add(must.Get(os.ReadFile(recordPath(path)))(f))
	f.Add([]byte("\ufeff# 7 bytes\r\n" + sum + "  a.tar.gz\r\n"))
	f.Add([]byte("# 99999999999999999999 bytes\n" + sum + "  a.tar.gz\n"))
	f.Add([]byte("# 7 bytes\n" + sum + "  b.tar.gz\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "a.tar.gz")
		write(t, recordPath(path), data)
		got, err := readRecord(path)
		if err != nil {
			if strings.Contains(err.Error(), "\n") || got != (record{}) {
				t.Fatalf("%v, %q, want one line", got, err)
			}
			return
		}
		must.OK(t, writeRecord(path, "again", got))
		if back, err := readRecord(path); err != nil || back != got || len(got.sha256) != 64 || got.size < 0 {
			t.Fatalf("%v, %v, want %v", back, err, got)
		}
	})
}

// MNIST is found under the names that others give its files, and with what copies leave at their ends.
func TestMNISTNames(t *testing.T) {
	dotted := func(name string) string { return strings.Replace(name, "-idx", ".idx", 1) }
	same := func(data []byte) []byte { return data }
	for name, c := range map[string]struct {
		path  func(name string) string
		bytes func(data []byte) []byte
	}{
		"uncompressed":          {func(n string) string { return n }, same},
		"with a dot":            {dotted, same},
		"with a dot, zipped":    {func(n string) string { return dotted(n) + ".gz" }, zipped},
		"in folders":            {func(n string) string { return filepath.Join(n, n) }, same},
		"in folders with a dot": {func(n string) string { return filepath.Join(dotted(n), dotted(n)) }, same},
		"zeros after the end": {
			func(n string) string { return n + ".gz" },
			func(data []byte) []byte { return append(zipped(data), make([]byte, 512)...) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSmall(t, "mnist")
			dir, _, _ := alone(t)
			for name, data := range s.content {
				write(t, filepath.Join(dir, c.path(name)), c.bytes(data))
			}
			o := Options{Dir: dir, official: &s.source}
			for _, f := range must.Get(Verify(t.Context(), "mnist", o))(t) {
				if f.Status != Official {
					t.Errorf("verify: %s", f)
				}
			}
			must.Get(s.open(t, o))(t)
		})
	}
}

// What lies in a place and is not the set is named where it is not found; what no set has is not.
func TestStrangers(t *testing.T) {
	for name, c := range map[string]struct{ set, has, want string }{
		"Kaggle's table": {"mnist", "train.csv", "/train.csv, want train-images-idx3-ubyte.gz"},
		"NumPy":          {"mnist", "mnist.npz", "/mnist.npz, want"},
		"Python pickles": {"cifar10", "cifar-10-python.tar.gz", "/cifar-10-python.tar.gz, want cifar-10-binary.tar.gz"},
		"extra digits":   {"svhn", "extra_32x32.mat", "/extra_32x32.mat, want train_32x32.mat"},
		"in its folder":  {"svhn", "svhn/full_numbers_32x32.zip", "(has svhn/full_numbers_32x32.zip, want"},
		"of others":      {"mnist", "notes.txt", ""},
		"litter":         {"mnist", "._mnist", ""},
		"a download":     {"cifar10", "cifar-10-binary.tar.gz.part", ""},
		"an own folder":  {"mnist", "MNIST/notes.txt", ""},
		"a lock":         {"cifar10", "cifar-10-binary.tar.gz.lock", ""},
		"torchvision's":  {"mnist", "raw/train-images-idx3-ubyte.gz", "/raw lacks"},
		"Kaggle's":       {"mnist", "archive/train-images.idx3-ubyte", "(some of it is in "},
		"nested twice": {
			"cifar10", "cifar-10-batches-bin/cifar-10-batches-bin/test_batch.bin",
			"/cifar-10-batches-bin/cifar-10-batches-bin)",
		},
		"pictures below": {"cinic10", "a/CINIC-10/train/cat/x.png", "/a/CINIC-10)"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _, _ := alone(t)
			write(t, filepath.Join(dir, c.has), nil)
			_, err := Find(c.set, Options{Dir: dir, official: &newSmall(t, c.set).source})
			wantError(t, err, ErrNotFound, c.want)
			if c.want == "" && strings.Contains(err.Error(), "(has ") {
				t.Errorf("%v, want nothing of %s", err, c.has)
			}
		})
	}
}

// A place that does not exist is said to be none, and why it may have another name than was meant.
func TestPlacesThatAreNone(t *testing.T) {
	dir, _, _ := alone(t)
	t.Chdir(dir)
	write(t, "file", nil)
	must.OK(t, errors.Join(os.Mkdir("a: there", 0o777), os.Mkdir("Doe, John", 0o777)))
	for place, want := range map[string]string{
		"/nowhere":       "/nowhere (no such folder)",
		"~/data":         "~/data (no such folder: ~ is its name here",
		"$HOME/data":     "$HOME/data (no such folder: the name has a $",
		"${DATA}":        "${DATA} (no such folder: the name has a $",
		`"/data"`:        `"/data" (no such folder: the quotation marks`,
		"'/data'":        `'/data' (no such folder: the quotation marks`,
		"/nowhere/data ": "/nowhere/data  (no such folder: the name begins or ends with a space",
		"a:b":            "a:b (no such folder: want one, and not a list)",
		"a,b":            "a,b (no such folder)",
		"file":           "file (a file, want a folder)",
		"x/$USER/data":   "x/$USER/data (no such folder: the name has a $",
		"x/~/data":       "x/~/data (no such folder: ~ is its name here",
		`x/"y"`:          `x/"y" (no such folder: the quotation marks`,
		"/a:/b":          "/a:/b (no such folder: want one, and not a list)",
		"/a,/b":          "/a,/b (no such folder: want one, and not a list)",
		"/a; ~/b":        "/a; ~/b (no such folder: ",
		"Doe, John/data": "Doe, John/data (no such folder)",
		"a: there/data":  "a: there/data (no such folder)",
		"file/below":     "file/below, ",
		"a: there":       "a: there, ",
		dir:              dir + ", ",
	} {
		for _, o := range []Options{{Dir: place}, {}} {
			if o.Dir == "" {
				t.Setenv("ROLLCALL_DATA", place)
			}
			o.official = &newSmall(t, "mnist").source
			_, err := Find("mnist", o)
			wantError(t, err, ErrNotFound, "looked in "+want)
			_, err = Fetch(t.Context(), "mnist", o)
			wantError(t, err, ErrNotFound, "looked in "+want)
			refused := strings.Contains(err.Error(), "nothing is downloaded")
			if refused != strings.Contains(want, "such folder: ") {
				t.Errorf("%v, want a download unless the name is a mistake", err)
			}
		}
	}
	wantClean(t, dir, "Doe, John", "a: there", "file") // what a download has made without a byte is removed
	if left, _ := os.ReadDir("a: there"); len(left) > 0 {
		t.Errorf("%v left by a download without a byte", left)
	}
}

// Labels may be numbers of any type, as SciPy and MATLAB save them.
func TestSVHNLabelTypes(t *testing.T) {
	images, want := digits(3)
	w := little()
	numbers := func(width int) (b []byte) {
		for _, l := range want {
			x := uint64(l)
			if l == 0 {
				x = 10
			}
			b = append(b, binary.LittleEndian.AppendUint64(nil, x)[:width]...)
		}
		return b
	}
	for name, y := range map[string][]byte{
		"int64":                 w.matrix("y", 14, []int32{3, 1}, 12, numbers(8)),
		"uint64":                w.matrix("y", 15, []int32{3, 1}, 13, numbers(8)),
		"int64 as bytes":        w.matrix("y", 14, []int32{3, 1}, miUINT8, numbers(1)),
		"int32":                 w.matrix("y", 12, []int32{3, 1}, miINT32, numbers(4)),
		"uint16":                w.matrix("y", 11, []int32{3, 1}, miUINT16, numbers(2)),
		"a row":                 w.matrix("y", mxUINT8, []int32{1, 3}, miUINT8, numbers(1)),
		"int64, a row":          w.matrix("y", 14, []int32{1, 3}, 12, numbers(8)),
		"int64, compressed":     w.compressed(w.matrix("y", 14, []int32{3, 1}, 12, numbers(8))),
		"beside an int64 array": slices.Concat(w.matrix("z", 14, []int32{1, 2}, 12, make([]byte, 16)), w.labels(want)),
	} {
		file := slices.Concat(w.header(), w.images(images), y)
		got, labels, err := parseSVHN(bytes.NewReader(file), int64(len(file)), publishedFile{}, content{})
		if err != nil || !bytes.Equal(got, images) || !bytes.Equal(labels, want) {
			t.Errorf("%s: labels %v, %v, want %v", name, labels, err, want)
		}
	}
}

// What operating systems leave among the pictures is passed over, in archives and in folders.
func TestCINIC10Litter(t *testing.T) {
	files := miniTree(2)
	for _, name := range []string{
		"train/cat/Thumbs.db", "train/cat/thumbs.db", "test/dog/desktop.ini", "test/dog/Desktop.ini", "train/Thumbs.db",
		"train/cat/.DS_Store", "train/cat/._img-0.png", "train/cat/@eaDir/img-0.png", "train/@eaDir/x.png",
		"__MACOSX/train/cat/img-0.png", "train/cat/Icon\r", "train/cat/img-0.png:Zone.Identifier",
		"train/cat/Thumbs.db:encryptable", "train/@eaDir/cat/x.png", "train/dog/x.PNG:zone.identifier",
		"test/lost+found/x", "$RECYCLE.BIN/train/x.png",
	} {
		files = append(files, entry{name, []byte("litter")})
	}
	for _, archive := range []bool{true, false} {
		dir, _, _ := alone(t)
		if archive {
			write(t, filepath.Join(dir, "CINIC-10.tar.gz"), tarball("", files))
		} else {
			layTree(t, dir, files)
		}
		set, err := Open(t.Context(), "cinic10", Options{Dir: dir, official: &newSmall(t, "cinic10").source})
		must.OK(t, err)
		wantMini(t, set)
	}
	// A file that somebody has put there is still an error.
	dir := t.TempDir()
	layTree(t, dir, append(miniTree(2), entry{"train/cat/readme.txt", nil}))
	must.OK(t, os.Remove(filepath.Join(dir, "train/cat/img-0.png")))
	_, err := Open(t.Context(), "cinic10", Options{Dir: dir, official: &newSmall(t, "cinic10").source})
	wantError(t, err, nil, "readme.txt: no PNG file by its name")
}
