//go:build !linux && !darwin

package memory

// System returns no limit: how to ask this system is not known.
func System() (l Limit, known bool) { return Limit{}, false }
