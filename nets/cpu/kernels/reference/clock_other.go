//go:build !linux && !darwin

package reference

import "time"

// threadTime returns the wall time, for want of a clock of the thread.
func threadTime() time.Duration { return time.Since(start) }
