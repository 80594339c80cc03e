package files

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Output is a file that a user names on a command line. Unlike a program's own files, see [WriteFile], it may be
// anything that the user's other tools write to.
//
//   - "-" and each path of standard output, such as /dev/stdout, is standard output. The path of another open
//     descriptor, such as /dev/fd/3, is that descriptor.
//   - A pipe and a character device, such as a terminal or /dev/null, are written through. A pipe without a reader
//     waits for one.
//   - A link stands for the file that it names, which need not exist yet; the folder of that file must.
//   - A file is replaced as a whole, and keeps its mode and, if possible, its owner. It is written in place if it has
//     several names, or if its folder takes no new file.
//
// Folders, sockets, disks, loops of links, and files that may not be written, are errors.
type Output struct {
	name   string      // as the user has written it
	path   string      // without links
	older  fs.FileInfo // what is at path; nil: nothing is
	open   *os.File    // of an open descriptor
	stdout io.Writer   // if it is standard output
}

// NewOutput looks at what a name stands for, and writes nothing. Errors name it; [ErrNoFile] is wrapped by those about
// what is no file and cannot be written through.
func NewOutput(name string, stdout io.Writer) (*Output, error) {
	o := &Output{name: name}
	switch name {
	case "":
		return nil, fmt.Errorf(`"": empty, %w`, ErrNoFile)
	case "-":
		o.stdout = stdout
		return o, nil
	}
	err := o.look(stdout)
	if err != nil {
		return nil, o.named(err)
	}
	return o, nil
}

// look finds what the name stands for.
func (o *Output) look(stdout io.Writer) (err error) {
	if o.path, err = withoutLinks(o.name); err != nil {
		return err
	}
	if fd, is := descriptor(o.path); is {
		if fd == syscall.Stdout {
			o.stdout = stdout
			return nil
		}
		o.open, err = duplicate(fd, o.name)
		return err
	}
	o.older, err = os.Stat(o.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(o.name, string(filepath.Separator)):
		return fmt.Errorf("a folder, %w", ErrNoFile)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case o.through():
		return nil
	case !o.older.Mode().IsRegular():
		return noFile(o.older.Mode())
	}
	// A rename would replace a file that may not be written.
	f, err := os.OpenFile(o.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// through reports whether what is at the path is written through.
func (o *Output) through() bool {
	return o.older != nil && o.older.Mode().Type()&(fs.ModeNamedPipe|fs.ModeCharDevice) != 0
}

// named returns an error with the user's name in place of another.
func (o *Output) named(err error) error { return fmt.Errorf("%s: %w", o.name, Cause(err)) }

// Stdout reports whether the output is standard output, where nothing else may be then.
func (o *Output) Stdout() bool { return o.stdout != nil }

// NewIn returns the folder in which the output would be a new file; "" if it is none.
func (o *Output) NewIn() string {
	if o.older != nil || o.open != nil || o.Stdout() {
		return ""
	}
	return filepath.Dir(o.path)
}

// Is reports whether the output would replace the file at a path.
func (o *Output) Is(path string) bool {
	other, err := os.Stat(path)
	return err == nil && o.older != nil && !o.through() && os.SameFile(o.older, other)
}

// Write writes the output once. Where a file cannot be replaced, it calls write twice.
func (o *Output) Write(write func(io.Writer) error) error {
	switch {
	case o.Stdout():
		return write(o.stdout)
	case o.open != nil:
		return o.writeTo(o.open, write)
	case o.through():
		return o.writeIn(0, write)
	case o.older == nil:
		if err := Replace(o.path, write); err != nil {
			return o.named(err)
		}
		return nil
	case severalNames(o.older):
		return o.writeIn(os.O_TRUNC, write)
	}
	err := Replace(o.path, write, func(temp string) error {
		keepOwner(temp, o.older)
		return os.Chmod(temp, o.older.Mode().Perm())
	})
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EBUSY):
		// The folder is another user's, or the file a mount of its own, as in a container.
		return o.writeIn(os.O_TRUNC, write)
	case err != nil:
		return o.named(err)
	}
	return nil
}

// writeIn writes to what is at the path, opened with further flags.
func (o *Output) writeIn(flags int, write func(io.Writer) error) error {
	f, err := os.OpenFile(o.path, os.O_WRONLY|syscall.O_NOCTTY|flags, 0)
	if err != nil {
		return o.named(err)
	}
	return o.writeTo(f, write)
}

// writeTo writes to an open file and closes it.
func (o *Output) writeTo(f *os.File, write func(io.Writer) error) error {
	buffered := newBuffer(f)
	if err := cmp.Or(write(buffered), buffered.Flush(), f.Close()); err != nil {
		return o.named(err)
	}
	return nil
}

// mostLinks bounds a chain of links, as Linux does.
const mostLinks = 40

// withoutLinks follows the links of a path, also those whose last target is not there. A path in a folder that is not
// there is returned as it is.
func withoutLinks(path string) (string, error) {
	for n := range mostLinks {
		// Not Dir and Join before the links of the folder are followed: they would take away LINK/.. from a path.
		dir, name := filepath.Split(path)
		real, err := filepath.EvalSymlinks(cmp.Or(dir, "."))
		switch {
		case errors.Is(err, fs.ErrNotExist) && n == 0:
			return path, nil
		case errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("a link to %s, whose folder does not exist", path)
		case err != nil:
			return "", err
		}
		path = filepath.Join(real, name)
		if _, is := descriptor(path); is { // a link, too, whose text may be no path: pipe:[123]
			return path, nil
		}
		to, err := os.Readlink(path)
		if err != nil { // no link, or nothing
			return path, nil
		}
		if path = to; !filepath.IsAbs(to) {
			path = real + string(filepath.Separator) + to
		}
	}
	return "", syscall.ELOOP
}

// descriptor returns the open descriptor of this process that a path without links stands for.
func descriptor(path string) (fd int, is bool) {
	dir, name := filepath.Split(path)
	fd, err := strconv.Atoi(name)
	own := fmt.Sprintf("/proc/%d/", os.Getpid())
	return fd, err == nil && (dir == "/dev/fd/" || strings.HasPrefix(dir, own) && strings.HasSuffix(dir, "/fd/"))
}
