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
	id    string
	text  string
	since time.Duration
	beats bool // it had another text before, with the same id: its process has written a heartbeat
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
	if top := now.top(); top != nil && w.lifeOf(f.dir, top, asked) != dead {
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

// lifeOf returns whether the process of a claim lives, and notes it in c. It is dead if its lock is free, or if the
// claim had the same text Expiry before asked. It is alive if its lock is held, or if a heartbeat has been seen. lifeOf
// remembers the claim's text for the next call.
func (w *Watch) lifeOf(dir string, c *claimed, asked time.Duration) life {
	w.lock.Lock()
	defer w.lock.Unlock()
	dir = filepath.Clean(dir)
	s, known := w.seen[dir]
	if known = known && s.epoch == c.epoch && s.id == c.id; known && s.text == c.text {
		if asked-s.since >= cmp.Or(w.Expiry, defaultExpiry) {
			c.life = dead
		}
	} else {
		if w.seen == nil {
			w.seen = map[string]sighting{}
		}
		s = sighting{c.epoch, c.id, c.text, w.now(), known && c.id != ""}
		w.seen[dir] = s
	}
	if c.life == unknownLife && s.beats {
		c.life = alive
	}
	return c.life
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
