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

// WriteFile creates or replaces the file at path with the bytes that write writes, all of them or none. It writes to a
// temporary name in the same folder, syncs, renames, and syncs the folder. An older file stays unchanged until the
// rename, and after an error. WriteFile creates missing folders, and removes temporary files that killed processes left
// in the folder. It replaces a symbolic link at path and does not follow it. The file's mode is 0666 less the umask.
//
// Before is called when the new file is whole, just before the rename. An error of it keeps the older file.
//
// Errors name path and wrap their cause, which may be an error of write or of before.
func WriteFile(path string, write func(io.Writer) error, before ...Before) error {
	if err := Replace(path, write, before...); err != nil {
		return fmt.Errorf("results: %s: %w", path, err)
	}
	return nil
}

// Before looks at a new file under its temporary name before it replaces an older one.
type Before func(temp string) error

// Replace does the same as [WriteFile], but its errors name neither path nor the package results. Packages outside of
// results add their own names.
func Replace(path string, write func(io.Writer) error, before ...Before) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	// The temporary name does not contain the final one: it would be too long if the final name just fits.
	f, err := CreateTemp(dir)
	if err != nil {
		return withoutPath("create", err)
	}
	temp := f.Name()
	defer func() { // runs after a panic of write as well
		_ = f.Close()       // without an error the file is closed already, and Close was checked
		_ = os.Remove(temp) // without an error the file has its final name by now
	}()

	buffered := bufio.NewWriterSize(f, 1<<16)
	type step struct {
		doing string
		do    func() error
	}
	steps := []step{
		{"write", func() error { return write(buffered) }},
		{"write", buffered.Flush},
		{"sync", f.Sync},
	}
	for _, look := range before {
		steps = append(steps, step{"look", func() error { return look(temp) }})
	}
	steps = append(steps,
		step{"rename", func() error { return os.Rename(temp, path) }}, // while locked, or a sweep might remove it
		step{"close", f.Close})
	for _, s := range steps {
		if err := s.do(); err != nil {
			return withoutPath(s.doing, err)
		}
	}
	return SyncFolder(dir)
}

// SyncFolder syncs a folder, so that a rename in it survives a power cut. It does nothing on file systems that cannot
// sync folders.
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

// withoutPath removes the temporary name from an error of the os package, since no user knows that name. It returns
// other errors unchanged.
func withoutPath(doing string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", doing, p.Err)
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return fmt.Errorf("%s: %w", doing, l.Err)
	}
	return err
}
