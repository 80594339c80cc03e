//go:build !unix || solaris || aix

package track

import "os"

// lockFile does nothing on systems without flock.
func lockFile(*os.File) error { return nil }
