//go:build gpu && linux && cgo

package driver

import (
	"errors"
	"testing"
)

// TestErrorClasses checks which results mean that the device is lost. The numbers are those of CUDA's documentation.
func TestErrorClasses(t *testing.T) {
	for _, code := range []int{46, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 999} {
		if err := error(&Error{Code: code}); !errors.Is(err, ErrDeviceLost) || errors.Is(err, ErrOutOfMemory) {
			t.Errorf("result %d: not a lost device, or memory", code)
		}
	}
	for _, code := range []int{1, 2, 218, 221, 500, 701, 708, 801, 900, 901} {
		if errors.Is(&Error{Code: code}, ErrDeviceLost) {
			t.Errorf("result %d: a lost device", code)
		}
	}
}
