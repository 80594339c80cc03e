package ptx

// cache is the part of L1 that a block has: the lines of global memory that were touched last, of each the sectors that
// were read.
type cache struct {
	lines  int               // that it holds
	at     map[uint64]*cline // by address, over lineBytes
	oldest *cline            // a ring: oldest.next is the second oldest, oldest.before the newest
}

// cline is a line of a cache.
type cline struct {
	address      uint64 // over lineBytes
	sectors      uint8  // that were read: bit i is sector i
	before, next *cline
}

const lineBytes = 128

func newCache(bytes int) *cache { return &cache{lines: bytes / lineBytes, at: map[uint64]*cline{}} }

// read reads a sector, by its address over sectorBytes, and reports whether the cache has had it.
func (c *cache) read(sector uint64) bool {
	if c.lines == 0 {
		return false
	}
	const each = lineBytes / sectorBytes
	address, bit := sector/each, uint8(1)<<(sector%each)
	l := c.at[address]
	switch {
	case l != nil:
		c.remove(l)
	case len(c.at) == c.lines: // the oldest makes room
		l = c.oldest
		c.remove(l)
		delete(c.at, l.address)
		*l = cline{address: address}
	default:
		l = &cline{address: address}
	}
	c.at[address] = l
	c.append(l)
	had := l.sectors&bit != 0
	l.sectors |= bit
	return had
}

// remove takes a line out of the ring.
func (c *cache) remove(l *cline) {
	l.before.next, l.next.before = l.next, l.before
	if c.oldest == l {
		c.oldest = l.next
	}
	if c.oldest == l {
		c.oldest = nil // it was the only one
	}
}

// append makes a line the newest of the ring.
func (c *cache) append(l *cline) {
	if c.oldest == nil {
		c.oldest, l.before, l.next = l, l, l
		return
	}
	l.before, l.next = c.oldest.before, c.oldest
	l.before.next, l.next.before = l, l
}
