//go:build !linux

package filestest

import "errors"

// makeDevice knows no numbers of devices on other systems.
func makeDevice(string, int) error { return errors.ErrUnsupported }
