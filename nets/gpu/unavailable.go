//go:build !(gpu && linux && cgo)

package gpu

import (
	"errors"

	"rollcall/datasets/plan"
	"rollcall/nets"
)

var errNotBuilt = errors.New("gpu: this binary was built without the CUDA engine (make build adds it on Linux with " +
	"gcc and cgo)")

// Cards returns an error: there is no engine that could use one.
func Cards() ([]Card, error) { return nil, errNotBuilt }

// Open returns an error, as [Cards] does.
func Open(*nets.Model, *plan.Samples, *plan.Samples, Options) (nets.Engine, error) {
	return nil, errNotBuilt
}

// OutOfMemory reports false: no engine was opened.
func OutOfMemory(error) bool { return false }
