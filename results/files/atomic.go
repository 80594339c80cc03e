package files

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// WriteFile puts what write writes under path, all of it or nothing: a temporary name in the same folder, fsync,
// rename, fsync of the folder. A file that was there stays as it was until the rename, and for good when there is an
// error. Missing folders are created; temporary files that killed processes have left in the folder are removed. A
// symbolic link at path is replaced, not followed. The file's mode is 0666 less the umask.
//
// Errors name path and wrap the cause, among them write's own.
func WriteFile(path string, write func(io.Writer) error) error {
	if err := Replace(path, write); err != nil {
		return fmt.Errorf("results: %s: %w", path, err)
	}
	return nil
}

// Replace is [WriteFile] for other packages than results': its errors name neither the package nor path.
func Replace(path string, write func(io.Writer) error) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	// The final name is not part of the temporary one, which would be too long for a file name that just fits.
	f, err := CreateTemp(dir)
	if err != nil {
		return withoutPath("create", err)
	}
	temp := f.Name()
	defer func() { // runs after a panic of write as well
		_ = f.Close()       // closed twice on the good path, where Close's first error has been looked at
		_ = os.Remove(temp) // which on the good path has another name by now
	}()

	buffered := bufio.NewWriterSize(f, 1<<16)
	for _, step := range []struct {
		doing string
		do    func() error
	}{
		{"write", func() error { return write(buffered) }},
		{"write", buffered.Flush},
		{"sync", f.Sync},
		{"rename", func() error { return os.Rename(temp, path) }}, // still locked, or it might be swept before
		{"close", f.Close},
	} {
		if err := step.do(); err != nil {
			return withoutPath(step.doing, err)
		}
	}
	return SyncFolder(dir)
}

// SyncFolder makes a rename in dir outlive a power cut. File systems that cannot sync a folder are left alone.
func SyncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

// withoutPath drops the temporary name from an error of the os package: nobody asked for a file of that name.
// Other errors pass unchanged.
func withoutPath(doing string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", doing, p.Err)
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return fmt.Errorf("%s: %w", doing, l.Err)
	}
	return err
}
