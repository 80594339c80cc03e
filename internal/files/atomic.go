package files

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// WriteFile creates or replaces the file at path with the bytes that write writes, all of them or none. It writes to a
// temporary name in the same folder, syncs, renames, and syncs the folder. An older file stays unchanged until the
// rename, and after an error. WriteFile creates missing folders, and removes temporary files that killed processes left
// in the folder. It replaces a symbolic link at path and does not follow it; a pipe, a device or a folder at path is an
// error, see [ErrNoFile]. The file's mode is 0666 less the umask. For files that a user names, see [Output].
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
		return fmt.Errorf("create: %w", Cause(err))
	}
	temp := f.Name()
	defer func() { // runs after a panic of write as well
		_ = f.Close()       // without an error the file is closed already, and Close was checked
		_ = os.Remove(temp) // without an error the file has its final name by now
	}()

	buffered := newBuffer(f)
	type step struct {
		doing string
		do    func() error
	}
	steps := []step{
		// As a plain writer: the system's own copying of files names the new file in errors of reading the other.
		{"write", func() error { return write(struct{ io.Writer }{buffered}) }},
		{"write", buffered.Flush},
		{"sync", f.Sync},
	}
	for _, look := range before {
		steps = append(steps, step{"look", func() error { return look(temp) }})
	}
	steps = append(steps,
		step{"rename", func() error { return CheckPlace(path) }},   // not before: a look may move what is there away
		step{"rename", func() error { return rename(temp, path) }}, // while locked, or a sweep might remove it
		step{"close", f.Close})
	for _, s := range steps {
		if err := s.do(); err != nil {
			return withoutPath(s.doing, temp, err)
		}
	}
	return SyncFolder(dir)
}

// rename is os.Rename, but says the same as [CheckPlace] of what came to path only after that was called.
func rename(temp, path string) error {
	err := os.Rename(temp, path)
	if err != nil {
		return cmp.Or(CheckPlace(path), err)
	}
	return nil
}

func newBuffer(f *os.File) *bufio.Writer { return bufio.NewWriterSize(f, 1<<16) }

// SyncFolder syncs a folder, where the file system can, so that a rename in it survives a power cut.
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

// withoutPath removes a temporary name from an error of the os package, since no user knows that name. It returns other
// errors unchanged: those of a writer that reads another file name that one.
func withoutPath(doing, temp string, err error) error {
	p, ofPath := errors.AsType[*fs.PathError](err)
	l, ofLink := errors.AsType[*os.LinkError](err)
	if ofPath && p.Path == temp || ofLink && l.Old == temp {
		return fmt.Errorf("%s: %w", doing, Cause(err))
	}
	return err
}

// Cause drops operation and paths from an error of the os package, for a message that names what the user knows.
func Cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err
	}
	return err
}

// A temporary name consists of tempPrefix, the [machine] of the writer, random letters, and tempSuffix.
const (
	tempPrefix = ".rollcall-"
	tempSuffix = ".tmp"
)

// machine returns the part of temporary names that stands for this machine. Machines that share a folder may not see
// each other's locks, so each judges only its own files by their locks. The name comes from [LocksOf], because
// containers on different machines often have the same host name, and from the host name if LocksOf knows nothing. A
// file from before the last start has another name; it is removed when it is stale.
func machine(dir string) string {
	name := LocksOf(dir, BootID())
	if name == "" {
		name, _ = os.Hostname() // "" if there is none
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name)) // never fails
	return fmt.Sprintf("%08x-", sum.Sum32())
}

// staleAfter is the age at which a temporary file of an unknown writer counts as abandoned. Writing one takes seconds.
const staleAfter = 24 * time.Hour

// CreateTemp creates a file with a temporary name in a folder; the caller renames or removes it. The file is locked as
// long as it is open: the lock tells a file that is being written from one that a killed process left. CreateTemp
// removes such left files from the folder first.
func CreateTemp(dir string) (f *os.File, err error) {
	prefix := tempPrefix + machine(dir)
	Sweep(dir)
	for range 10 { // once is enough, unless another process sweeps the folder before the file is locked
		path := filepath.Join(dir, prefix+rand.Text()+tempSuffix)
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return nil, err
		}
		busy := Lock(f)
		if _, err = os.Lstat(path); busy == nil && err == nil {
			return f, nil
		}
		err = errors.Join(busy, err, f.Close())
	}
	return nil, err
}

// Sweep removes the temporary files from a folder that no living process writes: files of this machine at once, others
// when they are stale. Files that cannot be read or removed stay. Every write sweeps its folder; Sweep is for folders
// in which nothing is left to write.
func Sweep(dir string) {
	prefix := tempPrefix + machine(dir)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		name := e.Name()
		if e.Type().IsRegular() && strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix) {
			removeStale(filepath.Join(dir, name), e, strings.HasPrefix(name, prefix))
		}
	}
}

// removeStale removes a temporary file unless its writer may be alive; ours says that it was written on this machine.
func removeStale(path string, e fs.DirEntry, ours bool) {
	f, err := os.OpenFile(path, os.O_RDWR, 0) // NFS locks only files that are open for writing
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }() // nothing was written
	held, err := TryLock(f)
	if err != nil {
		return // another process is writing it
	}
	if !held || !ours {
		if info, err := e.Info(); err != nil || time.Since(info.ModTime()) < staleAfter {
			return
		}
	}
	_ = os.Remove(path)
}

// LocksOf returns a name for the group of processes that see each other's locks on files in a folder. They run on one
// machine, whose [BootID] is boot, and reach the folder through one mount: two mounts of a network file system may have
// separate locks. The name is "" if unknown.
func LocksOf(dir, boot string) string {
	d := device(dir)
	if d == "" || boot == "" {
		return ""
	}
	return boot + "." + d
}
