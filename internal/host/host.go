// Package host names how Go rounds on this machine.
package host

import (
	"runtime"

	"golang.org/x/sys/cpu"
)

// Reference is the name of the machines on which Go rounds every operation by itself. Goldens are recorded on them.
const Reference = "amd64"

// Name returns the class of machines that compute the same bits in plain Go. It is the architecture, and for amd64 two
// things more: whether the program was compiled with fused multiply-adds (GOAMD64=v3: "amd64v3"), and whether the
// processor lacks them ("amd64nofma"), because math.Exp computes in another way there.
func Name() string {
	switch {
	case runtime.GOARCH != "amd64":
		return runtime.GOARCH
	case fuses(1+0x1p-52, 1-0x1p-52, -1):
		return "amd64v3"
	case !cpu.X86.HasFMA:
		return "amd64nofma"
	}
	return Reference
}

// fuses reports whether x·y + z is rounded once, for numbers whose x·y is nearly −z and is rounded to −z.
//
//go:noinline
func fuses(x, y, z float64) bool { return x*y+z != 0 }
