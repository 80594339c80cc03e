package claim

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"rollcall/results/files"
)

// How often a heartbeat comes, and after how long without one a claim is dead, where a [Watch] says nothing.
const (
	defaultBeat   = 30 * time.Second
	defaultExpiry = 5 * time.Minute
)

// Watch is what a process has seen of the claims of others. It is safe for concurrent use. The zero value is ready.
type Watch struct {
	Beat   time.Duration // from one heartbeat of a claim made here to the next; 0: 30 s
	Expiry time.Duration // how long a claim must have stood still to be dead, the same for all processes; 0: 5 min

	lock  sync.Mutex
	seen  map[string]sighting // by folder
	blind atomic.Bool         // locks of this process's claims are not seen, so that its claims tell of none

	// Tests only; nil: the machine's.
	clock  func() time.Duration
	self   func() identity
	around func(op, name string, do func() error) error
	list   func(dir string) ([]string, error)
}

// sighting is the largest claim of a folder as it was read, and since when it has been so by this process's clock.
type sighting struct {
	epoch int
	text  string
	since time.Duration
}

// attempts is how often a folder is tried for that changes hands under the eyes of who tries.
const attempts = 100

// errAgain says that another process was faster.
var errAgain = errors.New("another process was faster")

// Try claims a folder, creating it where needed, or says who has it: holder is nil exactly if claim is not nil or err
// is not nil. Whoever has claimed a folder looks what is in it only then: its last holder may have ended its work.
//
// Where nothing may be written, the error wraps [fs.ErrPermission] or syscall.EROFS.
func (w *Watch) Try(dir string) (c *Claim, holder *Holder, err error) {
	f := w.folder(dir)
	var made []string // the folders, the outermost first
	for range attempts {
		var more []string
		more, err = f.make()
		made = append(made, more...)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // the folder above was removed by who had made it
			break
		}
		if c, holder, err = w.tryOnce(f); err == nil || !errors.Is(err, errAgain) && !errors.Is(err, fs.ErrNotExist) {
			break
		}
		err = fmt.Errorf("it changes hands all the time: %w", err)
	}
	if c != nil {
		c.made = made
		go c.keepAlive(cmp.Or(w.Beat, defaultBeat))
		return c, nil, nil
	}
	removeFolders(made)
	return nil, holder, wrap(dir, err)
}

func (w *Watch) tryOnce(f folder) (*Claim, *Holder, error) {
	asked := w.now()
	me := w.identity()
	now, err := f.look(w.locks(f))
	if err != nil {
		return nil, nil, err
	}
	if top := now.top(); top != nil && !w.dead(f.dir, top, asked) {
		return nil, top.holder(me.process), nil
	}
	c, err := w.take(f, now)
	if c != nil {
		w.lock.Lock()
		defer w.lock.Unlock()
		delete(w.seen, filepath.Clean(f.dir))
	}
	return c, nil, err
}

// dead says whether a claim is dead: its lock is free, or it is as it was Expiry before asked. It remembers the claim.
func (w *Watch) dead(dir string, c *claimed, asked time.Duration) bool {
	w.lock.Lock()
	defer w.lock.Unlock()
	dir = filepath.Clean(dir)
	if s, ok := w.seen[dir]; ok && s.epoch == c.epoch && s.text == c.text {
		return c.dead || asked-s.since >= cmp.Or(w.Expiry, defaultExpiry)
	}
	if w.seen == nil {
		w.seen = map[string]sighting{}
	}
	w.seen[dir] = sighting{c.epoch, c.text, w.now()}
	return c.dead
}

// start is where this process's clock starts; the clock is monotonic.
var start = time.Now()

func (w *Watch) now() time.Duration {
	if w.clock != nil {
		return w.clock()
	}
	return time.Since(start)
}

// locks says whose locks are seen in a folder, see [files.LocksOf].
func (w *Watch) locks(f folder) string { return files.LocksOf(f.dir, w.identity().boot) }

func (w *Watch) identity() identity {
	if w.self != nil {
		return w.self()
	}
	return thisProcess()
}

func (w *Watch) folder(dir string) folder { return folder{dir: dir, around: w.around, list: w.list} }
