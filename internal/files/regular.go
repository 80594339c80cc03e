package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ErrNoFile is wrapped by the errors about a folder, a device or a pipe in place of a file.
var ErrNoFile = errors.New("want a file")

// noFile says what is in place of a file.
func noFile(mode fs.FileMode) error {
	what := "no regular file"
	switch {
	case mode.IsDir():
		what = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	}
	return fmt.Errorf("%s, %w", what, ErrNoFile)
}

// CheckPlace returns an error if something is at a path that is neither a file nor a link. The error does not name it.
func CheckPlace(path string) error {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().IsRegular() || info.Mode()&fs.ModeSymlink != 0 {
		return nil // of other errors, whoever opens the file learns
	}
	return noFile(info.Mode())
}

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
		err = fmt.Errorf("%s: %w", path, noFile(info.Mode()))
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// ReadRegular reads a whole regular file of at most 1 GiB.
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
