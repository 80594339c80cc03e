//go:build !(gpu && linux && cgo)

package gpu

import (
	"errors"

	"rollcall/datasets/plan"
	"rollcall/nets"
	"rollcall/nets/models"
)

// errNotBuilt says how to get a binary with the engine.
var errNotBuilt = errors.New("gpu: this binary was built without the CUDA engine " +
	"(make build adds it on Linux with gcc and cgo)")

// Cards returns an error: this binary has no engine that could use a card.
func Cards() ([]Card, error) { return nil, errNotBuilt }

// Open returns an error: this binary has no CUDA engine.
func Open(*models.Model, *plan.Samples, *plan.Samples, Options) (nets.Engine, error) {
	return nil, errNotBuilt
}

// OutOfMemory returns false, since no engine was ever opened.
func OutOfMemory(error) bool { return false }

// NoCard returns false: whether the machine has a card was not looked at.
func NoCard(error) bool { return false }

// DeviceLost returns false, since no engine was ever opened.
func DeviceLost(error) bool { return false }
