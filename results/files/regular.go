package files

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// ErrNoFile ends an error about a folder, a device or a pipe where a file is wanted.
var ErrNoFile = errors.New("want a file")

// mostBytes bounds what is read of a file of text: far above a curve of a million rounds, far below a machine's memory.
const mostBytes = 1 << 30

// OpenRegular opens a file and returns its size. A folder, a device or a pipe is an error at once: a pipe would be
// waited for, and a device may have no end. Links are followed.
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

// ReadRegular reads a file whole, if it is one that can be.
func ReadRegular(path string) ([]byte, error) {
	f, size, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	if size > mostBytes {
		return nil, fmt.Errorf("%s: %d bytes, want at most %d", path, size, mostBytes)
	}
	return io.ReadAll(io.LimitReader(f, mostBytes))
}
