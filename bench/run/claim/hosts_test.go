package claim

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/internal/must"
	"rollcall/results/files"
)

// host returns a watch of a process on another machine, of which only the clock can tell whether it lives.
func host(name, boot string, pid int, now *time.Duration) *Watch {
	process := (thisProcess().newID())[13:] // of its own
	return &Watch{
		Beat: time.Hour, clock: func() time.Duration { return *now },
		self: func() identity { return identity{process: process, host: name, pid: pid, boot: boot} },
	}
}

// Neither a host's name nor the number of a process says who somebody is, or whether it lives.
func TestHosts(t *testing.T) {
	for _, c := range []struct {
		name, host, boot string
		pid              int
	}{
		{"the same PID on another host", "b", "boot-b", 1},
		{"two hosts of one name", "a", "boot-b", 2},
		{"two hosts of one name, the same PID", "a", "boot-b", 1},
		{"two containers on one machine, the same PID", "a", "boot-a", 1},
		{"machines without a boot id", "a", "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			var now time.Duration
			holder, other := host("a", "boot-a", 1, &now), host(c.host, c.boot, c.pid, &now)
			first := seize(t, holder, dir)
			for _, now = range []time.Duration{0, defaultExpiry - 1} {
				if got, h, err := other.Try(dir); got != nil || err != nil || h.Mine || h.Dead {
					t.Fatalf("%v after the first look: %v, %v, %v, want the claim of another process", now, got, h, err)
				}
			}
			first.beat()
			now += defaultExpiry
			for range 2 {
				if got, h, err := other.Try(dir); got != nil || h == nil || err != nil {
					t.Fatalf("after a heartbeat: %v, %v, %v, want that the time begins anew", got, h, err)
				}
			}
			now += defaultExpiry
			second := seize(t, other, dir)
			if err := first.Check(); !errors.Is(err, ErrLost) {
				t.Errorf("the first: %v, want %v", err, ErrLost)
			}
			if err := second.Check(); err != nil || second.epoch != 2 {
				t.Errorf("the second: %v, epoch %d, want nil, 2", err, second.epoch)
			}
		})
	}
}

// The clock of the file server is an hour off, one way or the other, and jumps: nothing depends on it.
func TestTimesOfFiles(t *testing.T) {
	dir := t.TempDir()
	var now time.Duration
	holder, other := host("a", "boot-a", 1, &now), host("b", "boot-b", 1, &now)
	first := seize(t, holder, dir)
	times := []time.Duration{-time.Hour, time.Hour, 0, -24 * time.Hour, 24 * time.Hour}
	set := func(by time.Duration) {
		for _, name := range []string{claimName(1), "."} {
			must.OK(t, os.Chtimes(filepath.Join(dir, name), time.Now().Add(by), time.Now().Add(by)))
		}
	}
	for k, by := range times {
		set(by)
		now = defaultExpiry * time.Duration(k) / time.Duration(len(times))
		if c, h, err := other.Try(dir); c != nil || h == nil || err != nil {
			t.Errorf("a living claim, times %v off: %v, %v, %v, want the holder", by, c, h, err)
		}
		if err := first.Check(); err != nil {
			t.Errorf("times %v off: %v, want the claim held", by, err)
		}
	}
	set(time.Hour) // which is no sign of life
	now = defaultExpiry
	seize(t, other, dir)
}

// A process on another host has shown a sign of life once a heartbeat was seen, and never by the first look or by its
// own new claim on a folder that it gave back.
func TestSignOfLife(t *testing.T) {
	dir := t.TempDir()
	var now time.Duration
	holder, other := host("a", "boot-a", 1, &now), host("b", "boot-b", 1, &now)
	look := func(what string, want bool) {
		t.Helper()
		if c, h, err := other.Try(dir); c != nil || h == nil || err != nil || h.Alive != want || h.Dead {
			t.Errorf("%s: %v, %+v, %v, want the holder, alive %t", what, c, h, err, want)
		}
	}
	c := seize(t, holder, dir)
	look("the first look", false)
	look("nothing has happened", false)
	c.Progress(3, 10)
	c.beat()
	look("a heartbeat", true)
	look("seen before", true)
	must.OK(t, c.Release())
	seize(t, holder, dir)
	look("another claim of the same epoch", false)
}

// A process that could not lock its file, as where the file system cannot lock, is not taken for dead by its lock.
func TestWithoutLocks(t *testing.T) {
	dir := t.TempDir()
	var inTheWay *os.File
	w := Watch{Beat: time.Hour}
	w.around = func(op, name string, do func() error) (err error) {
		if err := do(); err != nil || op != "create" {
			return err
		}
		if inTheWay, err = os.OpenFile(filepath.Join(dir, name), os.O_RDWR, 0); err != nil {
			return err
		}
		if held, err := files.TryLock(inTheWay); !held || err != nil {
			t.Skipf("this system cannot lock: %v", err)
		}
		return nil
	}
	seize(t, &w, dir)
	must.OK(t, inTheWay.Close())
	if h, err := Read(dir); err != nil || h.Dead {
		t.Errorf("Read: %v, %v, want a claim that is not dead", h, err)
	}
	if got, h, err := new(Watch).Try(dir); got != nil || h == nil || err != nil {
		t.Errorf("Try: %v, %v, %v, want the holder", got, h, err)
	}
}

