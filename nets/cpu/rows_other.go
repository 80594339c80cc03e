//go:build !linux

package cpu

import "errors"

func mapFile(string, int) ([]float32, func(), error) { return nil, nil, errors.ErrUnsupported }
