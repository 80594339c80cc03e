// Package lock keeps two processes from making the same run: whoever makes a run holds a lock on the file .lock in its
// folder.
//
//	l, err := lock.Take(dir, lock.Holder{Version: "v1"})
//	if held, is := errors.AsType[*lock.HeldError](err); is {
//		// held.Holder makes the run
//	}
//	defer l.Release()
//
// The lock is the system's (flock): it goes with the process, however that ends. The text of the file says who has the
// lock, for people alone. A lock saves work, and no result depends on it: two processes that make the same run, where
// a file system cannot lock, write the same bytes.
package lock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"rollcall/internal/files"
)

// File is the name of the locked file in a run's folder.
const File = ".lock"

// Beat is the time between two writings of the holder's text.
const Beat = 30 * time.Second

// silence is the age of a text whose process counts as ended, where its lock cannot be seen.
const silence = 4 * Beat

// Holder is the process that holds a lock, and how far it is.
type Holder struct {
	Host     string    `json:"host"`
	PID      int       `json:"pid"` // 0: not known
	Version  string    `json:"version"`
	Numerics string    `json:"numerics"` // "": not known yet
	Round    int       `json:"round"`    // at Time
	Rounds   int       `json:"rounds"`   // 0: not known yet
	Time     time.Time `json:"time"`     // when this was written
}

// String returns the process and how far it is: "process 123 on host x, round 120/2000".
func (h Holder) String() string {
	if h.PID == 0 {
		return "another worker"
	}
	who := fmt.Sprintf("process %d on host %s", h.PID, h.Host)
	if h.Rounds > 0 {
		who += fmt.Sprintf(", round %d/%d", h.Round, h.Rounds)
	}
	return who
}

// HeldError says that another process holds the lock.
type HeldError struct{ Holder Holder }

func (e *HeldError) Error() string { return "trained by " + e.Holder.String() }

// Lock is a held lock, until Release.
type Lock struct {
	// Useless says that the file system cannot lock, so that other processes may make the run at the same time.
	Useless bool

	dir   string
	made  []string    // the folders that Take made, the outermost first
	home  fs.FileInfo // the folder
	file  *os.File
	stop  func()
	guard sync.Mutex // of holder
	// What the next beat writes.
	holder Holder
}

// A process that only looks whether the lock is free holds it for a moment, see [Running].
const (
	looks     = 3
	lookPause = 10 * time.Millisecond
)

// attempts bounds how often Take begins again because the file was removed under it.
const attempts = 100

// Take locks the folder of a run, which it makes if it is not there, and does not wait: the error is a *[HeldError] if
// another process has the lock. me says what the lock is for, without host, process and time.
func Take(dir string, me Holder) (*Lock, error) {
	l := &Lock{dir: dir, holder: me}
	l.holder.Host, _ = os.Hostname() // "" if it is not known
	l.holder.PID = os.Getpid()
	var err error
	for range attempts {
		if err = l.take(); !errors.Is(err, fs.ErrNotExist) {
			break // otherwise another process has removed what it had made there
		}
	}
	if _, held := errors.AsType[*HeldError](err); held {
		return nil, err
	}
	if err != nil {
		files.RemoveEmpty(l.made)
		return nil, fmt.Errorf("lock: %w", err)
	}
	l.write()
	l.stop = every(Beat, l.write)
	return l, nil
}

// take makes one attempt. [fs.ErrNotExist] says that another one may succeed.
func (l *Lock) take() error {
	made, err := files.MakeFolders(l.dir)
	l.made = append(l.made, made...)
	if err != nil {
		return err
	}
	path := filepath.Join(l.dir, File)
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s: a link, want a file", path)
	}
	if err := files.CheckPlace(path); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if errors.Is(err, fs.ErrPermission) { // another user's file, which can be locked and not written
		file, err = os.Open(path)
	}
	if err != nil {
		return err
	}
	locked := false
	for look := range looks {
		if locked, err = files.TryLock(file); err == nil {
			break
		}
		if look < looks-1 {
			time.Sleep(lookPause)
		}
	}
	if err != nil {
		held := &HeldError{read(file)}
		_ = file.Close() // nothing was written
		return held
	}
	// The last holder may have removed the file after it was opened here.
	ours, err := file.Stat()
	named, gone := os.Lstat(path)
	home, left := os.Stat(l.dir)
	if err = errors.Join(err, gone, left); err == nil && !os.SameFile(ours, named) {
		err = fs.ErrNotExist
	}
	if err != nil {
		_ = file.Close()
		return err
	}
	l.home, l.file, l.Useless = home, file, !locked
	return nil
}

