package ptx

import "container/list"

// cache is the part of L1 that a block has: the lines of global memory that were touched last, of each the sectors that
// were read.
type cache struct {
	lines int                      // that it holds
	at    map[uint64]*list.Element // by address, over lineBytes
	order *list.List               // of *cline, the line that was not read for the longest time first
}

// cline is a line of a cache.
type cline struct {
	address uint64 // over lineBytes
	sectors uint8  // that were read: bit i is sector i
}

const lineBytes = 128

func newCache(bytes int) *cache {
	return &cache{lines: bytes / lineBytes, at: map[uint64]*list.Element{}, order: list.New()}
}

// read reads a sector, by its address over sectorBytes, and reports whether the cache has had it.
func (c *cache) read(sector uint64) bool {
	if c.lines == 0 {
		return false
	}
	const each = lineBytes / sectorBytes
	address, bit := sector/each, uint8(1)<<(sector%each)
	e := c.at[address]
	if e == nil && len(c.at) == c.lines { // the oldest makes room
		oldest := c.order.Remove(c.order.Front()).(*cline)
		delete(c.at, oldest.address)
	}
	if e == nil {
		e = c.order.PushBack(&cline{address: address})
		c.at[address] = e
	}
	c.order.MoveToBack(e)
	l := e.Value.(*cline)
	had := l.sectors&bit != 0
	l.sectors |= bit
	return had
}
