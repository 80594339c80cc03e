// Package limits ends the program in one line where the limits of the system are too low for Go's runtime to start, or
// GOMEMLIMIT is no size. Whoever imports it has that, in programs with cgo and CUDA on Linux: in others nothing runs
// before the runtime, which then ends with a trace and status 2.
package limits
