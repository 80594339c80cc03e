package claim

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/internal/must"
)

// seize claims a folder.
func seize(t *testing.T, w *Watch, dir string) *Claim {
	t.Helper()
	c, holder, err := w.Try(dir)
	if c == nil {
		t.Fatalf("Try: holder %v, error %v, want the claim", holder, err)
	}
	t.Cleanup(func() { _ = c.Release() })
	return c
}

// A claim is there while it is held, with the round of its last heartbeat, and after Release there is nothing of it.
func TestClaim(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "table", "cell", "seed-3")
	if holder, err := Read(dir); holder != nil || err != nil {
		t.Errorf("Read of a folder that is not there: %v, %v, want nil, nil", holder, err)
	}
	var w Watch
	c := seize(t, &w, dir)
	if err := c.Check(); c.epoch != 1 || err != nil {
		t.Errorf("epoch %d, Check: %v, want 1, nil", c.epoch, err)
	}
	c.Progress(120, 2000)
	c.beat()
	again, holder, err := w.Try(dir)
	if again != nil || err != nil || holder == nil {
		t.Fatalf("a second Try: %v, %v, %v, want the holder", again, holder, err)
	}
	host, _ := os.Hostname()
	want := Holder{
		Host: host, PID: os.Getpid(), Epoch: 1, Round: 120, Rounds: 2000, Mine: true, Alive: true,
	}
	if *holder != want {
		t.Errorf("a second Try: %+v, want %+v", *holder, want)
	}
	if read, err := Read(dir); err != nil || *read != *holder {
		t.Errorf("Read: %+v, %v, want %+v", read, err, holder)
	}
	for _, name := range []string{"curve.csv", "state.bin"} {
		must.OK(t, os.WriteFile(c.Path(name), []byte(name), 0o666))
	}
	if err := c.Publish("curve.csv"); err != nil {
		t.Error(err)
	}
	if err := c.Publish("nothing.csv"); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrLost) {
		t.Errorf("Publish of a file that was not written: %v, want %v", err, fs.ErrNotExist)
	}
	for range 2 {
		if err := c.Release(); err != nil {
			t.Errorf("Release: %v", err)
		}
	}
	if got, want := content(t, dir), "curve.csv: curve.csv"; got != want {
		t.Errorf("after Release: %s, want %s", got, want)
	}
	if err := c.Check(); err == nil || errors.Is(err, ErrLost) {
		t.Errorf("Check after Release: %v, want an error, and not that it is lost", err)
	}
	select {
	case <-c.Lost():
		t.Error("Lost is closed after Release, want it open")
	default:
	}
}

// Release removes the folders that Try made, and no others.
func TestReleaseRemovesFolders(t *testing.T) {
	top := t.TempDir()
	must.OK(t, os.Mkdir(filepath.Join(top, "old"), 0o777))
	var w Watch
	table := filepath.Join(top, "old", "new")
	one, two := seize(t, &w, filepath.Join(table, "seed-1")), seize(t, &w, filepath.Join(table, "seed-2"))
	for _, c := range []struct {
		claim *Claim
		want  string
	}{{two, "old/new/seed-1"}, {one, "old"}} {
		if err := c.claim.Release(); err != nil {
			t.Error(err)
		}
		var deepest string
		_ = filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
			if e.IsDir() && path != top {
				deepest, err = filepath.Rel(top, path)
			}
			return err
		})
		if deepest != filepath.FromSlash(c.want) {
			t.Errorf("the deepest folder is %q, want %q", deepest, c.want)
		}
	}
}

// No goroutine stays after Release, and none writes.
func TestNoGoroutineStays(t *testing.T) {
	dir := t.TempDir()
	w := Watch{Beat: time.Microsecond}
	before := runtime.NumGoroutine()
	for range 20 {
		c, _ := must.Get2(w.Try(dir))(t)
		must.OK(t, c.Release())
	}
	for range 1000 { // the last one may be about to end
		if runtime.NumGoroutine() <= before {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := runtime.NumGoroutine(); got > before {
		t.Errorf("%d goroutines, want %d as before", got, before)
	}
	if got := content(t, dir); got != "" {
		t.Errorf("%s, want nothing", got)
	}
}

// Heartbeats come by themselves, and find out that the claim is lost.
func TestHeartbeats(t *testing.T) {
	dir := t.TempDir()
	w := Watch{Beat: time.Millisecond}
	c := seize(t, &w, dir)
	c.Progress(3, 4)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		h := must.Get(Read(dir))(t)
		if h.Round == 3 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after a minute of heartbeats: %v, want round 3", h)
		}
	}
	must.OK(t, os.Remove(filepath.Join(dir, claimName(1))))
	select {
	case <-c.Lost():
	case <-time.After(time.Minute):
		t.Fatal("the claim's file was removed: Lost is open after a minute of heartbeats")
	}
	if err := c.Check(); !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "its file is gone") {
		t.Errorf("Check: %v, want %v, and why", err, ErrLost)
	}
}

