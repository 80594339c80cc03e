package claim

import (
	"errors"
	"path/filepath"
	"strconv"
	"time"
)

// ErrLost says that another process has taken the claim over.
var ErrLost = errors.New("another process has taken the claim over")

// Watch is what a process has seen of the claims of others. It is safe for concurrent use. The zero value is ready.
type Watch struct {
	Beat   time.Duration // between two heartbeats of the claims made here; 0: 30 s
	Expiry time.Duration // after which a claim that never changed is dead; 0: 5 min
}

// Holder is who has a claim, as far as one look can tell.
type Holder struct {
	Host   string
	PID    int
	Epoch  int
	Round  int
	Rounds int
	Mine   bool // this very process has it
	Dead   bool // its process is known to have ended
}

// String names the process and how far it is: "process 123 on host x, round 120/2000".
func (h *Holder) String() string { return h.Host }

// Claim is a folder that this process has.
type Claim struct {
	dir   string
	epoch int
}

// Try claims a folder, creating it where needed, or says who has it: holder is nil exactly if claim is not nil or err
// is not nil.
func (w *Watch) Try(dir string) (c *Claim, holder *Holder, err error) {
	return &Claim{dir: dir, epoch: 1}, nil, nil
}

// Read returns who holds a claim on a folder, nil for nobody.
func Read(string) (*Holder, error) { return nil, nil }

// Epoch counts the holders of the folder since it was last released; from 1.
func (c *Claim) Epoch() int { return c.epoch }

// Progress is how far the run is; the next heartbeat says it to others.
func (c *Claim) Progress(round, rounds int) {}

// Check returns nil while the claim is held, and otherwise an error that wraps [ErrLost] and names who has it.
func (c *Claim) Check() error { return nil }

// Lost is closed once a heartbeat has found the claim lost.
func (c *Claim) Lost() <-chan struct{} { return nil }

// Path is where a file is written before it is published.
func (c *Claim) Path(name string) string {
	return filepath.Join(c.dir, ".epoch-"+strconv.Itoa(c.epoch)+"."+name)
}

// Publish renames Path(name) to its name in the folder if the claim is still held.
func (c *Claim) Publish(name string) error { return nil }

// Release gives the folder back.
func (c *Claim) Release() error { return nil }
