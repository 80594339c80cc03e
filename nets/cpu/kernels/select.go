package kernels

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"rollcall/nets/cpu/kernels/bf16"
)

// Precision says how the CPU engine multiplies matrices. All else is in float32.
type Precision string

// The precisions.
const (
	FP32   Precision = "fp32"   // operands and sums in float32
	BF16   Precision = "bf16"   // operands rounded to bfloat16, sums in float32
	BF16x3 Precision = "bf16x3" // operands as sums of two bfloat16, which have 16 bits, sums in float32
)

// rounds reports whether the operands of products are rounded, which package bf16 does.
func (p Precision) rounds() bool { return p == BF16 || p == BF16x3 }

// ParsePrecision returns the precision with a name. The empty name means FP32.
func ParsePrecision(name string) (Precision, error) {
	switch p := Precision(name); p {
	case "":
		return FP32, nil
	case FP32, BF16, BF16x3:
		return p, nil
	}
	return "", fmt.Errorf("cpu: precision %q, want fp32, bf16 or bf16x3", name)
}

// Choice is the variants that an engine uses.
type Choice struct {
	Kernels[float32]
	Products bf16.Kernels[float32] // nil with FP32: then Kernels multiply
	Lost     string                // why faster instructions of the processor are not used; empty if nothing is amiss
}

// Name returns the name of the variant that multiplies: generic, avx2, avx512, avx512bf16 or amx.
func (c Choice) Name() string {
	if c.Products != nil {
		return c.Products.Name()
	}
	return c.Kernels.Name()
}

// OperandBytes returns the size of an element of a rounded operand, 0 if operands are not rounded.
func (c Choice) OperandBytes() int {
	if c.Products == nil {
		return 0
	}
	return c.Products.Bytes()
}

// NewExec returns an executor that uses the variants; see the function [NewExec].
func (c Choice) NewExec(pool *Pool[float32]) *Exec[float32] {
	e := NewExec(c.Kernels, pool)
	e.Products = c.Products
	return e
}

// Choices returns every variant this processor can run with a precision, the slowest first.
func Choices(p Precision) []Choice {
	var all []Choice
	have := Variants()
	if !p.rounds() {
		for _, k := range have {
			all = append(all, Choice{Kernels: k})
		}
		return all
	}
	for _, products := range bf16.Variants(p == BF16x3) {
		k := have[len(have)-1] // avx512bf16 and amx have no kernels but their products
		if i := slices.IndexFunc(have, func(k Kernels[float32]) bool { return k.Name() == products.Name() }); i >= 0 {
			k = have[i]
		}
		all = append(all, Choice{Kernels: k, Products: products})
	}
	return all
}

// Select returns the fastest variant this processor has for a precision, or the one that the environment variable
// ROLLCALL_CPU names: generic, avx2, avx512, avx512bf16 or amx. It is an error to name another, or one this processor
// lacks.
func Select(p Precision) (Choice, error) {
	have := Choices(p)
	want, lost := os.Getenv("ROLLCALL_CPU"), ""
	if p.rounds() {
		lost = bf16.Lost()
	}
	if want == "" {
		fastest := have[len(have)-1]
		fastest.Lost = lost
		return fastest, nil
	}
	var names []string
	for _, k := range have {
		if k.Name() == want {
			return k, nil
		}
		names = append(names, k.Name())
	}
	switch want {
	case "avx512bf16", "amx":
		if !p.rounds() {
			return Choice{}, fmt.Errorf("cpu: ROLLCALL_CPU=%s: multiplies with --precision bf16 or bf16x3 alone", want)
		}
		if lost != "" {
			return Choice{}, fmt.Errorf("cpu: ROLLCALL_CPU=%s: %s, want %s", want, lost, strings.Join(names, " or "))
		}
		fallthrough
	case "avx2", "avx512":
		return Choice{}, fmt.Errorf("cpu: ROLLCALL_CPU=%s: not on this processor, want %s",
			want, strings.Join(names, " or "))
	}
	return Choice{}, fmt.Errorf("cpu: ROLLCALL_CPU=%s: unknown variant, want generic, avx2, avx512, "+
		"avx512bf16 or amx", want)
}
