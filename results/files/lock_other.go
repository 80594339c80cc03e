//go:build !unix || solaris || aix

package files

import "os"

// Lock does nothing on systems without flock.
func Lock(*os.File) error { return nil }
