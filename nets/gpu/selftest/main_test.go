//go:build gpu && linux && cgo

package selftest

import (
	"testing"

	"rollcall/nets/gpu/gputest"
)

func TestMain(m *testing.M) { gputest.Main(m, kernelsFolder, false) }
