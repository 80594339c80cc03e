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

// Holder is who has a claim, as far as one look can tell.
type Holder struct {
	Host   string // "" unknown
	PID    int    // 0 unknown
	Epoch  int    // from 1
	Round  int    // as of the last heartbeat
	Rounds int    // 0 unknown
	Mine   bool   // this very process has it
	Dead   bool   // its process is known to have ended, and the next who tries has the folder
}

// String names the process and how far it is: "process 123 on host x, round 120/2000".
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

// Read returns who holds a claim on a folder, as far as one look can tell; nil for nobody, and for a folder that is not
// there. Whether a process on another machine lives it cannot tell: [Watch] does.
func Read(dir string) (*Holder, error) {
	var w Watch
	f := w.folder(dir)
	now, err := f.look(w.locks(f))
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
	dead  bool // by its lock
	record
}

func (c *claimed) holder(process string) *Holder {
	return &Holder{
		Host: c.host, PID: c.pid, Epoch: c.epoch, Round: c.round, Rounds: c.rounds,
		Mine: strings.HasPrefix(c.id, process), Dead: c.dead,
	}
}

// sight is a folder as it was read.
type sight struct {
	names  []string
	claims []claimed // by epoch
}

// top is the claim that holds, nil where nobody has the folder.
func (s *sight) top() *claimed {
	if len(s.claims) == 0 {
		return nil
	}
	return &s.claims[len(s.claims)-1]
}

// looks is how often a folder is read anew in which the claim that was listed is gone when it is opened.
const looks = 20

// look reads the claims of a folder. If locks, of [Watch.locks], is not "", it asks for the lock of the largest as
// well.
func (f folder) look(locks string) (now sight, err error) {
	for range looks {
		now.names, err = f.names()
		if err != nil {
			return sight{}, err
		}
		now.claims = nil
		for _, name := range now.names {
			if epoch := epochOf(name); epoch > 0 {
				now.claims = append(now.claims, claimed{epoch: epoch})
			}
		}
		slices.SortFunc(now.claims, func(a, b claimed) int { return a.epoch - b.epoch })
		var gone bool
		if gone, err = f.readClaims(&now, locks); err != nil || !gone {
			return now, err
		}
	}
	// Some clients of NFS keep a listing for a minute: what is not there is not held.
	return now, nil
}

// readClaims reads the claims that are listed, drops those that have gone since, and says whether the largest has.
func (f folder) readClaims(now *sight, locks string) (gone bool, err error) {
	listed := now.claims
	now.claims = nil
	for k, c := range listed {
		last, ask := k == len(listed)-1, ""
		if last {
			ask = locks
		}
		c.text, c.dead, err = f.read(claimName(c.epoch), ask)
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

// wrap says of which folder an error is, once. The hidden names in it are of no use to who reads it.
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
			what = name // which is published
		}
		err = fmt.Errorf("%s: %w", what, l.Err)
	}
	return fmt.Errorf("claim: %s: %w", dir, err)
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
