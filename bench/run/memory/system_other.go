//go:build !linux && !darwin

package memory

// System knows nothing here.
func System() (l Limit, known bool) { return Limit{}, false }
