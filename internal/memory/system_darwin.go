package memory

import "golang.org/x/sys/unix"

// System returns the machine's memory, since macOS does not say how much of it is available.
func System() (l Limit, known bool) {
	bytes, err := unix.SysctlUint64("hw.memsize")
	return Limit{int64(bytes), "hw.memsize"}, err == nil
}
