//go:build gpu && linux && cgo

package kernels

import (
	"sync"
	"testing"

	"rollcall/nets/gpu/gputest"
)

var sharedCard = sync.OnceValues(openCard)

func TestMain(m *testing.M) { gputest.Main(m, ".", true) }
