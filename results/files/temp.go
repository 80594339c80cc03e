package files

import (
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A temporary name is tempPrefix, the writer's machine, anything, tempSuffix.
const (
	tempPrefix = ".rollcall-"
	tempSuffix = ".tmp"
)

// machine names this one in the temporary names of a folder: a lock that is taken here may say nothing of those of
// another machine that has the folder too. Where it can be had the name is of [LocksOf]: containers of two machines
// often have one host name. What was left before the machine was last started is then another's, and goes when it is
// stale.
func machine(dir string) string {
	name := LocksOf(dir, BootID())
	if name == "" {
		name, _ = os.Hostname() // or "", as all that have none
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name)) // which never fails
	return fmt.Sprintf("%08x-", sum.Sum32())
}

// staleAfter is when a temporary file of which nobody knows the writer is taken for left behind; writing one is a
// matter of seconds.
const staleAfter = 24 * time.Hour

// CreateTemp makes a file under a temporary name in a folder, for its caller to rename or remove. It holds a lock as
// long as it is open, which tells those that are being written from those that killed processes have left: these are
// removed from the folder first.
func CreateTemp(dir string) (f *os.File, err error) {
	prefix := tempPrefix + machine(dir)
	sweep(dir, prefix)
	for range 10 { // one is enough, unless somebody sweeps the folder before the file is locked
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

// sweep removes the temporary files from a folder that no living process writes: at once those with a prefix, others
// when they are stale. What cannot be read or removed stays for another time.
func sweep(dir, prefix string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		name := e.Name()
		if e.Type().IsRegular() && strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix) {
			removeStale(filepath.Join(dir, name), e, strings.HasPrefix(name, prefix))
		}
	}
}

func removeStale(path string, e fs.DirEntry, ours bool) {
	f, err := os.OpenFile(path, os.O_RDWR, 0) // NFS locks what is open for writing alone
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }() // nothing was written
	held, err := TryLock(f)
	if err != nil {
		return // it is being written
	}
	if !held || !ours {
		if info, err := e.Info(); err != nil || time.Since(info.ModTime()) < staleAfter {
			return
		}
	}
	_ = os.Remove(path)
}
