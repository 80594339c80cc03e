package files

import (
	"cmp"
	"path/filepath"
	"slices"
)

// Unique returns the different values, in the order in which they first occur; nil if there are none.
func Unique[T comparable](values []T) (different []T) {
	for _, v := range values {
		if !slices.Contains(different, v) {
			different = append(different, v)
		}
	}
	return different
}

// SortedSet returns the different values in ascending order; never nil, so that JSON has [].
func SortedSet[T cmp.Ordered](values []T) []T {
	return append([]T{}, slices.Compact(slices.Sorted(slices.Values(values)))...)
}

// UniquePaths drops every path that means the same place as an earlier one, be it relative or absolute.
func UniquePaths(paths []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		if whole, err := filepath.Abs(path); err == nil {
			path = whole
		}
		twice := seen[path]
		seen[path] = true
		return twice
	})
}
