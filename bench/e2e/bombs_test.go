package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rollcall/internal/must"
)

// Limits of a process that is given a small file, or a sparse one, that claims to be huge.
const (
	mostResidentMB = 200
	mostBombTime   = 30 * time.Second
)

// What a file claims takes neither memory nor time: a line says what is wrong with it.
func TestBombs(t *testing.T) {
	ofProcesses(t)
	const (
		images = "MNIST/raw/train-images-idx3-ubyte"
		labels = "MNIST/raw/train-labels-idx1-ubyte"
		svhn   = "svhn/train_32x32.mat"
		cinic  = "CINIC-10.tar.gz"
		huge   = 1 << 40 // bytes of a sparse file
	)
	claim := func(n int) []byte { return idxPictures(make([][]byte, n)) }
	for _, c := range []struct {
		name, file, data string
		content          []byte
		sparse           int64 // bytes of the file; 0: those of content
		altered          bool  // a run that takes altered files, in place of `data verify`
		want             string
	}{
		{
			"2,000,000 images", images + ".gz", "mnist", zeros(t, claim(2_000_000), 2_000_000*28*28), 0, false,
			"not the official file: 2000000 samples, want 60000",
		},
		{
			"2,000,000 altered images", images + ".gz", "mnist", zeros(t, claim(2_000_000), 2_000_000*28*28), 0, true,
			"2000000 samples, want at most 1048576",
		},
		{
			"1,000,000 altered images that do not come", images + ".gz", "mnist", zeros(t, claim(1_000_000), 5<<20), 0,
			true, "784000000 bytes, want at most 67108864 in a file of this size",
		},
		{"zeros behind the images", images + ".gz", "mnist", zeros(t, claim(60_000), 5<<30), 0, false, "or more, want"},
		{"a sparse file of 2^31 images", images, "mnist", claim(1 << 20), 28 * 28 << 31, false, "at most 96088576"},
		{"a sparse altered file", images, "mnist", claim(1 << 20), 28 * 28 << 31, true, "bytes, want at most"},
		{"a sparse file of labels", labels, "mnist", idxLabels(60_000), huge, false, "bytes, want at most"},
		{
			"a huge X", svhn, "svhn", matBomb(t, 'X', []int{32, 32, 3, 1 << 17}, 600<<20), 0, false,
			"X: not the official file: 131072 samples, want 73257",
		},
		{
			"as many images of zeros as are official", svhn, "svhn",
			matBomb(t, 'X', []int{32, 32, 3, 73257}, 32*32*3*73257), 0, false, " bytes on disk, want 182040794",
		},
		{
			"a million altered images of zeros", svhn, "svhn",
			matBomb(t, 'X', []int{32, 32, 3, 1_000_000}, 32*32*3*1_000_000), 0, true, " in a file of this size",
		},
		{
			"a huge y", svhn, "svhn", matBomb(t, 'y', []int{600 << 20, 1}, 600<<20), 0, true,
			"y: 629145600 samples, want at most 1048576",
		},
		{
			"another variable", svhn, "svhn", matBomb(t, 'Z', []int{600 << 20, 1}, 600<<20), 0, false,
			"Z: more than 452311696 bytes, decompressed",
		},
		{"a sparse MAT-file", svhn, "svhn", matFile(2), huge, false, "bytes, want at most"},
		{
			"names of a megabyte", cinic, "cinic10", archive(t, 300, 1, func(int) string {
				return "train/cat/" + strings.Repeat("n", 1_000_000) + ".png"
			}), 0, false, "a name of 1000014 bytes, want at most 255",
		},
		{"2,000,000 entries", cinic, "cinic10", archive(t, 10_000, 200, func(i int) string {
			return fmt.Sprintf("valid/cat/.%d.png", i)
		}), 0, false, "more than 1048576 files and folders"},
		{"altered names", cinic, "cinic10", archive(t, 1<<18, 1, func(i int) string {
			return fmt.Sprintf("train/cat/%0230d.png", i)
		}), 0, true, "more than 33554432 bytes of names"},
		{"one picture too many", cinic, "cinic10", archive(t, 9001, 1, func(i int) string {
			return fmt.Sprintf("test/ship/%d.png", i)
		}), 0, false, "test/ship: more than 9000 pictures, want 9000"},
		{
			"a skipped file of 5 GB", cinic, "cinic10", zeros(t, tarHeader(t, "x", 5<<30), 5<<30), 0, false,
			"more than 4294967296 bytes, decompressed",
		},
		{"a sparse archive", cinic, "cinic10", []byte("\x1f\x8b"), huge, false, "want at most 2147483648"},
		{"a sparse record", cinic + ".sha256", "cinic10", nil, huge, false, "want at most 4096"},
		{"a sparse batch", "cifar-10-batches-bin/data_batch_1.bin", "cifar10", nil, huge, false, "want 30730000"},
		{"a sparse CIFAR-10", "cifar-10-binary.tar.gz", "cifar10", []byte("\x1f\x8b"), huge, true, "bytes, want "},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range map[string][]byte{
				images: nil, labels: idxLabels(60_000), "MNIST/raw/t10k-images-idx3-ubyte": nil,
				"MNIST/raw/t10k-labels-idx1-ubyte": idxLabels(10_000),
				svhn:                               matFile(2), "svhn/test_32x32.mat": matFile(2),
			} {
				if strings.HasPrefix(name, filepath.Dir(c.file)+"/") {
					writeIn(t, dir, name, content)
				}
			}
			if strings.HasSuffix(c.file, ".sha256") {
				writeIn(t, dir, cinic, archive(t, 1, 1, func(int) string { return "train/cat/a.png" }))
			}
			writeIn(t, dir, c.file, c.content)
			if c.sparse > 0 {
				if err := os.Truncate(filepath.Join(dir, c.file), c.sparse); err != nil {
					t.Skip("no sparse files of this size here: ", err)
				}
			}
			args := []string{"data", "verify", c.data, "--data-dir", dir}
			if c.altered {
				args = strings.Fields("run --allow-altered --rounds 1 --clients 2 --local-steps 1 --data " + c.data +
					" --out " + t.TempDir() + " --data-dir " + dir)
			}
			began := time.Now()
			o, residentMB := measured(t, args...)
			oneLineError(t, o, statusFailure)
			if !strings.Contains(o.stdout+o.stderr, c.want) {
				t.Errorf("stdout %q, stderr %q, want %q in them", o.stdout, o.stderr, c.want)
			}
			if took := time.Since(began); residentMB > mostResidentMB || took > mostBombTime {
				t.Errorf("%d MB resident, %v, want at most %d MB, %v", residentMB, took, mostResidentMB, mostBombTime)
			} else {
				t.Logf("%d MB resident, %v", residentMB, took)
			}
		})
	}
}

