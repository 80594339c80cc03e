package claim

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Holder is the process that has a claim, as far as one look can tell.
type Holder struct {
	Host   string // "": not known
	PID    int    // 0: not known
	Epoch  int    // from 1
	Round  int    // at the last heartbeat
	Rounds int    // 0: not known
	Mine   bool   // the holder is this process
	Dead   bool   // the process is known to have ended, and the next process that tries gets the folder
	// Alive says that the process has shown a sign of life: it holds its lock, or has written a heartbeat since the
	// first look.
	Alive bool
}

// String returns the process and how far it is: "process 123 on host x, round 120/2000".
func (h *Holder) String() string {
	who := fmt.Sprintf("process %d on host %s", h.PID, cmp.Or(h.Host, "(unknown)"))
	switch {
	case h.Mine:
		who = "this process"
	case h.PID == 0:
		who = "an unknown process"
	}
	if h.Dead {
		who += " (which has ended)"
	}
	if h.Rounds > 0 {
		who += fmt.Sprintf(", round %d/%d", h.Round, h.Rounds)
	}
	return who
}

// Read returns the process that has a claim on a folder; nil: none has, or there is no folder. One look cannot tell
// whether a process on another machine lives; [Watch] can.
func Read(dir string) (*Holder, error) {
	var w Watch
	f := w.folder(dir)
	now, err := f.readClaims(w.locks(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil || len(now.claims) == 0 {
		return nil, wrap(dir, err)
	}
	return now.top().holder(w.identity().process), nil
}

// claimed is a claim as it was read.
type claimed struct {
	epoch int
	text  string
	life  life
	record
}

// holder returns the claim's process. process is the identity of this process.
func (c *claimed) holder(process string) *Holder {
	return &Holder{
		Host: c.host, PID: c.pid, Epoch: c.epoch, Round: c.round, Rounds: c.rounds,
		Mine: strings.HasPrefix(c.id, process), Dead: c.life == dead, Alive: c.life == alive,
	}
}

// listing is the content of a folder as it was read.
type listing struct {
	names  []string
	claims []claimed // by epoch, ascending
}

// top returns the claim with the largest epoch, which holds the folder; nil: nobody has it.
func (s *listing) top() *claimed {
	if len(s.claims) == 0 {
		return nil
	}
	return &s.claims[len(s.claims)-1]
}

// readAttempts is how often a folder is listed again because its largest claim was gone when it was opened.
const readAttempts = 20

// readClaims reads the claims of a folder. If locks is not "", it asks for the lock of the largest claim as well, see
// [Watch.locks].
func (f folder) readClaims(locks string) (now listing, err error) {
	for range readAttempts {
		now.names, err = f.names()
		if err != nil {
			return listing{}, err
		}
		now.claims = nil
		for _, name := range now.names {
			if epoch := epochOf(name); epoch > 0 {
				now.claims = append(now.claims, claimed{epoch: epoch})
			}
		}
		slices.SortFunc(now.claims, func(a, b claimed) int { return a.epoch - b.epoch })
		var gone bool
		if gone, err = f.openClaims(&now, locks); err != nil || !gone {
			return now, err
		}
	}
	// Some clients of NFS keep an old listing for a minute: a claim that cannot be opened holds nothing.
	return now, nil
}

// openClaims reads the listed claims and drops those that are gone. gone reports whether the largest is.
func (f folder) openClaims(now *listing, locks string) (gone bool, err error) {
	listed := now.claims
	now.claims = nil
	for k, c := range listed {
		last, ask := k == len(listed)-1, ""
		if last {
			ask = locks
		}
		c.text, c.life, err = f.read(claimName(c.epoch), ask)
		if errors.Is(err, fs.ErrNotExist) {
			gone = gone || last
			continue
		}
		if err != nil {
			return false, err
		}
		c.record, _ = parse(c.text)
		now.claims = append(now.claims, c)
	}
	return gone, nil
}

// wrap adds the folder to an error, once. It removes the hidden names in it, which are of no use to users.
func wrap(dir string, err error) error {
	if err == nil {
		return nil
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		switch name := filepath.Base(p.Path); {
		case p.Path == dir:
			err = p.Err
		case strings.HasPrefix(name, claimPrefix) || strings.HasPrefix(name, epochPrefix):
			err = fmt.Errorf("%s: %w", p.Op, p.Err)
		}
	} else if l, ok := errors.AsType[*os.LinkError](err); ok {
		what := l.Op
		if name := filepath.Base(l.New); !strings.HasPrefix(name, claimPrefix) {
			what = name // the name of the published file
		}
		err = fmt.Errorf("%s: %w", what, l.Err)
	}
	return fmt.Errorf("claim: %s: %w", dir, err)
}

// ignoreEOF drops io.EOF: a claim is shorter than the buffer it is read into.
func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