// Where a link is a file of its own, with locks of its own, as on sshfs, nobody is taken for dead by the lock.
func TestLinksAreCopies(t *testing.T) {
	dir := t.TempDir()
	var now time.Duration
	copies := func(w *Watch) *Watch {
		w.around = func(op, name string, do func() error) error {
			if op != "link" {
				return do()
			}
			own, err := filepath.Glob(filepath.Join(dir, idName(w.identity().process)+"*"))
			if err != nil || len(own) != 1 {
				t.Fatalf("%q, %v, want the one file to be linked", own, err)
			}
			text, err := os.ReadFile(own[0])
			if err != nil {
				return err
			}
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return fs.ErrExist
			}
			return os.WriteFile(filepath.Join(dir, name), text, 0o666)
		}
		return w
	}
	holder, other := copies(host("a", "boot-a", 1, &now)), copies(host("a", "boot-a", 2, &now))
	first := seize(t, holder, dir)
	for _, now = range []time.Duration{0, defaultExpiry - 1} {
		if got, h, err := other.Try(dir); got != nil || err != nil || h.Dead {
			t.Fatalf("%v after the first look: %v, %v, %v, want that it counts as alive", now, got, h, err)
		}
	}
	if err := first.Check(); err != nil {
		t.Errorf("%v, want the claim held", err)
	}
	now = defaultExpiry
	if second := seize(t, other, dir); second.Check() != nil || !errors.Is(first.Check(), ErrLost) {
		t.Errorf("%v, %v, want that the second has it and the first has lost it", second.Check(), first.Check())
	}
}

// What is in the folder and cannot be read as a claim stands for a process that nobody knows, until it expires.
func TestUnreadableClaim(t *testing.T) {
	for _, text := range []string{"", "id X\nhost", strings.Repeat("\x00", 5000), "id \n", "beat 1\n"} {
		dir := t.TempDir()
		must.OK(t, os.WriteFile(filepath.Join(dir, claimName(41)), []byte(text), 0o666))
		var now time.Duration
		w := host("a", "boot-a", 1, &now)
		c, h, err := w.Try(dir)
		if c != nil || err != nil || *h != (Holder{Epoch: 41}) || h.String() != "an unknown process" {
			t.Errorf("%.20q: %v, %+v, %v, want an unknown process", text, c, h, err)
		}
		now = defaultExpiry
		if c := seize(t, w, dir); c.epoch != 42 {
			t.Errorf("%.20q: epoch %d, want 42", text, c.epoch)
		}
		if got := content(t, dir); strings.Contains(got, claimName(41)) {
			t.Errorf("%.20q: %s, want it removed", text, got)
		}
	}
}

// NFS may report that an operation failed which was made, because it was asked for twice, and the other way round.
func TestReportsOfNFS(t *testing.T) {
	for _, c := range []struct {
		name, op string
		err      error
		made     bool
		want     string // of Try and Publish
	}{
		{"link made, said to be there already", "link", syscall.EEXIST, true, "<nil>"},
		{"link made, an error", "link", syscall.EIO, true, "<nil>"},
		{"link not made, no error", "link", nil, false, "another process was faster"},
		{"link not made, an error", "link", syscall.EIO, false, "<nil>"}, // as without links
		{"rename made, said to be gone", "rename", syscall.ENOENT, true, "<nil>"},
		{"rename not made, an error", "rename", syscall.EIO, false, "input/output error"},
		{"remove made, said to be gone", "remove", syscall.ENOENT, true, "<nil>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := newWorld(t).dir
			must.OK(t, os.Mkdir(dir, 0o777))
			w := Watch{Beat: time.Hour, around: func(op, _ string, do func() error) error {
				if op != c.op {
					return do()
				}
				if c.made {
					if err := do(); err != nil {
						return err
					}
				}
				return c.err
			}}
			got := "<nil>"
			if err := tryPublishRelease(&w, dir); err != nil {
				got = err.Error()
			}
			if !strings.HasSuffix(got, c.want) {
				t.Errorf("%s, want %s", got, c.want)
			}
			want := ""
			if c.want == "<nil>" {
				want = "curve.csv: text"
			}
			if list := content(t, dir); list != want {
				t.Errorf("the folder holds %q, want %q", list, want)
			}
		})
	}
}

func tryPublishRelease(w *Watch, dir string) error {
	c, _, err := w.Try(dir)
	if err != nil {
		return err
	}
	if err = os.WriteFile(c.Path("curve.csv"), []byte("text"), 0o666); err == nil {
		err = c.Publish("curve.csv")
	}
	return errors.Join(err, c.Release())
}
