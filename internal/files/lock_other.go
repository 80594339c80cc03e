//go:build !unix || solaris || aix

package files

import "os"

// Lock does nothing on systems without flock.
func Lock(*os.File) error { return nil }

// TryLock does nothing on systems without flock; held is always false.
func TryLock(*os.File) (held bool, err error) { return false, nil }

// Unlocked knows nothing on systems without flock.
func Unlocked(*os.File) (free, known bool) { return false, false }

// device returns "", as no lock of this system can be seen by others.
func device(string) string { return "" }
