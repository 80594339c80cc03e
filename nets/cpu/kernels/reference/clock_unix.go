//go:build linux || darwin

package reference

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the processor time of the calling thread.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return time.Since(start)
	}
	return time.Duration(t.Nano())
}