// Progress sets what the next beat writes. The first call writes it at once.
func (l *Lock) Progress(numerics string, round, rounds int) {
	l.guard.Lock()
	first := l.holder.Rounds == 0
	l.holder.Numerics, l.holder.Round, l.holder.Rounds = numerics, round, rounds
	l.guard.Unlock()
	if first {
		l.write()
	}
}

// write writes the holder's text. Errors are ignored: the text is for people alone.
func (l *Lock) write() {
	l.guard.Lock()
	defer l.guard.Unlock()
	l.holder.Time = time.Now().UTC()
	text, _ := json.Marshal(l.holder) // texts, numbers and a time
	_, _ = l.file.WriteAt(append(text, '\n'), 0)
	_ = l.file.Truncate(int64(len(text)) + 1)
	_ = l.file.Sync() // for other hosts
}

// Folder returns the folder in which the locked file is now, which somebody may have moved; "" if the file was removed
// or the system does not say.
func (l *Lock) Folder() string {
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", l.file.Fd()))
	if err != nil {
		return ""
	}
	ours, gone := l.file.Stat()
	named, err := os.Stat(path)
	if gone != nil || err != nil || !os.SameFile(ours, named) {
		return ""
	}
	return filepath.Dir(path)
}

// In reports whether a path leads to the folder that was locked. A folder that looks like another one, but has the
// locked file or a copy of it, is the same: not all file systems number their files for good. The error is that of
// looking at the path.
func (l *Lock) In(dir string) (is bool, err error) {
	now, err := os.Stat(dir)
	if err != nil || os.SameFile(now, l.home) {
		return err == nil, err
	}
	l.guard.Lock() // or a beat could come between the two readings
	defer l.guard.Unlock()
	there, _ := files.ReadUpTo(filepath.Join(dir, File), mostText) // nothing, if it cannot be read
	ours := make([]byte, mostText)
	n, _ := l.file.ReadAt(ours, 0) // up to the end of the file
	return n > 0 && bytes.Equal(there, ours[:n]), nil
}

// Release gives the lock up. Its file stays, emptied, or goes with a folder that Take has made and that has no other.
// What has the place of the folder meanwhile stays as it is.
func (l *Lock) Release() error {
	l.stop()
	here, _ := l.In(l.dir) // not where it cannot be seen
	_ = l.file.Truncate(0)
	if !here {
		l.made = nil
	}
	if entries, err := os.ReadDir(l.dir); err == nil && len(entries) == 1 && len(l.made) > 0 {
		_ = os.Remove(filepath.Join(l.dir, File)) // while it is locked: see the end of take
	}
	err := l.file.Close()
	files.RemoveEmpty(l.made)
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}

// Running returns the process that makes the run in a folder; nil: none does, as far as can be seen from here. Where
// locks cannot be seen, or do not reach the host of the process, a text that was written lately says that it is alive.
func Running(dir string) (*Holder, error) {
	file, _, err := files.OpenRegular(filepath.Join(dir, File))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // nothing was written
	h := read(file)
	free, known := files.Unlocked(file)
	here, _ := os.Hostname()
	switch {
	case known && !free:
		return &h, nil
	case h.PID == 0 || known && h.Host == here || time.Since(h.Time) > silence:
		return nil, nil
	}
	return &h, nil
}

// mostText bounds the text of a lock's file, in bytes.
const mostText = 1 << 12

// read returns the text of a lock's file; the zero value for one that is not whole.
func read(file *os.File) (h Holder) {
	text := make([]byte, mostText)
	n, _ := file.ReadAt(text, 0) // up to the end of the file
	if json.Unmarshal(text[:n], &h) != nil {
		return Holder{}
	}
	return h
}

// every calls do every so often, until stop is called.
func every(interval time.Duration, do func()) (stop func()) {
	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				do()
			case <-ended:
				return
			}
		}
	}()
	return func() {
		close(ended)
		<-stopped
	}
}
