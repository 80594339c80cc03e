package cpu

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// MapsRows reports whether large banks are mapped: outside of Go's heap, and in a file if [Options].RowsDir says so.
const MapsRows = true

// newRows returns n zeros and a function that frees them; nil: the garbage collector does. They are in memory or, if
// there is a folder, in a file there.
func newRows(dir string, n int) (data []float32, free func(), err error) {
	size := n * int(unsafe.Sizeof(data[0]))
	if n == 0 || dir == "" && size < mappedBytes {
		return make([]float32, n), nil, nil
	}
	file, flags := -1, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE
	if dir != "" {
		f, err := unnamedFile(dir, int64(size))
		if err != nil {
			return nil, nil, err
		}
		defer func() { _ = f.Close() }() // the mapping stays
		file, flags = int(f.Fd()), unix.MAP_SHARED
	}
	bytes, err := unix.Mmap(file, 0, size, unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		return nil, nil, err
	}
	// Large pages of memory are faster to come by. Of a file, the pages around one that is read are of no use: they are
	// of other rows. Where the system cannot do either, all works, and slower.
	advice := unix.MADV_HUGEPAGE
	if dir != "" {
		advice = unix.MADV_RANDOM
	}
	_ = unix.Madvise(bytes, advice)
	// Unmapping what was mapped cannot fail.
	return unsafe.Slice((*float32)(unsafe.Pointer(&bytes[0])), n), func() { _ = unix.Munmap(bytes) }, nil
}

// unnamedFile returns a file of zeros in a folder without a name there, so that nothing is left of it however the
// process ends. All of its space is taken at once: a write to a mapped page for which there is none would end the
// process.
func unnamedFile(dir string, size int64) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".rollcall-rows-*")
	if err != nil {
		return nil, err
	}
	err = os.Remove(f.Name())
	if err == nil {
		err = unix.Fallocate(int(f.Fd()), 0, 0, size)
	}
	if errors.Is(err, unix.EOPNOTSUPP) {
		err = writeZeros(f, size)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// writeZeros takes the space of a file where the file system cannot do it without writing.
func writeZeros(f *os.File, size int64) error {
	for zeros := make([]byte, 1<<20); size > 0; size -= int64(len(zeros)) {
		if _, err := f.Write(zeros[:min(size, int64(len(zeros)))]); err != nil {
			return err
		}
	}
	return nil
}

// willNeed begins to read the elements lo … hi−1 of data in a file, without waiting: the first of many rows are added
// while the others are read.
func willNeed(data []float32, lo, hi int) {
	page, size := unix.Getpagesize(), int(unsafe.Sizeof(data[0]))
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), len(data)*size)
	// Without it they are read when they are used.
	_ = unix.Madvise(bytes[lo*size/page*page:hi*size], unix.MADV_WILLNEED)
}
