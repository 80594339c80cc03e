//go:build !linux

package cpu

import "errors"

// MapsRows reports whether large banks are mapped: outside of Go's heap, and in a file if [Options].RowsDir says so.
const MapsRows = false

// newRows returns n zeros in memory, which the garbage collector frees.
func newRows(dir string, n int) ([]float32, func(), error) {
	if dir != "" {
		return nil, nil, errors.ErrUnsupported
	}
	return make([]float32, n), nil, nil
}

func willNeed([]float32, int, int) {}
