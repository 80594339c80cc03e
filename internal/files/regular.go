package files

import (
	"bytes"
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

// CheckFile returns an error that says what is in place of a file. The error does not name it.
func CheckFile(info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return noFile(info.Mode())
}

// CheckPlace returns an error if something is at a path that is neither a file nor a link. The error does not name it.
func CheckPlace(path string) error {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().IsRegular() || info.Mode()&fs.ModeSymlink != 0 {
		return nil // of other errors, whoever opens the file learns
	}
	return noFile(info.Mode())
}

// Bounds on the bytes of files.
const (
	MostText  = 64 << 20 // of one that is read as a whole
	MostTable = 16 << 20 // of a table in CSV: some 50,000 numbers or measurements
	MostRows  = 1 << 30  // of a file in CSV with a row for each round of a run, or each client: millions of rows
)

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

// OpenUpTo opens a regular file of at most so many bytes.
func OpenUpTo(path string, most int64) (*os.File, int64, error) {
	f, size, err := OpenRegular(path)
	if err == nil && size > most {
		err = errors.Join(fmt.Errorf("%s: %d bytes, want at most %d", path, size, most), f.Close())
	}
	return f, size, err
}

// ReadUpTo reads a whole regular file of at most so many bytes.
func ReadUpTo(path string, most int64) ([]byte, error) {
	f, size, err := OpenUpTo(path, most)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()                             // nothing was written
	text := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead)) // grows no more: a large file is in memory once
	_, err = text.ReadFrom(io.LimitReader(f, most))
	return text.Bytes(), err
}

// Same reports whether two regular files have the same bytes.
func Same(a, b string) (bool, error) {
	x, sizeX, err := OpenRegular(a)
	if err != nil {
		return false, err
	}
	defer func() { _ = x.Close() }() // nothing was written
	y, sizeY, err := OpenRegular(b)
	if err != nil {
		return false, err
	}
	defer func() { _ = y.Close() }() // likewise
	if sizeX != sizeY {
		return false, nil
	}
	const piece = 1 << 16
	p, q := make([]byte, piece), make([]byte, piece)
	for {
		n, errX := io.ReadFull(x, p)
		m, errY := io.ReadFull(y, q)
		atEnd := errors.Is(errX, io.EOF) || errors.Is(errX, io.ErrUnexpectedEOF)
		switch {
		case errX != nil && !atEnd:
			return false, errX
		case errY != nil && !errors.Is(errY, errX): // one of the two was cut off meanwhile, or cannot be read
			return false, errY
		case !bytes.Equal(p[:n], q[:m]):
			return false, nil
		case atEnd:
			return true, nil
		}
	}
}
