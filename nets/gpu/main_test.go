//go:build gpu && linux && cgo

package gpu

import (
	"testing"

	"rollcall/nets/gpu/gputest"
)

func TestMain(m *testing.M) { gputest.Main(m, "kernels", false) }
