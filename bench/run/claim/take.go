package claim

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// take makes the next claim after those that were seen, if nobody is faster. [errAgain] and [fs.ErrNotExist] say to
// look again.
func (w *Watch) take(f folder, seen sight) (*Claim, error) {
	epoch := 1
	if top := seen.top(); top != nil {
		epoch = top.epoch + 1
	}
	me := w.identity()
	locks := w.locks(f)
	if w.blind.Load() {
		locks = ""
	}
	c := &Claim{
		folder: f, epoch: epoch, process: me.process, now: w.now, expiry: cmp.Or(w.Expiry, defaultExpiry),
		record: record{id: me.newID(), host: me.host, pid: me.pid, locks: locks},
		lost:   make(chan struct{}), stop: make(chan struct{}), ended: make(chan struct{}),
	}
	err := c.put()
	if err == nil && c.locks != "" && !c.isOneFile() {
		w.blind.Store(true)
		err = errAgain
	}
	var now sight
	if err == nil {
		now, err = c.verify(seen)
	}
	if err == nil {
		err = c.sweep(now)
	}
	if err != nil {
		return nil, errors.Join(err, c.withdraw())
	}
	c.beaten = w.now()
	return c, nil
}

// put makes the claim: a file of its own, linked under the name that all who want this epoch want. What comes of it is
// read from that name: NFS may report an error for a link that was made, if the answer was lost.
func (c *Claim) put() (err error) {
	var locked bool
	if c.file, locked, err = c.create(idName(c.id)); err != nil {
		return err
	}
	if err := c.write(c.file, locked); err != nil {
		return err
	}
	linked := c.do("link", claimName(c.epoch), func() error {
		return os.Link(c.path(idName(c.id)), c.path(claimName(c.epoch)))
	})
	if owned, err := c.owned(c.epoch, c.id); err != nil || owned {
		return err
	}
	if linked == nil || errors.Is(linked, fs.ErrExist) || errors.Is(linked, fs.ErrNotExist) {
		return errAgain
	}
	return c.putUnlinked()
}

// isOneFile says whether the claim is the very file that was linked to it, and locked. To some file systems, such as
// sshfs, the two names are two files: a lock of the one says nothing of the other, and the claim would count as dead.
func (c *Claim) isOneFile() bool {
	linked, err := c.file.Stat()
	if err != nil {
		return false
	}
	claim, err := os.Stat(c.path(claimName(c.epoch)))
	return err == nil && os.SameFile(linked, claim)
}

// putUnlinked makes the claim where the file system has no links: as a new file, which for a moment is empty.
func (c *Claim) putUnlinked() error {
	file, locked, err := c.create(claimName(c.epoch))
	if errors.Is(err, fs.ErrExist) {
		if owned, err := c.owned(c.epoch, c.id); err != nil || owned { // the link was made at last
			return err
		}
		return errAgain
	}
	if err != nil {
		return err
	}
	err = c.file.Close()
	c.file = file
	if err = errors.Join(err, c.write(file, locked)); err != nil {
		return errors.Join(err, c.remove(claimName(c.epoch)))
	}
	return nil
}

// write writes the text of a claim that nobody knows yet. Of one without a lock it does not say who sees
// its locks: its lock is free whether its process lives or not.
func (c *Claim) write(file *os.File, locked bool) error {
	if !locked {
		c.locks = ""
	}
	return c.do("write", "", func() error {
		_, err := file.Write(c.text())
		return errors.Join(err, file.Sync())
	})
}

// verify reads the folder after the claim was made. [errAgain]: a larger epoch is there, or a smaller one that was not
// seen before, because the folder has been given back and claimed anew since then.
func (c *Claim) verify(seen sight) (now sight, err error) {
	now, err = c.look("")
	if err != nil {
		return now, err
	}
	if top := now.top(); top == nil || top.epoch != c.epoch || top.id != c.id {
		return now, errAgain
	}
	for _, older := range now.claims[:len(now.claims)-1] {
		if !slices.ContainsFunc(seen.claims, older.same) {
			return now, errAgain
		}
	}
	return now, nil
}

// same says whether two readings are of one claim, heartbeats aside.
func (c *claimed) same(other claimed) bool {
	return c.epoch == other.epoch && c.id == other.id && (c.id != "" || c.text == other.text)
}

// sweep removes what older holders have left. None of them can publish after that. It removes what verify has listed:
// if this process has lost the folder meanwhile, the files of the new holder are not among that.
func (c *Claim) sweep(now sight) error {
	for _, older := range now.claims[:len(now.claims)-1] {
		err := c.removeClaim(older.epoch, older.id)
		if err == nil && older.id == "" {
			err = c.remove(claimName(older.epoch))
		}
		if err != nil {
			return err
		}
	}
	for _, name := range now.names {
		old := strings.HasPrefix(name, epochPrefix)
		old = old || strings.HasPrefix(name, claimPrefix) && epochOf(name) == 0 && name != idName(c.id)
		if !old {
			continue
		}
		if err := c.remove(name); err != nil {
			return err
		}
	}
	return nil
}

// withdraw removes what the claim has put into the folder.
func (c *Claim) withdraw() (err error) {
	if c.file == nil {
		return nil
	}
	for _, step := range []func() error{
		c.sweepOwn,
		func() error { return c.removeClaim(c.epoch, c.id) },
		c.file.Close, // before the name goes: of an open file NFS would keep one
		func() error { return c.remove(idName(c.id)) },
	} {
		if failed := step(); failed != nil && !errors.Is(failed, fs.ErrNotExist) { // the folder may be gone
			err = errors.Join(err, failed)
		}
	}
	return err
}

// sweepOwn removes what was written and not published.
func (c *Claim) sweepOwn() error {
	names, err := c.names()
	for _, name := range names {
		if strings.HasPrefix(name, ownPrefix(c.epoch, c.id)) {
			err = errors.Join(err, c.remove(name))
		}
	}
	return err
}