func writeIn(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	must.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
	must.OK(t, os.WriteFile(path, content, 0o666))
}

// measured is alone, and returns the largest memory of the process in MB as well: 0 without /proc. The usage that wait
// returns would be that of the tests, if that is larger, as a process begins with the memory of the one that starts it.
func measured(t *testing.T, args ...string) (o outcome, residentMB int) {
	t.Helper()
	c := startChild(t, "", args...)
	for ended := false; !ended; {
		select {
		case <-c.ended:
			ended = true
		case <-time.After(time.Millisecond):
		}
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Pid))
		if _, after, found := strings.Cut(string(status), "VmHWM:"); found {
			kB := must.Get(strconv.Atoi(strings.Fields(after)[0]))(t)
			residentMB = max(residentMB, kB/1000)
		}
	}
	return outcome{c.ProcessState.ExitCode(), c.stdout.String(), c.text()}, residentMB
}

// zeros returns a gzip file that begins with some bytes and goes on with n zeros. A file may be gzip files one after
// another, and one of many zeros is made once.
func zeros(t *testing.T, begin []byte, n int) []byte {
	t.Helper()
	const piece = 1 << 24
	return slices.Concat(gzipped(t, begin), bytes.Repeat(gzipped(t, make([]byte, piece)), n/piece),
		gzipped(t, make([]byte, n%piece)))
}

func gzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := must.Get(gzip.NewWriterLevel(&b, gzip.BestSpeed))(t)
	must.Get(z.Write(content))(t)
	must.OK(t, z.Close())
	return b.Bytes()
}

// archive returns a gzipped tar archive of n empty files, `times` over.
func archive(t *testing.T, n, times int, name func(i int) string) []byte {
	t.Helper()
	var b bytes.Buffer
	for i := range n {
		b.Write(tarHeader(t, name(i), 0))
	}
	return append(bytes.Repeat(gzipped(t, b.Bytes()), times), gzipped(t, make([]byte, 1024))...)
}

func tarHeader(t *testing.T, name string, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	h := tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: size, Format: tar.FormatGNU}
	must.OK(t, tar.NewWriter(&b).WriteHeader(&h))
	return b.Bytes()
}

// matBomb is a MAT-file with one compressed variable of zeros, `size` bytes of them.
func matBomb(t *testing.T, name byte, dims []int, size int) []byte {
	t.Helper()
	claimed := uint32(1)
	for _, d := range dims {
		claimed *= uint32(d)
	}
	m := matMatrix(name, dims, make([]byte, 8))
	m = m[:len(m)-8]
	binary.LittleEndian.PutUint32(m[len(m)-4:], claimed)
	binary.LittleEndian.PutUint32(m[4:], uint32(len(m)-8)+claimed)
	var b bytes.Buffer
	z := must.Get(zlib.NewWriterLevel(&b, zlib.BestSpeed))(t)
	must.Get(z.Write(m))(t)
	for piece := make([]byte, 1<<20); size > 0; size -= len(piece) {
		must.Get(z.Write(piece[:min(size, len(piece))]))(t)
	}
	must.OK(t, z.Close())
	const miCOMPRESSED = 15
	word := binary.LittleEndian.AppendUint32
	return slices.Concat(matFile(0)[:128], word(word(nil, miCOMPRESSED), uint32(b.Len())), b.Bytes())
}
