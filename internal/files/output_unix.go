//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// duplicate returns another descriptor of the same open file.
func duplicate(fd int, name string) (*os.File, error) {
	own, err := syscall.Dup(fd)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(own), name), nil
}

// severalNames reports whether a file has other names, of which a rename would make another file.
func severalNames(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Nlink > 1
}

// ChangeTime returns when a file was changed last, its content or what is kept of it, in nanoseconds since 1970; 0 if
// that is unknown. No program can set it.
func ChangeTime(path string) int64 {
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		return 0
	}
	return unix.TimespecToNsec(s.Ctim)
}

// keepOwner gives a new file to the owner of an older one, as far as this user may.
func keepOwner(path string, older fs.FileInfo) {
	if s, ok := older.Sys().(*syscall.Stat_t); ok {
		_ = os.Chown(path, int(s.Uid), int(s.Gid)) // an error says that the user may not
	}
}
