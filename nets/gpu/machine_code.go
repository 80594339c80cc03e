package gpu

import (
	_ "embed"
	"strconv"
	"strings"
)

// limits is the table that `make limits` writes, and to which `make check-ptx` holds the machine code.
//
//go:embed sass/limits.csv
var limits string

// The columns of limits that are read here.
const (
	limitsKernel, limitsLoop, limitsTarget = 0, 1, 2
	limitsRegisters, limitsInstructions    = 3, 8
)

// MachineCode returns how many registers a thread of a kernel has and how many instructions the kernel, for an engine
// such as cuda-sm90. They are of the most that NVIDIA's assemblers make of it, for the nearest architecture up to that
// of the engine. ok is false if none is known, as for the copies that a profile times like kernels.
func MachineCode(engine, kernel string) (registers, instructions int, ok bool) {
	arch := number(strings.TrimPrefix(engine, "cuda-sm"))
	nearest := 0
	for line := range strings.Lines(limits) {
		c := strings.Split(strings.TrimSuffix(line, "\n"), ",")
		if c[limitsKernel] != kernel || c[limitsLoop] != "" {
			continue
		}
		if target := number(strings.TrimPrefix(c[limitsTarget], "sm_")); target > nearest && target <= arch {
			nearest = target
			registers, instructions = number(c[limitsRegisters]), number(c[limitsInstructions])
		}
	}
	return registers, instructions, nearest > 0
}

// number returns a whole number, 0 for any other text.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}
