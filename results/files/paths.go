package files

import (
	"path/filepath"
	"slices"
)

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
