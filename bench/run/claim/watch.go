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

// The default times of a [Watch]: between two heartbeats, and without a heartbeat until a claim counts as dead.
const (
	defaultBeat   = 30 * time.Second
	defaultExpiry = 5 * time.Minute
)

// Watch makes claims, and remembers the claims of other processes to see which of them stand still. It is safe for
// concurrent use, and its zero value is ready.
type Watch struct {
	Beat   time.Duration // time between two heartbeats of a claim made here; 0: 30 s
	Expiry time.Duration // how long a claim must stand still to count as dead, the same for all processes; 0: 5 min

	lock        sync.Mutex
	seen        map[string]sighting // by folder
	locksUnseen atomic.Bool         // no process sees the locks of claims here, so that claims do not name any

	// Tests set these; nil: the machine's own.
	clock  func() time.Duration
	self   func() identity
	around func(op, name string, do func() error) error
	list   func(dir string) ([]string, error)
}

// sighting is the largest claim of a folder as it was read, and since when it has had that text by this process's
// clock.
type sighting struct {
	epoch int
	text  string
	since time.Duration
}

// attempts is how often Try tries to claim a folder that other processes claim and release at the same time.
const attempts = 100

// errAgain says that another process was faster.
var errAgain = errors.New("another process was faster")

// Try claims a folder, and makes it if it does not exist. If another process has it, holder is that process. Exactly
// one of c, holder and err is not nil. A process that has claimed a folder must then look what is in it: the last
// holder may have finished the work.
//
// Where nothing may be written, the error wraps [fs.ErrPermission] or syscall.EROFS.
func (w *Watch) Try(dir string) (c *Claim, holder *Holder, err error) {
	f := w.folder(dir)
	var made []string // the folders, the outermost first
	for range attempts {
		var more []string
		more, err = f.make()
		made = append(made, more...)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // another process may have removed the folder above
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

// tryOnce is one attempt of Try. [errAgain] and [fs.ErrNotExist] say that another attempt may succeed.
func (w *Watch) tryOnce(f folder) (*Claim, *Holder, error) {
	asked := w.now()
	me := w.identity()
	now, err := f.readClaims(w.locks(f))
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

// dead reports whether a claim is dead: its lock is free, or it had the same text Expiry before asked. dead remembers
// the claim's text for the next call.
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

// start is the zero of this process's clock, which is monotonic.
var start = time.Now()

// now returns the time of this process's clock.
func (w *Watch) now() time.Duration {
	if w.clock != nil {
		return w.clock()
	}
	return time.Since(start)
}

// locks returns the name of the machine and mount whose locks are seen in a folder, see [files.LocksOf].
func (w *Watch) locks(f folder) string { return files.LocksOf(f.dir, w.identity().boot) }

// identity returns the identity of this process.
func (w *Watch) identity() identity {
	if w.self != nil {
		return w.self()
	}
	return thisProcess()
}

// folder returns a folder with the operations that tests may replace.
func (w *Watch) folder(dir string) folder { return folder{dir: dir, around: w.around, list: w.list} }
