//go:build linux || darwin

package conditions

import (
	"time"

	"golang.org/x/sys/unix"
)

// ProcessorTime returns the processor time of this process, of all its threads, in its own code and in the kernel. It
// stands while the process waits for a processor, and on Linux while a hypervisor has taken the processor away. It is 0
// where the system does not say.
func ProcessorTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
