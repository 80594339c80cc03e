package nets

import (
	"strings"

	"rollcall/internal/host"
)

// Numerics returns the class of an engine's numbers on this machine, of [Info].Engine and [Info].Precision: with equal
// settings, engines of one class and one [Info].Revision compute the same bits.
//
//	cpu-fp32                cpu-avx2 and cpu-avx512, which add in the same order
//	cpu-generic-fp32        plain Go, which rounds a product before it is added to
//	cuda-fp32               any card: every operation of fp32 is rounded as IEEE 754 has it, in an order that is fixed
//	cuda-sm90-tf32 cards of one generation, and so for bf16: tensor cores round their sums in ways of their own
//
// All of them are on amd64. Elsewhere the class ends in the architecture ("cpu-generic-fp32-arm64"): there Go may round
// a product and the sum it goes into as one, in methods and in what is computed for a card as well. So does amd64 from
// GOAMD64=v3 on ("amd64v3"), and a processor without FMA has another exponential function ("amd64nofma").
func Numerics(engine, precision string) string { return numericsOn(host.Name(), engine, precision) }

func numericsOn(machine, engine, precision string) string {
	switch {
	case engine == "cpu-avx2" || engine == "cpu-avx512":
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
