//go:build !amd64

package tiles

// native returns false: only amd64 has AMX.
func native() bool { return false }
