package lock

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollcall/internal/must"
)

// One process at a time has a folder, and says who it is; what it has made for nothing goes with it.
func TestTake(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cell", "seed-3")
	first, err := Take(dir, Holder{Version: "v1"})
	if err != nil || first.Useless {
		t.Skipf("this file system cannot lock: %v", err)
	}
	first.Progress("cpu-fp32", 7, 9)
	_, err = Take(dir, Holder{Version: "v2"})
	held, is := errors.AsType[*HeldError](err)
	if !is || held.Holder.PID != os.Getpid() || held.Holder.Version != "v1" ||
		!strings.HasSuffix(err.Error(), ", round 7/9") {
		t.Errorf("%v, want the first holder, and how far it is", err)
	}
	if h, err := Running(dir); err != nil || h == nil || h.Numerics != "cpu-fp32" {
		t.Errorf("%+v, %v, want the holder", h, err)
	}
	must.OK(t, first.Release())
	if _, err := os.Stat(filepath.Dir(dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want the folders gone that hold nothing", err)
	}
	if h, err := Running(dir); err != nil || h != nil {
		t.Errorf("%+v, %v, want nobody", h, err)
	}

	second := must.Get(Take(dir, Holder{}))(t)
	must.OK(t, os.WriteFile(filepath.Join(dir, "curve.csv"), nil, 0o666))
	must.OK(t, second.Release())
	if text, err := os.ReadFile(filepath.Join(dir, File)); err != nil || len(text) > 0 {
		t.Errorf("%q, %v, want the file to stay, without its text", text, err)
	}
	third := must.Get(Take(dir, Holder{}))(t)
	must.OK(t, third.Release())
}

// What is no file cannot be locked, and is not touched.
func TestTakeNoFile(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"a folder": func(path string) error { return os.Mkdir(path, 0o777) },
		"a link":   func(path string) error { return os.Symlink("elsewhere", path) },
		"a file in the way": func(path string) error {
			return os.WriteFile(filepath.Join(filepath.Dir(path), "seed-3"), nil, 0o666)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must.OK(t, put(filepath.Join(dir, File)))
			if name == "a file in the way" {
				dir = filepath.Join(dir, "seed-3")
			}
			l, err := Take(dir, Holder{})
			if err == nil || l != nil || !strings.HasPrefix(err.Error(), "lock: ") ||
				!strings.Contains(err.Error(), dir) {
				t.Errorf("%v, want an error that names the file", err)
			}
		})
	}
	if entries := must.Get(os.ReadDir("."))(t); len(entries) == 0 {
		t.Error("the tests' folder is gone")
	}
}

// A text of a process on another host counts for some minutes, that of one of this host as long as its lock is held.
func TestRunning(t *testing.T) {
	here := must.Get(os.Hostname())(t)
	for _, c := range []struct {
		name, host string
		age        time.Duration
		want       bool
	}{
		{"ended here", here, 0, false},
		{"on another host", "another", 0, true},
		{"silent on another host", "another", silence + time.Minute, false},
	} {
		dir := t.TempDir()
		l := must.Get(Take(dir, Holder{}))(t)
		if l.Useless {
			t.Skip("this file system cannot lock")
		}
		l.stop()
		l.holder.Host = c.host
		l.write()
		text := must.Get(os.ReadFile(filepath.Join(dir, File)))(t)
		must.OK(t, l.file.Close()) // as when its process is killed
		now, then := l.holder.Time, l.holder.Time.Add(-c.age)
		old := strings.Replace(string(text), now.Format(time.RFC3339Nano), then.Format(time.RFC3339Nano), 1)
		must.OK(t, os.WriteFile(filepath.Join(dir, File), []byte(old), 0o666))
		if h, err := Running(dir); err != nil || (h != nil) != c.want {
			t.Errorf("%s: %+v, %v, want it running: %t", c.name, h, err, c.want)
		}
	}
	if h, err := Running(t.TempDir()); h != nil || err != nil {
		t.Errorf("%+v, %v, want nobody", h, err)
	}
}
