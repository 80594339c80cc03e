//go:build unix && !solaris && !aix

package files

import (
	"errors"
	"os"
	"syscall"
)

// Lock takes the file for this process until it is closed, or fails if another has it. Where the file system cannot
// lock, nothing is locked.
func Lock(f *os.File) error {
	_, err := tryLock(f)
	return err
}

// tryLock is [Lock], and says whether anything is locked.
func tryLock(f *os.File) (held bool, err error) {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, err
		case !errors.Is(err, syscall.EINTR):
			return err == nil, nil
		}
	}
}
