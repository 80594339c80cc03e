//go:build !amd64

package bf16

// Variants returns every variant this processor can run; split asks for bf16x3 in place of bf16.
func Variants(split bool) []Kernels[float32] { return []Kernels[float32]{Generic[float32](split)} }

// Lost returns why AMX is not used although the processor has it: empty, since only amd64 has it.
func Lost() string { return "" }
