package claim

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"rollcall/results/files"
)

// Names in a claimed folder. An epoch or an id follows claimPrefix. An id has 26 characters, too many for an epoch.
const (
	claimPrefix = ".claim-"
	epochPrefix = ".epoch-"
)

// claimName returns the name of the claim of an epoch.
func claimName(epoch int) string { return claimPrefix + strconv.Itoa(epoch) }

// idName returns the name of the file that is linked to a claim, and that no other process makes.
func idName(id string) string { return claimPrefix + id }

// ownPrefix begins the names of the files that a claim writes before they are published. It contains the id, because
// epochs begin anew after a release and ids never come back.
func ownPrefix(epoch int, id string) string {
	return epochPrefix + strconv.Itoa(epoch) + "." + id + "."
}

// epochOf returns the epoch in the name of a claim; 0 for another name.
func epochOf(name string) int {
	digits, found := strings.CutPrefix(name, claimPrefix)
	if epoch, err := strconv.Atoi(digits); err == nil && found && epoch > 0 && claimName(epoch) == name {
		return epoch
	}
	return 0
}

// folder is a claimed folder with the few operations on files that claims consist of. Tests replace them to stop, fail
// and forge each one.
type folder struct {
	dir    string
	around func(op, name string, do func() error) error // runs each operation; nil: it is called as it is
	list   func(dir string) ([]string, error)           // returns the names in a folder; nil: the system's
}

func (f folder) path(name string) string { return filepath.Join(f.dir, name) }

// do makes one operation, through around if there is one.
func (f folder) do(op, name string, do func() error) error {
	if f.around == nil {
		return do()
	}
	return f.around(op, name, do)
}

// names returns the names in the folder.
func (f folder) names() (names []string, err error) {
	list := f.list
	if list == nil {
		list = listFolder
	}
	err = f.do("list", "", func() error {
		names, err = list(f.dir)
		return err
	})
	return names, err
}

func listFolder(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	names, err := d.Readdirnames(-1)
	return names, errors.Join(err, d.Close())
}

// make makes the folder and the missing folders above it, and returns the folders it made, the outermost first.
func (f folder) make() (made []string, err error) {
	var missing []string
	for dir := filepath.Clean(f.dir); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		missing = append(missing, dir)
	}
	for _, dir := range slices.Backward(missing) {
		err := f.do("mkdir", "", func() error { return os.Mkdir(dir, 0o777) })
		if err == nil {
			made = append(made, dir)
		} else if !errors.Is(err, fs.ErrExist) {
			return made, err
		}
	}
	return made, nil
}

// removeFolders removes the folders that were made, if they are empty.
func removeFolders(made []string) {
	for _, dir := range slices.Backward(made) {
		_ = os.Remove(dir) // fails for one that holds something
	}
}

// create makes a file under a name that does not exist, and locks it. locked is false where the file system has no
// locks.
func (f folder) create(name string) (file *os.File, locked bool, err error) {
	err = f.do("create", name, func() error {
		file, err = os.OpenFile(f.path(name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		return err
	})
	if err != nil {
		if file != nil { // a test reports an error for a file that was made
			err = errors.Join(err, file.Close())
		}
		return nil, false, err
	}
	locked, _ = files.TryLock(file)
	return file, locked, nil
}

// life is what one look can tell of the process that has a claim.
type life int

const (
	unknownLife life = iota
	alive            // its lock is held
	dead             // its lock is free, so that its process has ended
)

// read returns the text of a file, and the life of the process if the file is a claim whose locks are seen here. locks
// is [Watch.locks]; with "" nobody looks. Text and lock belong to the same open file, whatever happens to its name
// meanwhile.
func (f folder) read(name, locks string) (text string, of life, err error) {
	err = f.do("read", name, func() error {
		file, _, err := files.OpenRegular(f.path(name))
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // nothing was written
		b := make([]byte, 1<<12)
		n, err := file.ReadAt(b, 0)
		text = string(b[:n])
		r, _ := parse(text)
		if locks != "" && r.locks == locks {
			of = alive
			if files.Unlocked(file) {
				of = dead
			}
		}
		return ignoreEOF(err)
	})
	return text, of, err
}

// owned reports whether the claim of an epoch is there and has this id.
func (f folder) owned(epoch int, id string) (bool, error) {
	text, _, err := f.read(claimName(epoch), "")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	r, _ := parse(text)
	return r.id == id, err
}

// remove removes a file. A file that is not there is no error.
func (f folder) remove(name string) error {
	err := f.do("remove", name, func() error { return os.Remove(f.path(name)) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeClaim removes the claim of an epoch if it still has this id.
func (f folder) removeClaim(epoch int, id string) error {
	if owned, err := f.owned(epoch, id); err != nil || !owned {
		return err
	}
	return f.remove(claimName(epoch))
}

// rename renames a file. NFS may report an error for a rename that was made, if the answer was lost: rename looks at
// both names and returns nil then.
func (f folder) rename(from, to string) error {
	info, err := os.Lstat(f.path(from))
	if err != nil {
		return err
	}
	err = f.do("rename", to, func() error { return os.Rename(f.path(from), f.path(to)) })
	if err == nil {
		return nil
	}
	if _, still := os.Lstat(f.path(from)); !errors.Is(still, fs.ErrNotExist) {
		return err
	}
	if now, lost := os.Lstat(f.path(to)); lost == nil && os.SameFile(info, now) {
		return nil
	}
	return err
}
