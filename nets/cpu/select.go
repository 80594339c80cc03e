package cpu

import (
	"fmt"
	"os"
	"strings"
)

// Select returns the fastest variant this processor has, or the one that the environment variable ROLLCALL_CPU names:
// generic, avx2 or avx512. It is an error to name another, or one this processor lacks.
func Select() (Kernels[float32], error) {
	have := Variants()
	want := os.Getenv("ROLLCALL_CPU")
	if want == "" {
		return have[len(have)-1], nil
	}
	var names []string
	for _, k := range have {
		if k.Name() == want {
			return k, nil
		}
		names = append(names, k.Name())
	}
	if want == "avx2" || want == "avx512" {
		return nil, fmt.Errorf("cpu: ROLLCALL_CPU=%s: not on this processor, want %s",
			want, strings.Join(names, " or "))
	}
	return nil, fmt.Errorf("cpu: ROLLCALL_CPU=%s: unknown variant, want generic, avx2 or avx512", want)
}
