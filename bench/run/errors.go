package run

import (
	"errors"
	"io/fs"
)

// cause drops operation and path from an error of the os package, where the text around it says both.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
