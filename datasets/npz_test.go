package datasets

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// npyArray is an array of a test's .npz file.
type npyArray struct {
	name, descr, shape string
	data               []byte
}

// npy returns the array as np.save writes it.
func (a npyArray) npy() []byte {
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }\n", a.descr, a.shape)
	if strings.HasPrefix(a.shape, "F ") {
		dict = fmt.Sprintf("{'descr': '%s', 'fortran_order': True, 'shape': (%s), }\n", a.descr, a.shape[2:])
	}
	head := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(dict)))
	return slices.Concat(head, []byte(dict), a.data)
}

func npzOf(t testing.TB, method uint16, arrays ...npyArray) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, a := range arrays {
		w := must.Get(z.CreateHeader(&zip.FileHeader{Name: a.name + ".npy", Method: method}))(t)
		must.Get(w.Write(a.npy()))(t)
	}
	must.OK(t, z.Close())
	return b.Bytes()
}

// counting returns bytes 0, 1, …, modulo `below`.
func counting(n, below int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i % below)
	}
	return data
}

func floatBytes(n int, value func(i int) float32) (data []byte) {
	for i := range n {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(value(i)))
	}
	return data
}

// register writes a file and registers it; the test's end removes it from the list.
func register(t testing.TB, name string, content []byte) (set string, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.OK(t, os.WriteFile(path, content, 0o600))
	before := slices.Clone(loaders)
	t.Cleanup(func() { loaders = before })
	return Register("npz:" + path)
}

var (
	x6 = npyArray{"x", "|u1", "6, 3, 4, 2", counting(6*24, 251)}
	y6 = npyArray{"y", "<i8", "6,", slices.Concat([]byte{1, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 40))}
	x2 = npyArray{"x_test", "|u1", "2, 3, 4, 2", counting(2*24, 7)}
	y2 = npyArray{"y_test", "|u1", "2,", []byte{0, 4}}
)

func TestNPZ(t *testing.T) {
	train := func(a npyArray) npyArray { a.name += "_train"; return a }
	grey := npyArray{"x", "|u1", "6, 3, 4", counting(6*12, 251)}
	for _, c := range []struct {
		name   string
		file   []byte
		shape  string
		net    string
		test   int
		floats int
	}{
		{"stored", npzOf(t, zip.Store, x6, y6, x2, y2), "3×4×2 in 5 classes", "linear-mnist", 2, 0},
		{"deflated", npzOf(t, zip.Deflate, y2, x2, y6, x6), "3×4×2 in 5 classes", "linear-mnist", 2, 0},
		{
			"as Keras names them", npzOf(t, zip.Store, train(x6), train(y6), x2, y2), "3×4×2 in 5 classes",
			"linear-mnist", 2, 0,
		},
		{"grey", npzOf(t, zip.Store, grey, y6), "3×4×1 in 2 classes", "linear-mnist", 0, 0},
		{
			"labels [n,1]", npzOf(t, zip.Store, grey, npyArray{"y", "|u1", "6, 1", counting(6, 3)}),
			"3×4×1 in 3 classes", "linear-mnist", 0, 0,
		},
		{
			"another array beside them", npzOf(t, zip.Store, x6, y6, npyArray{"writer", "<U3", "1,", nil}),
			"3×4×2 in 2 classes", "linear-mnist", 0, 0,
		},
		{"features", npzOf(t, zip.Store, npyArray{"x", "<f4", "6, 5", sevenths(30)},
			y6), "1×1×5 in 2 classes", "linear-mnist", 0, 30},
		{
			"features as scenario export writes them",
			npzOf(t, zip.Store, npyArray{"x", "<f4", "6, 1, 1, 5", sevenths(30)}, y6),
			"1×1×5 in 2 classes", "linear-mnist", 0, 30,
		},
		{
			"series", npzOf(t, zip.Store, npyArray{"x", "|u1", "6, 1, 20, 9", counting(6*180, 251)}, y6),
			"1×20×9 in 2 classes", "linear-mnist", 0, 0,
		},
		{"features as maps", npzOf(t, zip.Store, npyArray{
			"x", "<f4", "6, 8, 9, 2",
			floatBytes(6*144, func(i int) float32 { return -float32(i) }),
		}, y6), "8×9×2 in 2 classes", "cnn-cifar10", 0, 6 * 144},
		{"256 classes", npzOf(t, zip.Store, npyArray{"x", "|u1", "256, 1, 1", counting(256, 256)},
			npyArray{"y", "<u2", "256,", wideLabels(256)}), "1×1×1 in 256 classes", "linear-mnist", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			name, err := register(t, "mine.npz", c.file)
			if err != nil || name != "mine" {
				t.Fatalf("registered %q, %v", name, err)
			}
			about := must.Get(About(name))(t)
			if got := about.Shape.String(); got != c.shape || about.Net != c.net || about.Features != (c.floats > 0) ||
				about.Augmented == about.Features || about.Flip == about.Features {
				t.Errorf("got %s, %+v, want %s, net %s", got, about, c.shape, c.net)
			}
			set := must.Get(Open(t.Context(), name, Options{}))(t)
			if set.Train.Len() != set.Train.Classes && set.Train.Len() != 6 || set.Test.Len() != c.test ||
				LeastSizes(name, Options{})[1] != c.test || LeastBytes(name, Options{}) != set.Bytes() ||
				len(set.Train.Features) != c.floats || set.Checksum == "" {
				t.Errorf("%d training and %d test samples, %d features, %d bytes of %d, want %+v", set.Train.Len(),
					set.Test.Len(), len(set.Train.Features), LeastBytes(name, Options{}), set.Bytes(), c)
			}
			// The bytes of the file, and the moments of its training part by their definition.
			if c.floats == 0 && set.Train.Len() == 6 {
				if !bytes.Equal(set.Train.Images, counting(len(set.Train.Images), 251)) || set.Train.Labels[0] == 0 &&
					c.name != "labels [n,1]" {
					t.Errorf("images %v, labels %v: not those of the file", set.Train.Images[:9], set.Train.Labels)
				}
				for channel := range set.Train.C {
					var sum, square, n float64
					for i := channel; i < len(set.Train.Images); i += set.Train.C {
						v := float64(set.Train.Images[i]) / 255
						sum, square, n = sum+v, square+v*v, n+1
					}
					mean, std := sum/n, math.Sqrt(square/n-sum*sum/n/n)
					if math.Abs(float64(set.Train.Mean[channel])-mean) > 1e-6 ||
						math.Abs(float64(set.Train.Std[channel])-std) > 1e-6 {
						t.Errorf("channel %d: mean %g, deviation %g, want %g, %g", channel, set.Train.Mean[channel],
							set.Train.Std[channel], mean, std)
					}
				}
			}
			status := must.Get(Verify(t.Context(), name, Options{}))(t)
			n := fmt.Sprint(set.Train.Len())
			if len(status) != 1 || !status[0].Status.OK() || !strings.Contains(status[0].Found, n) {
				t.Errorf("status %v, want one that counts the samples", status)
			}
		})
	}
}