// A claim of which no heartbeat can be written is lost after the expiry: others have taken it for dead by then.
func TestHeartbeatsFail(t *testing.T) {
	var now time.Duration
	full := false
	w := Watch{Beat: time.Hour, clock: func() time.Duration { return now }}
	w.around = func(op, _ string, do func() error) error {
		if full && op == "beat" {
			return syscall.EIO
		}
		return do()
	}
	c := seize(t, &w, t.TempDir())
	for _, step := range []struct {
		now        time.Duration
		full, lost bool
	}{
		{now: time.Hour},
		{now: time.Hour + defaultExpiry - 1, full: true},
		{now: time.Hour + defaultExpiry},
		{now: time.Hour + 2*defaultExpiry - 1, full: true},
		{now: time.Hour + 2*defaultExpiry, full: true, lost: true},
	} {
		now, full = step.now, step.full
		c.beat()
		err := c.Check()
		if errors.Is(err, ErrLost) != step.lost || err != nil && !strings.Contains(err.Error(), syscall.EIO.Error()) {
			t.Errorf("%v, heartbeats fail: %v: %v, want it lost: %v, and why", now, full, err, step.lost)
		}
	}
}

// The loser says who has the folder.
func TestLostTo(t *testing.T) {
	w := newWorld(t)
	loser, winner := w.party("loser"), w.party("winner")
	if !loser.try() || winner.try() || !winner.try() {
		t.Fatal("want the claim of the loser taken over by the second try")
	}
	winner.claim.Progress(5, 9)
	winner.claim.beat()
	loser.claim.beat()
	select {
	case <-loser.claim.Lost():
	default:
		t.Error("Lost is open after a heartbeat, want it closed")
	}
	want := "claim: " + w.dir + ": the claim is lost: process 7 on host winner, round 5/9 has it"
	if err := loser.claim.Check(); !errors.Is(err, ErrLost) || err.Error() != want {
		t.Errorf("Check: %v, want %s", err, want)
	}
	loser.release()
	if err := winner.claim.Check(); err != nil {
		t.Errorf("the winner, after Release of the loser: %v", err)
	}
}

// Where nothing may be written, the error names the folder and the cause.
func TestNothingMayBeWritten(t *testing.T) {
	for _, op := range []string{"create", "write", "mkdir"} {
		for _, cause := range []error{syscall.EACCES, syscall.EROFS, syscall.EPERM} {
			dir := filepath.Join(t.TempDir(), "seed-1")
			w := Watch{around: func(o, name string, do func() error) error {
				if o == op {
					return &fs.PathError{Op: o, Path: filepath.Join(dir, name), Err: cause}
				}
				return do()
			}}
			c, holder, err := w.Try(dir)
			if c != nil || holder != nil || !errors.Is(err, cause) ||
				!strings.HasPrefix(err.Error(), "claim: "+dir+": ") {
				t.Errorf("%s fails with %v: %v, %v, %v, want the cause and the folder", op, cause, c, holder, err)
			}
			if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s fails with %v: the folder is there: %v, want it removed", op, cause, err)
			}
		}
	}
}

// A folder of which the system itself says no.
func TestFolderWithoutPermission(t *testing.T) {
	dir := t.TempDir()
	if os.Geteuid() == 0 {
		dir = "/sys/kernel" // where not even root makes files
	} else if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip(err)
	}
	var w Watch
	for _, sub := range []string{"", "seed-1"} {
		path := filepath.Join(dir, sub)
		c, holder, err := w.Try(path)
		refused := errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
		named := refused && strings.Contains(err.Error(), path) && !strings.Contains(err.Error(), claimPrefix)
		if c != nil || holder != nil || !named {
			t.Errorf("%s: %v, %v, %v, want that nothing may be written there", path, c, holder, err)
		}
	}
}
