package ptx

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
)

// Launch says how a kernel is run.
type Launch struct {
	Grid    [2]int   // blocks, x and y
	Threads int      // of a block, at least 1
	Shared  int      // bytes of dynamic shared memory of a block
	Args    []byte   // the kernel's parameters, as many bytes as [Kernel.Params]
	Blocks  [][2]int // the blocks to run, x and y; nil: all
	Traffic bool     // count wavefronts and sectors too
	L1      int      // with Traffic: bytes of L1 that a block has; 0: none
	Arch    int      // compute capability whose tensor cores add up, 86 for 8.6; 0: 90
}

// Run runs a kernel on memory. Blocks run in an undefined order, as many at a time as GOMAXPROCS says. A fault (the
// package documentation lists them) ends the run with an error that names the kernel, the line of the text, the block
// and a thread; the memory is then partly written.
func (k *Kernel) Run(l Launch, memory Memory) (Counts, error) {
	counts := newCounts(len(k.Code))
	if err := k.check(l, memory); err != nil {
		return counts, fmt.Errorf("ptx: %s: %w", k.Name, err)
	}
	if l.Arch == 0 {
		l.Arch = 90
	}
	blocks := l.Blocks
	if blocks == nil {
		for y := range l.Grid[1] {
			for x := range l.Grid[0] {
				blocks = append(blocks, [2]int{x, y})
			}
		}
	}
	var group sync.WaitGroup
	var lock sync.Mutex // of counts and faults
	var faults error
	next := 0
	for range min(runtime.GOMAXPROCS(0), len(blocks)) {
		group.Go(func() {
			b := newBlock(k, &l, memory)
			for {
				lock.Lock()
				if next == len(blocks) || faults != nil {
					counts.add(b.counts)
					lock.Unlock()
					return
				}
				place := blocks[next]
				next++
				lock.Unlock()
				if err := b.run(place); err != nil {
					lock.Lock()
					faults = errors.Join(faults, fmt.Errorf("ptx: %s: %w", k.Name, err))
					lock.Unlock()
				}
			}
		})
	}
	group.Wait()
	return counts, faults
}

// mostThreads returns the most threads that a block of the kernel can have.
func (k *Kernel) mostThreads() int {
	if k.Threads > 0 {
		return k.Threads
	}
	return 1024
}

// check refuses a launch that a driver would refuse.
func (k *Kernel) check(l Launch, memory Memory) error {
	switch {
	case l.Grid[0] < 1 || l.Grid[1] < 1:
		return fmt.Errorf("a grid of %d×%d blocks", l.Grid[0], l.Grid[1])
	case l.Threads < 1 || l.Threads > k.mostThreads():
		return fmt.Errorf("%d threads in a block, want 1 to %d", l.Threads, k.mostThreads())
	case l.Shared < 0 || k.dynamic+l.Shared > sharedMost:
		return fmt.Errorf("%d bytes of dynamic shared memory", l.Shared)
	case len(l.Args) != k.Params:
		return fmt.Errorf("%d bytes of arguments, want %d", len(l.Args), k.Params)
	}
	for _, b := range l.Blocks {
		if b[0] < 0 || b[1] < 0 || b[0] >= l.Grid[0] || b[1] >= l.Grid[1] {
			return fmt.Errorf("no block %v in a grid of %v", b, l.Grid)
		}
	}
	return memory.check()
}

type block struct {
	kernel *Kernel
	launch *Launch
	counts Counts
	global view
	shared []byte
	l1     *cache
	place  [2]int // x and y in the grid
	warps  []*warp
}

func newBlock(k *Kernel, l *Launch, memory Memory) *block {
	shared := k.Shared
	if l.Shared > 0 {
		shared = k.dynamic + l.Shared
	}
	b := &block{
		kernel: k, launch: l, counts: newCounts(len(k.Code)), global: view{memory: memory},
		shared: make([]byte, shared),
	}
	for first := 0; first < l.Threads; first += warpLanes {
		b.warps = append(b.warps, newWarp(b, first))
	}
	return b
}

// run runs one block. Between barriers the warps run one after the other, every other time the last one first: a warp
// that should wait for another meets what that one has not written yet, or has overwritten already.
func (b *block) run(place [2]int) error {
	b.place, b.l1 = place, newCache(b.launch.L1)
	b.counts.Blocks++
	for i := range b.shared {
		b.shared[i] = garbage
	}
	for _, w := range b.warps {
		w.begin(min(b.launch.Threads-w.first, warpLanes))
	}
	for phase := 0; ; phase++ {
		var waiting, done *warp
		for i := range b.warps {
			if phase%2 == 1 {
				i = len(b.warps) - 1 - i
			}
			w := b.warps[i]
			switch w.run() {
			case faulty:
				return w.fault
			case waits:
				waiting = w
			case ended:
				done = w
			}
		}
		switch {
		case waiting == nil:
			return nil
		case done != nil:
			waiting.at = waiting.paths[len(waiting.paths)-1].at - 1
			waiting.fail(1, "waits for thread %d, which has ended", done.first)
			return waiting.fault
		}
	}
}

// fail notes a fault of the first lane of a mask at the instruction at hand.
func (w *warp) fail(mask uint32, format string, args ...any) {
	if w.fault != nil {
		return
	}
	thread := w.first
	for ; mask != 0 && mask&1 == 0; mask >>= 1 {
		thread++
	}
	in := w.kernel.Code[w.at]
	w.fault = fmt.Errorf("line %d: %s: block (%d,%d) thread %d: %s",
		in.Line, in.Text, w.place[0], w.place[1], thread, fmt.Sprintf(format, args...))
}
