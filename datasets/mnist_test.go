package datasets

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/datasets/plan"
	"rollcall/internal/must"
)

func zipped(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(data)
	z.Close()
	return b.Bytes()
}

// miniMNIST is MNIST in small: 6 and 3 images, with checksums of their own. content has the files uncompressed, by
// their names without .gz.
func miniMNIST(t *testing.T, m *mirror) (s *fileSet, content map[string][]byte) {
	t.Helper()
	set := mnistFiles
	set.files = slices.Clone(set.files)
	content = map[string][]byte{}
	for i := range set.files {
		f := &set.files[i]
		n := 6 - 3*(i/2)
		data := make([]byte, n)
		dims := []uint32{uint32(n)}
		if i%2 == 0 {
			data, dims = make([]byte, n*mnistPixels), []uint32{uint32(n), 28, 28}
		}
		for j := range data {
			data[j] = byte(j*(i+3)) % (10 + 241*byte(1-i%2))
		}
		data = idx(data, dims...)
		content[strings.TrimSuffix(f.name, ".gz")] = data
		sum, sha := md5.Sum(zipped(data)), sha256.Sum256(data)
		f.length = int64(len(zipped(data)))
		f.md5, f.sum = hex.EncodeToString(sum[:]), "SHA-256 "+hex.EncodeToString(sha[:])
		f.pause, f.url, f.mirrors = time.Millisecond, "http://127.0.0.1:1/"+f.name, nil
		if m != nil {
			f.url, f.mirrors = m.url+"first/"+f.name, []string{m.url + "second/" + f.name}
			m.files["first/"+f.name], m.files["second/"+f.name] = zipped(data), zipped(data)
		}
	}
	return &set, content
}

// The real files: 60,000 and 10,000 digits. The checksum was computed apart from this program, by Python's gzip over
// the official files without their headers.
func TestMNISTReal(t *testing.T) {
	folder := filepath.Dir(realFile(t, "mnist/train-images-idx3-ubyte.gz"))
	dir, _, _ := alone(t)
	for _, f := range mnistFiles.files {
		data := must.Get(os.ReadFile(filepath.Join(folder, f.name)))(t)
		write(t, filepath.Join(dir, "MNIST", "raw", f.name), data)
		if sum := md5.Sum(data); hex.EncodeToString(sum[:]) != f.md5 {
			t.Errorf("%s: MD5 %x, want %s", f.name, sum, f.md5)
		}
	}
	o := Options{Dir: dir}
	set := must.Get(Open(t.Context(), "mnist", o))(t)
	if want := "06b0d1f124c4e5fa796686ade41a9b778edacc8622f2195a352ef479ad44fc16"; set.Checksum != want {
		t.Errorf("checksum %s, want %s", set.Checksum, want)
	}
	for _, c := range []struct {
		part *plan.Samples
		want int
	}{{set.Train, 60_000}, {set.Test, 10_000}} {
		if s := c.part; s.Len() != c.want || s.H != 28 || s.W != 28 || s.C != 1 {
			t.Errorf("%s: %d images of %d×%d×%d, want %d of 28×28×1", s.Name, s.Len(), s.H, s.W, s.C, c.want)
		}
	}
	// Tolerance: half a unit of the last digit that everybody prints, and float32.
	mean, std := moments(set.Train.Images, 1)
	if math.Abs(float64(mean[0]-set.Train.Mean[0])) > 5.1e-5 || math.Abs(float64(std[0]-set.Train.Std[0])) > 5.1e-5 {
		t.Errorf("mean %.5f, deviation %.5f, want %.4f and %.4f ± 0.00005",
			mean[0], std[0], set.Train.Mean[0], set.Train.Std[0])
	}
	o.Seed, o.Clients, o.Reading, o.SwapPairs = 1, 24, ReadPaper, 2
	infocom(t, o, set)
	all, err := Verify("mnist", o)
	if err != nil || len(all) != 4 {
		t.Fatalf("Verify: %v, %v, want four files", all, err)
	}
	for _, s := range all {
		if s.Status != Official {
			t.Errorf("%s, want official", s)
		}
	}
}

