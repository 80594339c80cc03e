package filestest

import "syscall"

// makeDevice makes one of Linux's memory devices, whose major number is 1.
func makeDevice(path string, minor int) error {
	return syscall.Mknod(path, syscall.S_IFCHR|0o666, 1<<8|minor)
}
