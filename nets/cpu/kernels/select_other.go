//go:build !amd64

package kernels

// Variants returns every variant this processor can run.
func Variants() []Kernels[float32] { return []Kernels[float32]{Generic[float32]()} }
