//go:build !linux && !darwin

package conditions

import "time"

// ProcessorTime returns 0: how to ask this system is not known.
func ProcessorTime() time.Duration { return 0 }
