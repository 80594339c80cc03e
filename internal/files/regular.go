package files

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// ErrNoFile is wrapped by the errors about a folder, a device or a pipe in place of a file.
var ErrNoFile = errors.New("want a file")

// mostBytes bounds a text file that is read: far above a curve of a million rounds, far below a machine's memory.
const mostBytes = 1 << 30

// OpenRegular opens a regular file and returns its size in bytes. It follows links. It returns an error for folders,
// devices and pipes, since reading a pipe may wait for ever and a device may have no end.
func OpenRegular(path string) (*os.File, int64, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %s, %w", path, info.Mode().Type(), ErrNoFile)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// ReadRegular reads a whole regular file of at most 1 GiB.
func ReadRegular(path string) ([]byte, error) { return ReadUpTo(path, mostBytes) }

// ReadUpTo reads a whole regular file of at most so many bytes.
func ReadUpTo(path string, most int64) ([]byte, error) {
	f, size, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	if size > most {
		return nil, fmt.Errorf("%s: %d bytes, want at most %d", path, size, most)
	}
	return io.ReadAll(io.LimitReader(f, most))
}