// sevenths returns n float32, 0, 1/7, …
func sevenths(n int) []byte { return floatBytes(n, func(i int) float32 { return float32(i) / 7 }) }

func wideLabels(n int) (data []byte) {
	for i := range n {
		data = binary.LittleEndian.AppendUint16(data, uint16(i))
	}
	return data
}

func TestNPZRefused(t *testing.T) {
	with := func(a npyArray, change func(*npyArray)) npyArray { change(&a); return a }
	broken := npzOf(t, zip.Store, x6, y6)
	broken[bytes.Index(broken, x6.data[:20])+3] ^= 1
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "no .npz file of np.savez: zip: not a valid zip file"},
		{"text", []byte("1,2,3\n"), "no .npz file of np.savez: zip: not a valid zip file"},
		{"one array", x6.npy(), "a NumPy file, want an .npz file of np.savez"},
		{"a pickle", []byte("\x80\x04."), "a pickle of Python, want an .npz file of np.savez"},
		{"an HDF5 file", []byte("\x89HDF\r\n\x1a\n"), "an HDF5 file, want an .npz file of np.savez"},
		{"cut", npzOf(t, zip.Store, x6, y6)[:300], "no .npz file of np.savez: zip: not a valid zip file"},
		{"no arrays", npzOf(t, zip.Store), "arrays none: want x and y, and for a test set x_test and y_test"},
		{
			"other names", npzOf(t, zip.Store, npyArray{"a", "|u1", "1", nil}),
			`arrays "a": want x and y, and for a test set x_test and y_test`,
		},
		{"no labels", npzOf(t, zip.Store, x6), `arrays "x": want both x and y`},
		{"no test labels", npzOf(t, zip.Store, x6, y6, x2), `arrays "x", "x_test", "y": want both x_test and y_test`},
		{
			"both names", npzOf(t, zip.Store, x6, y6, with(x6, func(a *npyArray) { a.name = "x_train" }),
				with(y6, func(a *npyArray) { a.name = "y_train" })),
			`arrays "x", "x_train", "y", "y_train": want one of x and x_train`,
		},
		{"one array twice", npzOf(t, zip.Store, x6, y6, y6), `array "y" twice, want it once`},
		{
			"no numbers", npzOf(t, zip.Store, npyArray{"x", "|O", "6, 2, 2", []byte("x")}, y6),
			`x: byte 10: type "|O", want bool, u1 to u8, i1 to i8 or f2 to f8`,
		},
		{
			"float64", npzOf(t, zip.Store, npyArray{"x", "<f8", "6, 2", make([]byte, 96)}, y6),
			`x: type <f8, want uint8, for images, or float32: x.astype("float32")`,
		},
		{
			"signed", npzOf(t, zip.Store, with(x6, func(a *npyArray) { a.descr = "|i1" }), y6),
			`x: type |i1, want uint8, for images, or float32: x.astype("float32")`,
		},
		{
			"Fortran order", npzOf(t, zip.Store, with(x6, func(a *npyArray) { a.shape = "F " + a.shape }), y6),
			"x: in Fortran order, want C order: np.ascontiguousarray(x)",
		},
		{
			"bytes [n,F]", npzOf(t, zip.Store, npyArray{"x", "|u1", "6, 2", make([]byte, 12)}, y6),
			"x: shape [6 2], want [n,H,W,C] or [n,H,W], or with float32 [n,F]",
		},
		{
			"five dimensions", npzOf(t, zip.Store, npyArray{"x", "|u1", "6, 1, 1, 1, 1", make([]byte, 6)}, y6),
			"x: shape [6 1 1 1 1], want [n,H,W,C] or [n,H,W], or with float32 [n,F]",
		},
		{
			"channels first", npzOf(t, zip.Store, npyArray{"x", "|u1", "6, 3, 8, 9", make([]byte, 6*3*72)}, y6),
			"x: shape [6 3 8 9] has the channels first, want [n,H,W,C]: x.transpose(0, 2, 3, 1)",
		},
		{
			"no samples", npzOf(t, zip.Store, npyArray{"x", "|u1", "0, 2, 2", nil}, npyArray{"y", "|u1", "0,", nil}),
			"x: shape [0 2 2], want 1 … 10000000 samples",
		},
		{
			"no pixels", npzOf(t, zip.Store, npyArray{"x", "|u1", "6, 0, 2", nil}, y6),
			"x: shape [6 0 2], want samples of 1 … 4194304 values",
		},
		{
			"a sample too large", npzOf(t, zip.Store, npyArray{"x", "|u1", "6, 4096, 4096", make([]byte, 5)}, y6),
			"x: 100663296 bytes of |u1 of shape [6 4096 4096], want at most 67108864 in a file of this size, or " +
				"arrays that are not compressed: np.savez",
		},
		{
			"more samples than bytes",
			npzOf(t, zip.Deflate, npyArray{"x", "|u1", "60000, 28, 28", make([]byte, 1<<20)}, y6),
			"x: 1048655 bytes in the archive, want 47040000 for |u1 of shape [60000 28 28]",
		},
		{
			"2^40 samples", npzOf(t, zip.Store, npyArray{"x", "|u1", "1099511627776, 1, 1", nil}, y6),
			"x: 1099511627776 bytes of |u1 of shape [1099511627776 1 1], want at most 67108864 in a file of this " +
				"size, or arrays that are not compressed: np.savez",
		},
		{
			"a negative dimension", npzOf(t, zip.Store, npyArray{"x", "|u1", "6, -1, 2", nil}, y6),
			"x: byte 10: shape (6, -1, 2), want whole numbers, and at most 2^40 elements",
		},
		{
			"labels as floats", npzOf(t, zip.Store, x6, npyArray{"y", "<f4", "6,", make([]byte, 24)}),
			`y: type <f4, want integers, the classes: y.astype("uint8")`,
		},
		{
			"one-hot labels", npzOf(t, zip.Store, x6, npyArray{"y", "|u1", "6, 10", make([]byte, 60)}),
			"y: shape [6 10], want [6], a class of each sample",
		},
		{
			"fewer labels", npzOf(t, zip.Store, x6, npyArray{"y", "|u1", "5,", make([]byte, 5)}),
			"y: 5 labels, want 6, one of each sample",
		},
		{
			"a label of 300", npzOf(t, zip.Store, x6, npyArray{"y", "<u2", "6,", append(make([]byte, 10), 44, 1)}),
			"y: label 5 is 300, want 0 … 255",
		},
		{
			"a negative label", npzOf(t, zip.Store, x6, npyArray{"y", "|i1", "6,", []byte{0, 255, 0, 0, 0, 0}}),
			"y: label 1 is -1, want 0 … 255",
		},
		{
			"one class", npzOf(t, zip.Store, x6, npyArray{"y", "|u1", "6,", make([]byte, 6)}),
			"y: all labels are 0, want two classes at least",
		},
		{
			"labels and more", npzOf(t, zip.Store, x6, with(y6, func(a *npyArray) { a.data = append(a.data, 1) })),
			"y: byte 116: more after the last of 6 elements, want the end",
		},
		{
			"other images in the test",
			npzOf(t, zip.Store, x6, y6, npyArray{"x_test", "|u1", "2, 2, 2", make([]byte, 8)}, y2),
			"x has samples of [3 4 2], and x_test of [2 2], want the same",
		},
		{
			"floats in the test",
			npzOf(t, zip.Store, x6, y6, npyArray{"x_test", "<f4", "2, 2, 2", make([]byte, 32)}, y2),
			"x_test: type <f4, and the training part has another, want the same",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			name, err := register(t, "mine.npz", c.file)
			if err == nil {
				t.Fatalf("registered %s", name)
			}
			if _, got, _ := strings.Cut(err.Error(), "mine.npz: "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	t.Run("a damaged sample", func(t *testing.T) { // is found when the samples are read
		name := must.Get(register(t, "mine.npz", broken))(t)
		if _, err := Open(t.Context(), name, Options{}); !errors.Is(err, zip.ErrChecksum) {
			t.Errorf("got %v, want a checksum error", err)
		}
	})
	t.Run("not a finite number", func(t *testing.T) {
		nan := floatBytes(12, func(i int) float32 { return float32(math.NaN()) })
		name := must.Get(register(t, "mine.npz", npzOf(t, zip.Store, npyArray{"x", "<f4", "6, 2", nan}, y6)))(t)
		_, err := Open(t.Context(), name, Options{})
		wantError(t, err, nil, "datasets: mine: plan: mine/train: sample 0: feature 0 is NaN, want a finite number")
	})
	t.Run("changed meanwhile", func(t *testing.T) {
		name := must.Get(register(t, "mine.npz", npzOf(t, zip.Store, x6, y6)))(t)
		must.OK(t, os.WriteFile(fileOf(name).path, npzOf(t, zip.Deflate, x6, y6), 0o600))
		_, err := Open(t.Context(), name, Options{})
		wantError(t, err, nil, "changed since this command began: SHA-256 ")
	})
}

func TestNPZNames(t *testing.T) {
	file := npzOf(t, zip.Store, x6, y6)
	for base, want := range map[string]string{
		"mine.npz": "mine", "my data_v2.npz": "my-data-v2", "mnist.npz": "mnist-npz", "ü.npz": "own",
		"2024.npz": "2024",
	} {
		if got, err := register(t, base, file); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", base, got, err, want)
		}
	}
	must.Get(register(t, "twice.npz", file))(t)
	if _, err := register(t, "twice.npz", file); err == nil || !strings.Contains(err.Error(),
		"is also a set called twice, want files of different names") {
		t.Errorf("two files of one name: %v", err)
	}
	// A file that is registered again is read again.
	name := must.Get(register(t, "again.npz", file))(t)
	path := fileOf(name).path
	must.OK(t, os.WriteFile(path, npzOf(t, zip.Store, x6, y6, x2, y2), 0o600))
	if again, err := Register("npz:" + path); again != name || err != nil || LeastSizes(name, Options{})[1] != 2 {
		t.Errorf("again: %q, %v, %d test samples, want %q, 2", again, err, LeastSizes(name, Options{})[1], name)
	}
}

func FuzzNPZ(f *testing.F) {
	f.Add(npzOf(f, zip.Store, x6, y6, x2, y2))
	f.Add(npzOf(f, zip.Deflate, x6, y6))
	f.Add(npzOf(f, zip.Store, npyArray{"x", "<f4", "6, 2", make([]byte, 48)}, y6))
	f.Fuzz(func(t *testing.T, content []byte) {
		name, err := register(t, "mine.npz", content)
		if err != nil {
			return
		}
		if set, err := Open(t.Context(), name, Options{}); err == nil && LeastBytes(name, Options{}) != set.Bytes() {
			t.Errorf("%d bytes, said %d", set.Bytes(), LeastBytes(name, Options{}))
		}
	})
}
