//go:build !amd64

package reference

// variantOf returns the loop of a variant: there is one.
func variantOf(string) code { return generic }
