//go:build unix && !solaris && !aix

package files

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Lock takes an exclusive lock on the file until the file is closed. It is an error if another process has the lock. On
// a file system that cannot lock, Lock does nothing.
func Lock(f *os.File) error {
	_, err := TryLock(f)
	return err
}

// TryLock does the same as [Lock], and reports whether it took a lock.
func TryLock(f *os.File) (held bool, err error) { return flock(f, syscall.LOCK_EX) }

// Unlocked reports whether nobody holds a [Lock] on the file. known is false if the file system cannot lock. Several
// processes may ask at the same time, but a process that calls Lock at that moment fails.
func Unlocked(f *os.File) (free, known bool) {
	held, err := flock(f, syscall.LOCK_SH)
	if held {
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	}
	return held, held || err != nil
}

// flock takes a shared or an exclusive lock without waiting. The error is not nil if another process is in the way.
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

// device returns the number of the device of a file's mount, in hexadecimal; "" if unknown.
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
