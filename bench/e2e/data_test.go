package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// halfCIFAR10 puts files of the right names and lengths where CIFAR-10 is looked for; edit may spoil them further.
func halfCIFAR10(t *testing.T, edit func(path string)) (dir string) {
	t.Helper()
	dir = t.TempDir()
	folder := filepath.Join(dir, "cifar-10-batches-bin")
	must.OK(t, os.Mkdir(folder, 0o777))
	for _, name := range []string{
		"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
		"data_batch_5.bin", "test_batch.bin",
	} {
		path := filepath.Join(folder, name)
		f := must.Get(os.Create(path))(t)
		if err := f.Truncate(10000 * 3073); err != nil { // zeros that take no room: 10,000 black pictures of class 0
			t.Fatal(err)
		}
		must.OK(t, f.Close())
	}
	if edit != nil {
		edit(folder)
	}
	return dir
}

// A result on altered files is that of these files, and of no others.
func TestRunOnAlteredData(t *testing.T) {
	if testing.Short() {
		t.Skip("reads CIFAR-10 many times")
	}
	black := halfCIFAR10(t, nil)
	label := halfCIFAR10(t, func(folder string) {
		f := must.Get(os.OpenFile(filepath.Join(folder, "data_batch_1.bin"), os.O_WRONLY, 0))(t)
		if _, err := f.WriteAt([]byte{1}, 0); err != nil { // the first picture is now of class 1
			t.Fatal(err)
		}
		must.OK(t, f.Close())
	})
	out := t.TempDir()
	run := []string{
		"run", "--data", "cifar10", "--net", "lenet5", "--clients", "4", "--rounds", "1", "--local-steps", "1",
		"--batch", "8", "--eval-train=false", "--out", out,
	}
	for _, c := range []struct {
		name, dir string
		kept      bool
		more      []string
	}{
		{"first", black, false, nil},
		{"again", black, true, nil},
		{"another label", label, false, []string{"--again"}},
		{"the first files", black, false, []string{"--again"}},
		{"another label, mixed", label, true, []string{"--mixed"}},
	} {
		o := pass(t, slices.Concat(run, []string{"--allow-altered", "--data-dir", c.dir}, c.more)...)
		if strings.Contains(o.stdout, "kept") != c.kept {
			t.Errorf("%s: stdout %q, want a kept run: %t", c.name, o.stdout, c.kept)
		}
	}
	dir := filepath.Dir(only(t, out, curvePath))
	for _, files := range []string{label, black} { // each stands aside while the other is in place
		o := pass(t, append(run, "--allow-altered", "--data-dir", files)...)
		if !strings.Contains(o.stderr, ": moved back from .old") || !strings.Contains(o.stdout, "kept") {
			t.Errorf("%s: %q, %q, want the run taken back", files, o.stdout, o.stderr)
		}
	}
	for _, aside := range must.Get(filepath.Glob(filepath.Join(dir, ".old*")))(t) {
		must.OK(t, os.RemoveAll(aside))
	}
	before := contents(t, only(t, out, curvePath))
	o := rollcall(t, append(run, "--allow-altered", "--data-dir", label)...)
	if o.status != statusFailure || !strings.Contains(o.stderr, "data checksum sha256:") ||
		!strings.Contains(o.stderr, "--mixed accepts a finished run") ||
		contents(t, only(t, out, curvePath)) != before {
		t.Errorf("another label: status %d, %q, want both checksums, what to do, and the run left alone",
			o.status, o.stderr)
	}
	oneLineError(t, rollcall(t, append(run, "--data-dir", black)...), statusFailure,
		"data_batch_1.bin", "not the official file")
}
