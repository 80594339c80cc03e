package datasets

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
)

// realFile returns the path of a file in a folder beside the repository. Without it the test is skipped.
func realFile(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join("../../shared/data", name)
	if !isFile(path) {
		t.Skipf("%s is not in ../shared/data beside the repository", name)
	}
	return path
}

// realCIFAR10 returns options that find the real files: in $ROLLCALL_DATA, or unpacked from a folder beside the
// repository. Without either the test is skipped.
func realCIFAR10(t *testing.T) Options {
	t.Helper()
	o := Options{}
	if _, err := Find("cifar10", o); err == nil {
		return o
	}
	longtest.Only(t, "CIFAR-10 is not in $ROLLCALL_DATA, and unpacking it takes a quarter of a minute")
	script := realFile(t, "unpack.sh")
	if _, err := exec.LookPath("xz"); err != nil {
		t.Skip("CIFAR-10 cannot be unpacked: ", err)
	}
	o.Dir = t.TempDir()
	if out, err := exec.Command("bash", script, o.Dir).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return o
}

// realMNIST returns options that find copies of the real files beside the repository.
func realMNIST(t *testing.T) Options {
	t.Helper()
	folder := filepath.Dir(realFile(t, "mnist/train-images-idx3-ubyte.gz"))
	dir, _, _ := alone(t)
	for _, f := range mnistFiles.files {
		data := must.Get(os.ReadFile(filepath.Join(folder, f.name)))(t)
		write(t, filepath.Join(dir, "MNIST", "raw", f.name), data)
		if sum := fmt.Sprintf("%x", md5.Sum(data)); sum != f.md5 {
			t.Errorf("%s: MD5 %s, want %s", f.name, sum, f.md5)
		}
	}
	return Options{Dir: dir}
}

// realFashion returns options that find the real files: in $ROLLCALL_DATA, or where Debian's package puts them.
func realFashion(t *testing.T) Options {
	t.Helper()
	o := Options{Dir: "/usr/share/datasets"}
	if _, err := Find("fashion-mnist", o); err != nil {
		t.Skip("Fashion-MNIST is neither in $ROLLCALL_DATA nor installed (Debian's package dataset-fashion-mnist)")
	}
	return o
}

// The checksums of the real files were computed apart from this program, by a few lines of Python over the official
// files. The mean and the deviation of the training set are the ones by which everybody normalises; CIFAR-10's
// deviations are means over images, and not compared. Tolerance: of CIFAR-10 one unit of the fourth digit, the last one
// printed; of the others half a unit, and float32.
func TestReal(t *testing.T) {
	for _, c := range []struct {
		name    string
		options func(t *testing.T) Options
		files   int
		tol     float64
		want    string
	}{
		{"cifar10", realCIFAR10, 6, 1e-4, "80387ddb9a0edf3fc4a964ee3770296169bb26a651050df20035579673099660"},
		{"mnist", realMNIST, 4, 5.1e-5, "06b0d1f124c4e5fa796686ade41a9b778edacc8622f2195a352ef479ad44fc16"},
		{
			"fashion-mnist", realFashion, 4, 5.1e-5,
			"ca3ab2a37f845e1b8ae23cab1b51749a3011ba3bf1d9016176d75cbaabac376f",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := c.options(t)
			set := must.Get(Open(t.Context(), c.name, o))(t)
			if set.Checksum != c.want {
				t.Errorf("checksum %s, want %s", set.Checksum, c.want)
			}
			mean, std := moments(set.Train.Images, set.Train.C)
			for channel, want := range set.Train.Mean {
				if math.Abs(float64(mean[channel]-want)) > c.tol {
					t.Errorf("channel %d: mean %.5f, want %.4f ± %g", channel, mean[channel], want, c.tol)
				}
				want := set.Train.Std[channel]
				if c.name != "cifar10" && math.Abs(float64(std[channel]-want)) > c.tol {
					t.Errorf("channel %d: deviation %.5f, want %.4f ± %g", channel, std[channel], want, c.tol)
				}
			}
			all, err := Verify(t.Context(), c.name, o)
			if err != nil || len(all) != c.files {
				t.Fatalf("Verify: %v, %v, want %d files", all, err, c.files)
			}
			for _, s := range all {
				if s.Status != Official {
					t.Errorf("%s, want official", s)
				}
			}
		})
	}
}

// The sample has the first images of the real file, in a file of the official structure. The checksum is of the
// pixels [n,32,32,3] and the labels modulo 10, read by scipy.io.loadmat: X.transpose(3, 0, 1, 2), then y % 10 as bytes.
func TestSVHNSample(t *testing.T) {
	path := realFile(t, "svhn-sample/train_32x32.mat")
	var c content
	must.Get(svhnFiles.read(t.Context(), path, svhnFiles.files[0], &c))(t)
	sum := sha256.Sum256(append(bytes.Clone(c.images), c.labels...))
	const want = "c526f65ac2fbf21aa0dd01af72aab82a23a06e927db568850155cb1e2163f12a"
	if got := fmt.Sprintf("%x", sum); got != want || len(c.labels) != 1083 {
		t.Errorf("%d images of SHA-256 %s, want 1083 of %s", len(c.labels), got, want)
	}
}

// The sample has real pictures in the official archive's layout. The checksum was computed apart from this program, by
// PIL over the files in ImageFolder's order: pixels [n,32,32,3] and labels of train, then of test.
func TestCINIC10Sample(t *testing.T) {
	const want = "a6e9b04dd8dff914c37a302dbfc58ac142462e3e030067cb64cfd4e98942facf"
	archive := must.Get(os.ReadFile(realFile(t, "cinic10-sample/CINIC-10.tar.gz")))(t)
	dir, _, _ := alone(t)
	write(t, filepath.Join(dir, "CINIC-10.tar.gz"), archive)
	_, err := Open(t.Context(), "cinic10", Options{Dir: dir})
	wantError(t, err, ErrAltered, "datasets: cinic10: ", "train/airplane: 100 pictures, want 9000")
	o := Options{Dir: dir, AllowAltered: true}
	for _, from := range []string{"archive", "cache"} {
		set, err := Open(t.Context(), "cinic10", o)
		if err != nil || set.Checksum != want || set.Train.Len() != 1000 || set.Test.Len() != 900 || set.Dir != dir {
			t.Errorf("%s: got %+v, %v, want 1000 and 900 pictures of checksum %s", from, set, err, want)
		}
	}
}
