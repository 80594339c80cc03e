package nets

import (
	"slices"
	"strings"

	"rollcall/internal/host"
)

// Numerics returns the class of an engine's numbers on this machine, for [Info.Engine] and [Info.Precision]. It tells
// whether two runs can be compared: with equal settings, engines with the same class and the same [Info.Revision]
// compute the same bits.
//
//	cpu-fp32                cpu-avx2 and cpu-avx512, which add in the same order
//	cpu-bf16, cpu-bf16x3    likewise, and cpu-avx512bf16 and cpu-amx: the products of all four are the same bits
//	cpu-generic-fp32        plain Go, which rounds a product before it adds it
//	cpu-generic-bf16        likewise, and cpu-generic-bf16x3: the matrix products are the same bits as in cpu-bf16,
//	                        but all other kernels are the ones of cpu-generic-fp32
//	cuda-fp32               any card: IEEE 754 fixes how every operation is rounded, and the order is fixed here
//	cuda-sm90-tf32          cards of one generation, and likewise for bf16: the tensor cores of other generations
//	                        round their sums differently
//
// These classes are for amd64. On other processors the class ends in the architecture ("cpu-generic-fp32-arm64"): there
// Go may fuse a product and a sum into one operation, in the methods and in the host code of the CUDA engine as well.
// Go does the same on amd64 from GOAMD64=v3 on ("amd64v3"). A processor without FMA has another exponential function
// ("amd64nofma").
func Numerics(engine, precision string) string { return numericsOn(host.Name(), engine, precision) }

// numericsOn is [Numerics] on a given machine, by the name that package host has for it.
func numericsOn(machine, engine, precision string) string {
	switch {
	case slices.Contains([]string{"cpu-avx2", "cpu-avx512", "cpu-avx512bf16", "cpu-amx"}, engine):
		engine = "cpu"
	case strings.HasPrefix(engine, "cuda-") && precision == "fp32":
		engine = "cuda"
	}
	class := engine + "-" + precision
	if machine != host.Reference {
		class += "-" + machine
	}
	return class
}
