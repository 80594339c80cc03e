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
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return err
	}
	return nil
}
