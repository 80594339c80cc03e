package files

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
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

// RealPath returns an absolute path without links. What does not exist at the end of the path stays as it is written.
func RealPath(path string) string {
	whole, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	real, err := filepath.EvalSymlinks(whole)
	if err == nil {
		return real
	}
	above := filepath.Dir(whole)
	if above == whole {
		return whole
	}
	return filepath.Join(RealPath(above), filepath.Base(whole))
}

// Contains reports whether a folder is another path, or has it below it. Both are without links, see [RealPath].
func Contains(folder, path string) bool {
	inside, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(inside)
}

// MakeFolders makes a folder and the missing ones above it, and returns those, the outermost first. A file in its place
// is no error here, but where something is opened in it.
func MakeFolders(dir string) (made []string, err error) {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil, nil
	}
	if above := filepath.Dir(dir); above != dir {
		if made, err = MakeFolders(above); err != nil {
			return made, err
		}
	}
	err = os.Mkdir(dir, 0o777)
	if errors.Is(err, fs.ErrExist) { // another process was faster, or it is a file
		return made, nil
	}
	if err != nil {
		return made, err
	}
	return append(made, dir), nil
}

// RemoveEmpty removes the folders that [MakeFolders] has made, as far as they are empty. A file or a link that somebody
// has put in the place of one stays.
func RemoveEmpty(made []string) {
	for _, dir := range slices.Backward(made) {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			_ = os.Remove(dir)
		}
	}
}
