package cpu

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapFile returns n zeros in a file in a folder, which are in memory as far as there is room, and a function that frees
// them. The file has no name any more, so that nothing is left of it however the process ends. All of its space is
// taken at once: a write to a page for which there is none would end the process.
func mapFile(dir string, n int) (data []float32, free func(), err error) {
	f, err := os.CreateTemp(dir, ".rollcall-rows-*")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }() // the mapping stays
	if err := os.Remove(f.Name()); err != nil {
		return nil, nil, err
	}
	size := int64(n) * int64(unsafe.Sizeof(data[0]))
	err = unix.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, unix.EOPNOTSUPP) {
		err = writeZeros(f, size)
	}
	if err != nil {
		return nil, nil, err
	}
	bytes, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	// Unmapping what was mapped cannot fail.
	return unsafe.Slice((*float32)(unsafe.Pointer(&bytes[0])), n), func() { _ = unix.Munmap(bytes) }, nil
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
