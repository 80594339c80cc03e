package results_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/resultstest"
)

// savedRun writes a complete run with a model and one of clients, and what is none.
func savedRun(t *testing.T, out string) (dir string) {
	t.Helper()
	r := resultstest.Complete("run", "fedawe", 3, 0.1, 0.2)
	dir = resultstest.WriteRun(t, out, r)
	for _, name := range []string{results.ModelFile, results.ClientModelFile(7), "mine.safetensors"} {
		overwrite(t, filepath.Join(dir, name), "bytes of "+name)
	}
	info := must.Get(results.ReadRunInfo(filepath.Join(dir, results.RunFile)))(t)
	resultstest.Sign(t, dir, info)
	return dir
}

// Models are held to the checksums in run.json, in both directions. One that is not as it was written, or that the run
// has not written, is no fault of the run, and counts as not written.
func TestModelChecksums(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(dir string) error
		want []string
	}{
		{"as written", func(string) error { return nil }, nil},
		{"another file", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "mine.safetensors"), nil, 0o666)
		}, nil},
		{"changed", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, results.ModelFile), []byte("Bytes of model.safetensors"), 0o666)
		}, []string{"model.safetensors: checksum sha256:"}},
		{"removed", func(dir string) error {
			return os.Remove(filepath.Join(dir, "model-client-7.safetensors"))
		}, []string{"model-client-7.safetensors: no such file"}},
		{"added", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "model-client-8.safetensors"), nil, 0o666)
		}, []string{"model-client-8.safetensors: no checksum in run.json"}},
		{"a folder", func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, results.ModelFile)),
				os.Mkdir(filepath.Join(dir, results.ModelFile), 0o777))
		}, []string{"model.safetensors: d---------, want a file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := savedRun(t, t.TempDir())
			must.OK(t, c.do(dir))
			run, bad := results.ReadRunFolder(dir)
			if bad != nil || run.Damaged {
				t.Errorf("%v, damaged %t, want a sound run", bad, run.Damaged)
			}
			var beside []error
			for _, f := range run.Beside {
				beside = append(beside, f.Err)
				if run.Wrote(f.Name) || f.Foreign != (c.name == "added") {
					t.Errorf("%+v: written %t, want it not, and foreign if it was added", f, run.Wrote(f.Name))
				}
			}
			resultstest.MustHold(t, beside, c.want...)
		})
	}
}

// Models go where the run goes, and nothing else that lies beside it.
func TestModelsAreCopied(t *testing.T) {
	run, bad := results.ReadRunFolder(savedRun(t, t.TempDir()))
	resultstest.MustHold(t, bad)
	for name, copied := range map[string]func(to string) error{
		"copied":  func(to string) error { return results.CopyRun(&run, to) },
		"adopted": func(to string) error { _, err := results.Adopt(&run, to, "fedawe-2"); return err },
	} {
		to := filepath.Join(t.TempDir(), filepath.Base(filepath.Dir(run.Dir)), "seed-3")
		must.OK(t, copied(to))
		_, bad := results.ReadRunFolder(to)
		resultstest.MustHold(t, bad)
		models, err := results.ModelFiles(to)
		if err != nil || fmt.Sprint(models) != "[model-client-7.safetensors model.safetensors]" {
			t.Errorf("%s: models %v, %v, want both", name, models, err)
		}
		if _, err := os.Stat(filepath.Join(to, "mine.safetensors")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: mine.safetensors: %v, want it left behind", name, err)
		}
	}
}
