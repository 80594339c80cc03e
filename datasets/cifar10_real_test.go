package datasets

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
)

// realCIFAR10 returns options that find the real files: in $ROLLCALL_DATA, or unpacked from a folder beside the
// repository. Without either the test is skipped.
func realCIFAR10(t *testing.T) Options {
	t.Helper()
	o := Options{}
	if _, err := Find("cifar10", o); err == nil {
		return o
	}
	longtest.Only(t, "CIFAR-10 is not in $ROLLCALL_DATA, and unpacking it takes a quarter of a minute")
	script := "../../shared/data/unpack.sh"
	if !isFile(script) {
		t.Skip("CIFAR-10 is neither in $ROLLCALL_DATA nor in ../shared/data beside the repository")
	}
	if _, err := exec.LookPath("xz"); err != nil {
		t.Skip("CIFAR-10 cannot be unpacked: ", err)
	}
	o.Dir = t.TempDir()
	if out, err := exec.Command("bash", script, o.Dir).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return o
}

// The real files: what they hold is known from their authors (10 classes of 5,000 + 1,000 images) and from everybody
// who normalises by the mean of the training set.
func TestCIFAR10Real(t *testing.T) {
	o := realCIFAR10(t)
	set := must.Get(Open(t.Context(), "cifar10", o))(t)
	for _, c := range []struct {
		part *plan.Samples
		want int // images of each class
	}{{set.Train, 5000}, {set.Test, 1000}} {
		var count [10]int
		for _, l := range c.part.Labels {
			count[l]++
		}
		if want := [10]int(slices.Repeat([]int{c.want}, 10)); count != want || len(c.part.Images) != 10*c.want*3072 {
			t.Errorf("%s: %v images of the classes in %d bytes, want %v in %d",
				c.part.Name, count, len(c.part.Images), want, 10*c.want*3072)
		}
	}
	// One unit of the fourth digit, the last one printed; the printed deviations are means over images, and not
	// compared.
	mean, _ := moments(set.Train.Images, 3)
	for c, want := range set.Train.Mean {
		if math.Abs(float64(mean[c]-want)) > 1e-4 {
			t.Errorf("channel %d: mean %.5f, want %.4f ± 0.0001", c, mean[c], want)
		}
	}
	// frog, truck, truck, deer, …
	if got := set.Train.Labels[:10]; !slices.Equal(got, []uint8{6, 9, 9, 4, 1, 1, 2, 7, 8, 3}) {
		t.Errorf("first labels %v, want 6 9 9 4 1 1 2 7 8 3", got)
	}
	// Pixels of the second file land behind the first's: against the file itself.
	found := must.Get(Find("cifar10", o))(t)
	data := must.Get(os.ReadFile(filepath.Join(found.Dir, "data_batch_2.bin")))(t)
	for _, at := range [][3]int{{0, 0, 0}, {17, 5, 30}, {9999, 31, 31}} {
		i, y, x := at[0], at[1], at[2]
		for c := range 3 {
			got, want := set.Train.Images[(((10000+i)*32+y)*32+x)*3+c], data[i*3073+1+c*1024+y*32+x]
			if got != want {
				t.Errorf("image %d pixel %d,%d channel %d: %d, want %d", 10000+i, y, x, c, got, want)
			}
		}
	}
	all, err := Verify("cifar10", o)
	if err != nil || len(all) != 6 {
		t.Fatalf("Verify: %v, %v, want six files", all, err)
	}
	for _, s := range all {
		if s.Status != Official || s.String() != s.File+": official" {
			t.Errorf("%s, want official", s)
		}
	}
	// Computed apart from this program, by a few lines of Python over the official files.
	if want := "80387ddb9a0edf3fc4a964ee3770296169bb26a651050df20035579673099660"; set.Checksum != want {
		t.Errorf("checksum %s, want %s", set.Checksum, want)
	}
}

func BenchmarkOpenCIFAR10(b *testing.B) {
	o := Options{}
	if _, err := Find("cifar10", o); err != nil {
		b.Skip(err)
	}
	for b.Loop() {
		must.Get(Open(b.Context(), "cifar10", o))(b)
	}
}
