package claim

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// keepAlive writes a heartbeat every so often, until the claim is released or lost.
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

// beat writes a heartbeat if this process still has the claim. After an error the next heartbeat tries again. If
// heartbeats have failed for as long as others wait before they take a claim over, the claim counts as lost here too.
func (c *Claim) beat() {
	began := c.now()
	err := c.Check()
	if err == nil {
		err = c.writeBeat()
	}
	c.lock.Lock()
	if err == nil {
		c.lastBeat = began
	}
	still := c.now() - c.lastBeat
	c.lock.Unlock()
	if err != nil && still >= c.expiry {
		_ = c.lose(fmt.Sprintf("no heartbeat could be written for %v: %v", still.Round(time.Second), err))
	}
}

// writeBeat writes the next text of the claim over the last one. It opens the file anew for each heartbeat, because NFS
// shows another host what was written only once the file is closed there and opened here.
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
		if r, _ := parse(string(old)); r.id != c.id { // a claim of the same epoch that another process made later
			return fmt.Errorf("the claim is of %q, want %q", r.id, c.id)
		}
		_, err = file.WriteAt(text, 0)
		return errors.Join(err, file.Sync())
	})
}
