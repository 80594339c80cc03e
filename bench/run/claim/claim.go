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

// ErrLost says that another process has taken the claim over, or that its file is gone.
var ErrLost = errors.New("the claim is lost")

// Claim is a folder that this process has until it is released or lost.
type Claim struct {
	folder
	epoch   int
	process string   // as in identity
	made    []string // the folders that Try made, the outermost first
	file    *os.File // locked as long as the process lives
	now     func() time.Duration
	expiry  time.Duration

	stop, ended chan struct{} // of the heartbeats
	lost        chan struct{}

	lock     sync.Mutex
	record                 // what heartbeats write
	beaten   time.Duration // when the last one was written
	loss     error         // wraps ErrLost; nil: held
	released bool
}

// Epoch counts the holders of the folder since it was last released; from 1.
func (c *Claim) Epoch() int { return c.epoch }

// Progress is how far the run is; the next heartbeat tells others.
func (c *Claim) Progress(round, rounds int) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.round, c.rounds = round, rounds
}

// Lost is closed once the claim has been found lost, by a heartbeat or otherwise.
func (c *Claim) Lost() <-chan struct{} { return c.lost }

// Check returns nil while the claim is held, and an error that wraps [ErrLost] and names who has it once it is lost,
// for good. Other errors are of reading the folder, and say nothing of the claim. A host may see a folder on NFS as it
// was a minute before: [Claim.Publish] does not depend on that.
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
	// Only now: holders that came and went before the folder was listed have removed this claim, and one that came
	// after them may have made one of the same epoch.
	owned, err := c.owned(c.epoch, c.id)
	if err != nil {
		return wrap(c.dir, err)
	}
	if !owned {
		return c.lose(c.named(c.epoch))
	}
	return nil
}

// named says who has a claim.
func (c *Claim) named(epoch int) string {
	text, _, err := c.read(claimName(epoch), "")
	if err != nil {
		return "its file is gone"
	}
	other := claimed{epoch: epoch}
	other.record, _ = parse(text)
	return other.holder(c.process).String() + " has it"
}

// over returns why the claim is held no longer, as far as that is known already.
func (c *Claim) over() error {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.loss == nil && c.released {
		return wrap(c.dir, errors.New("the claim has been released"))
	}
	return c.loss
}

// lose marks the claim as lost, for good, and returns the error that says why.
func (c *Claim) lose(why string) error {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.loss == nil {
		c.loss = wrap(c.dir, fmt.Errorf("%w: %s", ErrLost, why))
		close(c.lost)
	}
	return c.loss
}

// Path is where a file is written before it is published, on this machine. Nobody but this claim ever has a file of
// that name, and the next holder removes it.
func (c *Claim) Path(name string) string { return c.path(ownPrefix(c.epoch, c.id) + name) }

// Publish renames Path(name), which its writer has synced, to its name in the folder. If the claim is lost, the file
// is removed, and the error wraps [ErrLost]. After another error the file is where it was.
func (c *Claim) Publish(name string) error {
	from := ownPrefix(c.epoch, c.id) + name
	unsure := c.Check()
	if unsure == nil {
		err := c.rename(from, name)
		if err == nil {
			return wrap(c.dir, c.do("sync", "", func() error { return files.SyncFolder(c.dir) }))
		}
		if unsure = c.Check(); unsure == nil { // or the next holder has removed the file
			return wrap(c.dir, err)
		}
	}
	if errors.Is(unsure, ErrLost) {
		_ = c.remove(from) // or else Release does
	}
	return unsure
}

// Release ends the heartbeats and removes the claim, what it wrote and did not publish, and the folders that Try
// created if they are empty. Of a lost claim it leaves what the new holder has. A second Release does nothing.
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
