package files

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
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
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	holder, asking, other := open(), open(), open()
	if held, err := TryLock(holder); !held || err != nil {
		t.Skipf("this file system cannot lock: %v", err)
	}
	if Unlocked(asking) {
		t.Error("locked by another: unlocked, want locked")
	}
	if err := holder.Close(); err != nil {
		t.Fatal(err)
	}
	if !Unlocked(asking) || !Unlocked(other) {
		t.Error("the holder has closed it: locked, want unlocked for both who ask")
	}
	if held, err := TryLock(other); !held || err != nil {
		t.Errorf("after both have asked: %v, %v, want the lock", held, err)
	}
}
