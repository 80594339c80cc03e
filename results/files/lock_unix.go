//go:build unix && !solaris && !aix

package files

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Lock takes the file for this process until it is closed, or fails if another has it. Where the file system cannot
// lock, nothing is locked.
func Lock(f *os.File) error {
	_, err := TryLock(f)
	return err
}

// TryLock is [Lock], and says whether anything is locked.
func TryLock(f *os.File) (held bool, err error) { return flock(f, syscall.LOCK_EX) }

// Unlocked reports that nobody holds [Lock] on the file; false where nobody can know. Any number may ask at once, but
// who takes the lock at that moment fails.
func Unlocked(f *os.File) bool {
	held, err := flock(f, syscall.LOCK_SH)
	if held {
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	}
	return held && err == nil
}

func flock(f *os.File, how int) (held bool, err error) {
	for {
		switch err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); {
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, err
		case !errors.Is(err, syscall.EINTR):
			return err == nil, nil
		}
	}
}

func device(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%x", s.Dev)
}
