package folder

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
	"rollcall/internal/lock"
	"rollcall/internal/must"
	"rollcall/results"
)

// What takes the place of a run's folder stays as it is, whenever it does.
func TestPlaceTaken(t *testing.T) {
	mine := func(t *testing.T, dir string) {
		must.OK(t, os.MkdirAll(dir, 0o777))
		must.OK(t, os.WriteFile(filepath.Join(dir, results.CurveFile), []byte("mine\n"), 0o666))
	}
	// put puts something at dir, whose folder was moved to moved. other is another run's folder, which is locked, too.
	for name, c := range map[string]struct {
		put   func(t *testing.T, dir, moved, other string)
		names string // what is in the place then; "": nothing, or no folder
		same  bool   // it is the run's folder
	}{
		"nothing": {func(*testing.T, string, string, string) {}, "", false},
		"a file": {func(t *testing.T, dir, _, _ string) {
			must.OK(t, os.WriteFile(dir, []byte("mine\n"), 0o666))
		}, "", false},
		"an empty folder": {func(t *testing.T, dir, _, _ string) { must.OK(t, os.Mkdir(dir, 0o777)) }, "", false},
		"a folder":        {func(t *testing.T, dir, _, _ string) { mine(t, dir) }, "curve.csv", false},
		"a folder with an empty lock": {func(t *testing.T, dir, _, _ string) {
			mine(t, dir)
			must.OK(t, os.WriteFile(filepath.Join(dir, lock.File), nil, 0o666))
		}, ".lock curve.csv", false},
		"a folder with a folder as lock": {func(t *testing.T, dir, _, _ string) {
			mine(t, dir)
			must.OK(t, os.Mkdir(filepath.Join(dir, lock.File), 0o777))
		}, ".lock curve.csv", false},
		"the locked folder of another run": {func(t *testing.T, dir, _, other string) {
			mine(t, other)
			must.OK(t, os.Rename(other, dir))
		}, ".lock curve.csv", false},
		"a link to a folder": {func(t *testing.T, dir, _, other string) {
			mine(t, other+"-mine")
			must.OK(t, os.Symlink(other+"-mine", dir))
		}, "curve.csv", false},
		"a link to nothing": {func(t *testing.T, dir, _, _ string) { must.OK(t, os.Symlink("none", dir)) }, "", false},
		"a link to itself":  {func(t *testing.T, dir, _, _ string) { must.OK(t, os.Symlink(dir, dir)) }, "", false},
		"a link to where it is": {func(t *testing.T, dir, moved, _ string) {
			must.OK(t, os.Symlink(moved, dir))
		}, ".lock run.json", true},
		"a copy of it": {func(t *testing.T, dir, moved, _ string) {
			must.OK(t, os.CopyFS(dir, os.DirFS(moved)))
		}, ".lock run.json", true},
		"itself, back again": {func(t *testing.T, dir, moved, _ string) {
			must.OK(t, os.Rename(moved, dir))
		}, ".lock run.json", true},
	} {
		for _, begun := range []bool{false, true} {
			when := map[bool]string{false: "before", true: "after"}[begun]
			t.Run(name+", "+when, func(t *testing.T) {
				top := t.TempDir()
				w := &Want{Dir: filepath.Join(top, "seed-3")}
				held := must.Get(lock.Take(w.Dir, lock.Holder{}))(t)
				other := filepath.Join(top, "seed-4")
				otherHeld := must.Get(lock.Take(other, lock.Holder{}))(t)
				var p *Place
				if begun {
					p = must.Get(Begin(w, New{}, held))(t)
				}
				moved := filepath.Join(top, "moved")
				must.OK(t, os.Rename(w.Dir, moved))
				c.put(t, w.Dir, moved, other)
				err := error(nil)
				if !begun {
					p, err = Begin(w, New{Aside: !c.same}, held)
				}
				if err == nil {
					err = p.Publish(results.RunFile, func(path string, before files.Before) error {
						return files.WriteFile(path, func(io.Writer) error { return nil }, before)
					})
				}
				if c.same && err != nil || !c.same && !errors.Is(err, ErrGone) {
					t.Errorf("%v, want an error that the folder is gone: %v", err, !c.same)
				}
				names := func() string {
					if info, err := os.Stat(w.Dir); err != nil || !info.IsDir() {
						return ""
					}
					return filestest.FileNames(t, w.Dir)
				}
				if names() != c.names {
					t.Errorf("in its place %q, want %q", names(), c.names)
				}
				_, before := os.Lstat(w.Dir)
				must.OK(t, errors.Join(held.Release(), otherHeld.Release()))
				if _, after := os.Lstat(w.Dir); (before == nil) != (after == nil) || names() != c.names {
					t.Errorf("after the lock was released: %q, %v, want %q, %v", names(), after, c.names, before)
				}
			})
		}
	}
}
