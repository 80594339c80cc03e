package claim

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// keepAlive writes heartbeats until the claim is released or lost.
func (c *Claim) keepAlive(every time.Duration) {
	defer close(c.ended)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			c.beat()
		case <-c.lost:
			return
		case <-c.stop:
			return
		}
	}
}

// beat writes a heartbeat if the claim is held. What cannot be written is tried again with the next one; when it has
// failed for as long as others wait before they take a claim over, the claim counts as lost.
func (c *Claim) beat() {
	began := c.now()
	err := c.Check()
	if err == nil {
		err = c.writeBeat()
	}
	c.lock.Lock()
	if err == nil {
		c.beaten = began
	}
	still := c.now() - c.beaten
	c.lock.Unlock()
	if err != nil && still >= c.expiry {
		_ = c.lose(fmt.Sprintf("no heartbeat could be written for %v: %v", still.Round(time.Second), err))
	}
}

// writeBeat writes the next text of the claim over the last one. It opens the file anew: clients of NFS see what was
// written before a file was closed when they open it after that.
func (c *Claim) writeBeat() error {
	c.lock.Lock()
	c.record.beat++
	text := c.text()
	c.lock.Unlock()
	return c.do("beat", claimName(c.epoch), func() (err error) {
		file, err := os.OpenFile(c.path(claimName(c.epoch)), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		old := make([]byte, len(text))
		if _, err := file.ReadAt(old, 0); err != nil {
			return err
		}
		if r, _ := parse(string(old)); r.id != c.id { // another's, under the name of a claim that was lost
			return fmt.Errorf("the claim is of %q, want %q", r.id, c.id)
		}
		_, err = file.WriteAt(text, 0)
		return errors.Join(err, file.Sync())
	})
}
