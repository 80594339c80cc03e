//go:build !unix || solaris || aix

package files

import "os"

// Lock does nothing on systems without flock.
func Lock(*os.File) error { return nil }

func tryLock(*os.File) (held bool, err error) { return false, nil }