// infocom checks INFOCOM's MNIST against the plain one: 24 clients of 2,500 training samples, a fifth of which are kept
// back, and four labels exchanged for half of them.
func infocom(t *testing.T, o Options, plain *Set) {
	t.Helper()
	set := must.Get(Open(t.Context(), "mnist", o))(t)
	must.OK(t, set.Split.reserve(0.2, o.Seed))
	moved, reserved := [2]map[uint8]bool{{}, {}}, 0
	for k, own := range set.Split.Train {
		if train, valid := len(own), len(set.Split.Valid[k]); train != 2000 || valid != 500 {
			t.Errorf("client %d: %d samples for training and %d kept back, want 2000 and 500", k, train, valid)
		}
		reserved += len(set.Split.Valid[k])
		for _, i := range append(set.Split.Valid[k], own...) {
			if was := plain.Train.Labels[i]; set.Train.Labels[i] != was {
				moved[set.Split.Group[k]][was] = true
			}
		}
	}
	if reserved != 12_000 || len(moved[0]) != 0 || len(moved[1]) != 4 {
		t.Errorf("%d samples kept back, labels moved %v, want 12,000, none in group 0 and four in group 1",
			reserved, moved)
	}
}

// Compressed, plain or mixed, in any of its folders: the same set.
func TestOpenMNIST(t *testing.T) {
	for _, c := range []struct {
		name, at string
		plain    func(i int) bool
	}{
		{"compressed", "MNIST/raw", func(int) bool { return false }},
		{"plain", "mnist", func(int) bool { return true }},
		{"mixed", ".", func(i int) bool { return i%2 == 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, content := miniMNIST(t, nil)
			dir, _, _ := alone(t)
			for i, f := range s.files {
				if c.plain(i) {
					write(t, filepath.Join(dir, c.at, strings.TrimSuffix(f.name, ".gz")),
						content[strings.TrimSuffix(f.name, ".gz")])
				} else {
					write(t, filepath.Join(dir, c.at, f.name), zipped(content[strings.TrimSuffix(f.name, ".gz")]))
				}
			}
			set := must.Get(Open(t.Context(), "mnist", Options{Dir: dir, official: s}))(t)
			h := sha256.New()
			for i, f := range s.files {
				h.Write(content[strings.TrimSuffix(f.name, ".gz")][4+4*(3-2*(i%2)):])
			}
			if want := hex.EncodeToString(h.Sum(nil)); set.Checksum != want || set.Dir != filepath.Join(dir, c.at) {
				t.Errorf("checksum %s in %s, want %s in %s", set.Checksum, set.Dir, want, filepath.Join(dir, c.at))
			}
			all, err := Verify("mnist", Options{Dir: dir, official: s})
			for i, st := range all {
				if st.Status != Official {
					t.Errorf("file %d: %s, want official", i, st)
				}
			}
			if err != nil || len(all) != 4 {
				t.Errorf("Verify: %d files, %v, want 4", len(all), err)
			}
		})
	}
}

// An official file that is not what its name says is refused too; so are counts that differ.
func TestSpoiledMNIST(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(content map[string][]byte)
		want  string
		is    error
	}{
		{
			"altered", func(m map[string][]byte) { m["t10k-labels-idx1-ubyte"][9] ^= 1 },
			"t10k-labels-idx1-ubyte.gz: not the official file: altered: SHA-256 ", ErrAltered,
		},
		{
			"swapped", func(m map[string][]byte) { m["t10k-images-idx3-ubyte"] = m["train-images-idx3-ubyte"] },
			"(train-images-idx3-ubyte.gz), want SHA-256 ", ErrAltered,
		},
		{
			"images for labels",
			func(m map[string][]byte) { m["t10k-labels-idx1-ubyte"] = m["t10k-images-idx3-ubyte"] },
			"t10k-labels-idx1-ubyte.gz: header: 00000803, want 00000801 (bytes in 1 dimensions)", nil,
		},
		{
			"fewer labels", func(m map[string][]byte) { m["train-labels-idx1-ubyte"] = idx([]byte{1, 2, 3, 4, 5}, 5) },
			"train-labels-idx1-ubyte.gz: 5 labels, want 6, the images of train-images-idx3-ubyte.gz", nil,
		},
		{
			"missing", func(m map[string][]byte) { delete(m, "train-labels-idx1-ubyte") },
			"lacks train-labels-idx1-ubyte.gz", ErrNotFound,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, content := miniMNIST(t, nil)
			dir, _, _ := alone(t)
			c.spoil(content)
			for name, data := range content {
				write(t, filepath.Join(dir, name+".gz"), zipped(data))
			}
			_, err := Open(t.Context(), "mnist", Options{Dir: dir, official: s, AllowAltered: c.is == nil})
			wantError(t, err, c.is, "datasets: mnist: ", c.want)
		})
	}
}
