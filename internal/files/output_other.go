//go:build !unix

package files

import (
	"errors"
	"io/fs"
	"os"
)

// duplicate is an error on systems whose descriptors have no paths.
func duplicate(int, string) (*os.File, error) { return nil, errors.ErrUnsupported }

// severalNames knows nothing on other systems.
func severalNames(fs.FileInfo) bool { return false }

// ChangeTime knows nothing on other systems.
func ChangeTime(string) int64 { return 0 }

// keepOwner does nothing on other systems.
func keepOwner(string, fs.FileInfo) {}
