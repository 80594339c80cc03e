//go:build !linux

package conditions

import (
	"errors"
	"runtime"
)

// Counters are not to be had: how to ask this system is not known.
type Counters struct{}

// OpenCounters returns an error.
func OpenCounters(_, _ Event) (*Counters, error) {
	return nil, errors.New("conditions: no counters on " + runtime.GOOS)
}

// Read returns nothing.
func (*Counters) Read() (Counts, error) { return Counts{}, nil }

// Close does nothing.
func (*Counters) Close() {}
