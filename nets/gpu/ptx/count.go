package ptx

import (
	"container/list"
)

// Counts says what a launch did, for every instruction of [Kernel.Code].
type Counts struct {
	Blocks  int     // that ran
	Warps   []int64 // how often a warp came to it, with any of its lanes, also where its guard was false in all of them
	Threads []int64 // how many threads executed it, not those whose guard was false
	// Wavefronts are the passes that the shared memory of a multiprocessor takes, which serves one 4-byte word of each
	// of its 32 banks at a time: 1 for an access of at most 4 bytes per lane without conflicts. Accesses of 8 bytes are
	// served by half warps, those of 16 bytes by quarters. Only with [Launch.Traffic].
	Wavefronts []int64
	// Sectors are the aligned 32-byte pieces of global memory that the lanes of a warp touch together, but for those
	// that ld and cp.async.ca find in the [Launch.L1] bytes of their block: what L2 sees. L1 holds lines of 128 bytes,
	// of each the sectors that were read, and forgets the line that was not read for the longest time. A block finds
	// nothing there of the blocks before or beside it. Writes and cp.async.cg go past L1. Only with [Launch.Traffic].
	Sectors []int64
}

func newCounts(instructions int) Counts {
	n := make([]int64, 4*instructions)
	return Counts{
		Warps: n[:instructions], Threads: n[instructions:][:instructions],
		Wavefronts: n[2*instructions:][:instructions], Sectors: n[3*instructions:],
	}
}

// add adds the counts of another launch of the same kernel.
func (c *Counts) add(other Counts) {
	c.Blocks += other.Blocks
	for i := range c.Warps {
		c.Warps[i] += other.Warps[i]
		c.Threads[i] += other.Threads[i]
		c.Wavefronts[i] += other.Wavefronts[i]
		c.Sectors[i] += other.Sectors[i]
	}
}

const (
	banks       = 32
	wordBytes   = 4 // of a bank
	sectorBytes = 32
)

// wavefronts returns the passes that an access of so many bytes per lane takes.
func wavefronts(addresses *lanes, mask uint32, bytes int) (n int64) {
	together := warpLanes // the lanes that are served together
	if bytes > wordBytes {
		together = warpLanes * wordBytes / bytes
	}
	for first := 0; first < warpLanes; first += together {
		n += conflicts(addresses, mask>>first<<first&(all>>(warpLanes-first-together)), bytes)
	}
	return n
}

// conflicts returns the most words of one bank that the lanes of a mask touch.
func conflicts(addresses *lanes, mask uint32, bytes int) int64 {
	var words [warpLanes * 4]uint64 // that are touched, each once
	var perBank [banks]int64
	n, most := 0, int64(0)
	for l, at := range addresses {
		if mask>>l&1 == 0 {
			continue
		}
		for word := at / wordBytes; word <= (at+uint64(bytes)-1)/wordBytes; word++ {
			if perBank[word%banks] > 0 && contains(words[:n], word) {
				continue
			}
			words[n] = word
			n++
			perBank[word%banks]++
			most = max(most, perBank[word%banks])
		}
	}
	return most
}

// sectors puts the sectors that an access touches, each once, in front of `seen`, and returns how many.
func sectors(addresses *lanes, mask uint32, seen *[warpLanes]uint64) (n int) {
	for l := range addresses {
		// An access is aligned to its size, which is at most 16 bytes: it lies in one sector.
		if s := addresses[l] / sectorBytes; mask>>l&1 != 0 && !contains(seen[:n], s) {
			seen[n] = s
			n++
		}
	}
	return n
}

func contains(all []uint64, x uint64) bool {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i] == x {
			return true
		}
	}
	return false
}

// cache is the part of L1 that a block has: the lines of global memory that were touched last, of each the sectors that
// were read.
type cache struct {
	lines int                      // that it holds
	at    map[uint64]*list.Element // by address, over lineBytes
	order *list.List               // of *cline, the line that was not read for the longest time first
}

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
