//go:build !(gpu && linux && cgo)

package selftest

import (
	"context"

	"rollcall/nets/gpu"
)

// Run returns an error: this binary has no engine that could use a card.
func Run(context.Context, gpu.Card, []string, func(Check)) error {
	_, err := gpu.Cards()
	return err
}
