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

// Names in a claimed folder. What follows claimPrefix is an epoch, or an id, which has too many digits for an epoch.
const (
	claimPrefix = ".claim-"
	epochPrefix = ".epoch-"
)

func claimName(epoch int) string { return claimPrefix + strconv.Itoa(epoch) }

func idName(id string) string { return claimPrefix + id }

// ownPrefix begins the names of the files that a claim writes before they are published. The id is part of it: epochs
// begin anew after a release, and ids never come back.
func ownPrefix(epoch int, id string) string {
	return epochPrefix + strconv.Itoa(epoch) + "." + id + "."
}

// epochOf reads the epoch from the name of a claim; 0 for another name.
func epochOf(name string) int {
	digits, found := strings.CutPrefix(name, claimPrefix)
	if epoch, err := strconv.Atoi(digits); err == nil && found && epoch > 0 && claimName(epoch) == name {
		return epoch
	}
	return 0
}

// folder is a folder that is claimed, and the few operations on files that claims consist of. Tests stop, fail and
// forge them.
type folder struct {
	dir    string
	around func(op, name string, do func() error) error // nil: do()
	list   func(dir string) ([]string, error)           // nil: the names in the folder
}

func (f folder) path(name string) string { return filepath.Join(f.dir, name) }

func (f folder) do(op, name string, do func() error) error {
	if f.around == nil {
		return do()
	}
	return f.around(op, name, do)
}

// names lists the folder.
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

// make makes the folder and those above it, as far as they are missing, and returns which it made, the outermost first.
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

// removeFolders removes the folders that were made, those that are empty.
func removeFolders(made []string) {
	for _, dir := range slices.Backward(made) {
		_ = os.Remove(dir) // fails for one that holds something
	}
}

// create makes a file under a name that is not there, locks it, and returns whether the lock is held.
func (f folder) create(name string) (file *os.File, locked bool, err error) {
	err = f.do("create", name, func() error {
		file, err = os.OpenFile(f.path(name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		return err
	})
	if err != nil {
		if file != nil { // made, and then said not to be
			err = errors.Join(err, file.Close())
		}
		return nil, false, err
	}
	locked, _ = files.TryLock(file)
	return file, locked, nil
}

// read returns the text of a file, and whether it is the claim of a process that has ended and whose locks are seen
// here, which is asked if locks is not "". Both are of one and the same file, whatever happens to its name.
func (f folder) read(name, locks string) (text string, dead bool, err error) {
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
		dead = locks != "" && r.locks == locks && files.Unlocked(file)
		return ignoreEOF(err)
	})
	return text, dead, err
}

// owned says whether a claim is there and has an id.
func (f folder) owned(epoch int, id string) (bool, error) {
	text, _, err := f.read(claimName(epoch), "")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	r, _ := parse(text)
	return r.id == id, err
}

// remove removes a file, which need not be there.
func (f folder) remove(name string) error {
	err := f.do("remove", name, func() error { return os.Remove(f.path(name)) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeClaim removes a claim unless its text is another's by now.
func (f folder) removeClaim(epoch int, id string) error {
	if owned, err := f.owned(epoch, id); err != nil || !owned {
		return err
	}
	return f.remove(claimName(epoch))
}

// rename renames a file. An error of a rename that was made all the same, as NFS may report after a lost answer, is
// none.
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
