package claim

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// take makes the next claim after those in seen, the folder as the caller has read it, if no other process is faster.
// [errAgain] and [fs.ErrNotExist] say that the caller has to look again.
func (w *Watch) take(f folder, seen listing) (*Claim, error) {
	epoch := 1
	if top := seen.top(); top != nil {
		epoch = top.epoch + 1
	}
	me := w.identity()
	locks := w.locks(f) // the machine and mount whose processes see locks in this folder
	if w.locksUnseen.Load() {
		locks = ""
	}
	c := &Claim{
		folder: f, epoch: epoch, process: me.process, now: w.now, expiry: cmp.Or(w.Expiry, defaultExpiry),
		record: record{id: me.newID(), host: me.host, pid: me.pid, locks: locks},
		lost:   make(chan struct{}), stop: make(chan struct{}), ended: make(chan struct{}),
	}
	err := c.put()
	if err == nil && c.locks != "" && !c.isOneFile() {
		w.locksUnseen.Store(true) // the text of this claim names locks, so it goes, and the next claim names none
		err = errAgain
	}
	var now listing
	if err == nil {
		now, err = c.verify(seen)
	}
	if err == nil {
		err = c.sweep(now)
	}
	if err != nil {
		return nil, errors.Join(err, c.withdraw())
	}
	c.lastBeat = w.now()
	return c, nil
}

// put makes the claim: it writes a file of its own and links it under the name of the epoch, which all processes that
// want this epoch use. Then it reads that name to see whether the link was made: NFS may report an error for a link
// that was made, if the answer was lost.
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
	// Another process was faster; or it holds the folder by now and has removed our link, or our file before the link.
	if linked == nil || errors.Is(linked, fs.ErrExist) || errors.Is(linked, fs.ErrNotExist) {
		return errAgain
	}
	return c.putUnlinked()
}

// isOneFile reports whether the claim and the file linked to it are the same file. On some file systems, such as sshfs,
// they are two: then a lock on the one says nothing about the other, and the claim would count as dead.
func (c *Claim) isOneFile() bool {
	linked, err := c.file.Stat()
	if err != nil {
		return false
	}
	claim, err := os.Stat(c.path(claimName(c.epoch)))
	return err == nil && os.SameFile(linked, claim)
}

// putUnlinked makes the claim where the file system has no links. It creates the claim as a new file, which is empty
// for a moment.
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

// write writes the text of a claim that no other process knows yet. If the file has no lock, the text does not say
// whose locks are seen: others would find the lock free while this process lives.
func (c *Claim) write(file *os.File, locked bool) error {
	if !locked {
		c.locks = ""
	}
	return c.do("write", "", func() error {
		_, err := file.Write(c.text())
		return errors.Join(err, file.Sync())
	})
}

// verify lists the folder after the claim was made. It returns [errAgain] if there is a larger epoch, or a smaller one
// that was not in seen: then the folder was released and claimed anew since seen was read.
func (c *Claim) verify(seen listing) (now listing, err error) {
	now, err = c.readClaims("")
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

// same reports whether two readings are of one claim, maybe with other heartbeats. A claim that was read before its
// maker had written it has no id: see putUnlinked.
func (c *claimed) same(other claimed) bool {
	return c.epoch == other.epoch && c.id == other.id && (c.id != "" || c.text == other.text)
}

// sweep removes the claims and files of older holders. None of them can publish after that. It removes only what verify
// has listed: if this process has lost the folder meanwhile, the new holder's files are not in that list.
func (c *Claim) sweep(now listing) error {
	for _, older := range now.claims[:len(now.claims)-1] {
		err := c.removeClaim(older.epoch, older.id)
		if err == nil && older.id == "" { // its maker died before it wrote the claim
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

// withdraw removes everything that the claim has put into the folder.
func (c *Claim) withdraw() (err error) {
	if c.file == nil {
		return nil
	}
	for _, step := range []func() error{
		c.sweepOwn,
		func() error { return c.removeClaim(c.epoch, c.id) },
		c.file.Close, // before its name is removed: NFS would rename a file that is still open
		func() error { return c.remove(idName(c.id)) },
	} {
		if failed := step(); failed != nil && !errors.Is(failed, fs.ErrNotExist) { // the folder may be gone
			err = errors.Join(err, failed)
		}
	}
	return err
}

// sweepOwn removes the files that were written and not published.
func (c *Claim) sweepOwn() error {
	names, err := c.names()
	for _, name := range names {
		if strings.HasPrefix(name, ownPrefix(c.epoch, c.id)) {
			err = errors.Join(err, c.remove(name))
		}
	}
	return err
}
