package claim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"rollcall/results/files"
)

// ErrLost says that another process has taken the claim over, or that the claim's file is gone.
var ErrLost = errors.New("the claim is lost")

// Claim is the right of this process to a folder, until it is released or lost.
type Claim struct {
	folder
	epoch   int      // counts the holders of the folder since it was last released; from 1
	process string   // identity.process
	made    []string // the folders that Try made, the outermost first
	file    *os.File // open and locked as long as the process lives
	now     func() time.Duration
	expiry  time.Duration

	stop, ended chan struct{} // closed to end the heartbeats, and once they have ended
	lost        chan struct{} // closed once the claim is lost

	lock     sync.Mutex
	record                 // the text of the claim, which heartbeats write
	lastBeat time.Duration // when the last one was written
	loss     error         // wraps ErrLost; nil: the claim is not known to be lost
	released bool
}

// Progress sets how far the run is. The next heartbeat writes it, for other processes to show.
func (c *Claim) Progress(round, rounds int) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.round, c.rounds = round, rounds
}

// Lost returns a channel that is closed once a heartbeat or another call has found the claim lost.
func (c *Claim) Lost() <-chan struct{} { return c.lost }

// Check returns nil while this process has the claim. Once the claim is lost, it returns an error for good that wraps
// [ErrLost] and names the new holder. Other errors come from reading the folder and say nothing about the claim. On NFS
// a host may see a folder as it was a minute ago; [Claim.Publish] does not depend on that.
func (c *Claim) Check() error {
	if err := c.over(); err != nil {
		return err
	}
	names, err := c.names()
	if errors.Is(err, fs.ErrNotExist) {
		return c.lose("the folder is gone")
	}
	if err != nil {
		return wrap(c.dir, err)
	}
	largest := 0
	for _, name := range names {
		largest = max(largest, epochOf(name))
	}
	if largest != c.epoch {
		return c.lose(c.named(largest))
	}
	// This comes after the listing. Holders that came and went before it have removed this claim, and a process that
	// came after them may have made a claim of the same epoch.
	owned, err := c.owned(c.epoch, c.id)
	if err != nil {
		return wrap(c.dir, err)
	}
	if !owned {
		return c.lose(c.named(c.epoch))
	}
	return nil
}

// named says which process has the claim of an epoch.
func (c *Claim) named(epoch int) string {
	text, _, err := c.read(claimName(epoch), "")
	if err != nil {
		return "its file is gone"
	}
	other := claimed{epoch: epoch}
	other.record, _ = parse(text)
	return other.holder(c.process).String() + " has it"
}

// over returns why this process no longer has the claim, as far as it knows already; nil: it knows of no reason.
func (c *Claim) over() error {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.loss == nil && c.released {
		return wrap(c.dir, errors.New("the claim has been released"))
	}
	return c.loss
}

// lose marks the claim as lost for good, and returns the error that says why.
func (c *Claim) lose(why string) error {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.loss == nil {
		c.loss = wrap(c.dir, fmt.Errorf("%w: %s", ErrLost, why))
		close(c.lost)
	}
	return c.loss
}

// Path returns the path under which a file of this name is written before it is published. No other claim ever has a
// file of that path, and the next holder of the folder removes it.
func (c *Claim) Path(name string) string { return c.path(ownPrefix(c.epoch, c.id) + name) }

// Publish renames Path(name) to its name in the folder. The writer must have synced the file. If the claim is lost,
// Publish removes the file and returns an error that wraps [ErrLost]. After another error the file is where it was.
func (c *Claim) Publish(name string) error {
	from := ownPrefix(c.epoch, c.id) + name
	unsure := c.Check()
	if unsure == nil {
		err := c.rename(from, name)
		if err == nil {
			return wrap(c.dir, c.do("sync", "", func() error { return files.SyncFolder(c.dir) }))
		}
		if unsure = c.Check(); unsure == nil { // the claim is good, so that the next holder has not removed the file
			return wrap(c.dir, err)
		}
	}
	if errors.Is(unsure, ErrLost) {
		_ = c.remove(from) // if that fails, Release tries again
	}
	return unsure
}

// Release ends the heartbeats and removes the claim, its unpublished files, and the folders that Try made if they are
// empty. It touches nothing that belongs to another holder. A second Release does nothing.
func (c *Claim) Release() error {
	c.lock.Lock()
	again := c.released
	c.released = true
	c.lock.Unlock()
	if again {
		return nil
	}
	close(c.stop)
	<-c.ended
	err := c.withdraw()
	removeFolders(c.made)
	return wrap(c.dir, err)
}
