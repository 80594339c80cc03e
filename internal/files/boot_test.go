package files

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"rollcall/internal/must"
)

func TestBootID(t *testing.T) {
	got := BootID()
	if known := runtime.GOOS == "linux" || runtime.GOOS == "darwin"; known != (len(got) == 36) {
		t.Errorf("%s: %q, want 36 characters where the system is known, and nothing elsewhere", runtime.GOOS, got)
	}
	if got != BootID() {
		t.Errorf("asked again: %q, want %q", BootID(), got)
	}
}

// Who asks whether a file is locked hinders nobody else who asks, and leaves no lock.
func TestUnlocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "locked")
	open := func() *os.File {
		f := must.Get(os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666))(t)
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	holder, asking, other := open(), open(), open()
	if held, err := TryLock(holder); !held || err != nil {
		t.Skipf("this file system cannot lock: %v", err)
	}
	unlocked := func(f *os.File) bool {
		free, known := Unlocked(f)
		return free && known
	}
	if free, known := Unlocked(asking); free || !known {
		t.Error("locked by another: unlocked, want locked")
	}
	must.OK(t, holder.Close())
	if !unlocked(asking) || !unlocked(other) {
		t.Error("the holder has closed it: locked, want unlocked for both who ask")
	}
	if held, err := TryLock(other); !held || err != nil {
		t.Errorf("after both have asked: %v, %v, want the lock", held, err)
	}
}

// Who sees each other's locks is known by machine and mount.
func TestLocksOf(t *testing.T) {
	dir := t.TempDir()
	here := LocksOf(dir, "boot")
	if known := runtime.GOOS != "windows"; known != strings.HasPrefix(here, "boot.") {
		t.Errorf("%q, want the machine and a device where there are such", here)
	}
	sub := filepath.Join(dir, "sub")
	must.OK(t, os.Mkdir(sub, 0o777))
	if got := LocksOf(sub, "boot"); got != here {
		t.Errorf("a folder in it: %q, want %q", got, here)
	}
	for name, got := range map[string]string{
		"no boot id":                 LocksOf(dir, ""),
		"a folder that is not there": LocksOf(filepath.Join(dir, "none"), "boot"),
	} {
		if got != "" {
			t.Errorf("%s: %q, want nothing", name, got)
		}
	}
	if _, err := os.Stat("/proc/self"); err == nil && LocksOf("/proc", "boot") == here {
		t.Errorf("/proc: %q, want another device", here)
	}
}
