//go:build gpu && linux && cgo

package kernels

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"unsafe"

	"rollcall/nets/gpu/gputest"
	"rollcall/nets/gpu/ptx"
)

// Every launch on the emulator, which runs the C++ source of a kernel, is done again by package ptx, which runs the
// committed PTX on the same memory. Afterwards all memory must be the same, bit for bit: package ptx adds up the
// products of an mma as the tensor cores of the emulated capability do, as the emulator does.

// comparison is what the comparisons of all tests share.
type comparison struct {
	allocated map[uint64]int // the bytes of every address that a rig has allocated
	modules   map[string]*ptx.Module
	compared  map[string]bool // by kernel
	planted   *ptx.Kernel     // a kernel with a fault, to run in place of the committed one; others are not compared
	caught    error           // how it differed
}

func newComparison() comparison {
	return comparison{
		allocated: map[uint64]int{}, modules: map[string]*ptx.Module{}, compared: map[string]bool{},
	}
}

// mostWork bounds threads × instructions of the kernel's text where tests must be quick. Six launches of seven are
// below it, of every kernel some, and take half a minute together.
const mostWork = 5 << 20

// kernel returns the kernel to compare a launch with, or nil if it is not to be compared.
func (c *comparison) kernel(name string, threads int) (*ptx.Kernel, error) {
	switch {
	case gputest.Real(), os.Getenv("ROLLCALL_TEST_PLANTED") != "":
		return nil, nil // a card runs the PTX itself; and a fault in the C++ source is for the tests to catch
	case c.planted != nil && c.planted.Name != name:
		return nil, nil
	case c.planted != nil:
		return c.planted, nil
	}
	m, _ := Find(name)
	if c.modules[m.Name] == nil {
		parsed, err := ptx.Parse(m.PTX)
		if err != nil {
			return nil, fmt.Errorf("%s.ptx: %w", m.Name, err)
		}
		c.modules[m.Name] = parsed
	}
	k := c.modules[m.Name].Kernel(name)
	if threads*len(k.Code) > mostWork && !gputest.Long() {
		return nil, nil
	}
	return k, nil
}

// launch runs a kernel by emulate, and again by its PTX, and leaves what emulate has written.
func (c *comparison) launch(kernel string, l ptx.Launch, emulate func() error) error {
	k, err := c.kernel(kernel, l.Grid[0]*l.Grid[1]*l.Threads)
	if err != nil {
		return err
	}
	if k == nil {
		return emulate()
	}
	memory := c.memory()
	before := contents(memory)
	if err := emulate(); err != nil {
		return err
	}
	want := contents(memory)
	set(memory, before)
	_, err = k.Run(l, memory)
	if err == nil {
		err = c.differences(kernel, memory, want)
	}
	set(memory, want)
	if c.planted != nil {
		if c.caught == nil {
			c.caught = err
		}
		return nil
	}
	c.compared[kernel] = true
	return err
}

// memory returns what all rigs have allocated. The emulator's device memory is memory of this process.
func (c *comparison) memory() (all ptx.Memory) {
	for at, n := range c.allocated {
		all = append(all, ptx.Buffer{At: at, Bytes: unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), n)})
	}
	all.Sort()
	return all
}

func contents(memory ptx.Memory) (all [][]byte) {
	for _, b := range memory {
		all = append(all, bytes.Clone(b.Bytes))
	}
	return all
}

func set(memory ptx.Memory, to [][]byte) {
	for i, b := range memory {
		copy(b.Bytes, to[i])
	}
}

// differences returns an error that names the first byte in which memory is not what the emulator wrote.
func (c *comparison) differences(kernel string, memory ptx.Memory, want [][]byte) error {
	for i, b := range memory {
		if at := difference(b.Bytes, want[i]); at >= 0 {
			end := min(at+8, len(b.Bytes))
			return fmt.Errorf("%s: byte %d of a buffer of %d: the PTX writes % x, the emulator % x",
				kernel, at, len(b.Bytes), b.Bytes[at:end], want[i][at:end])
		}
	}
	return nil
}

// notNumbers are the NaN that a kernel may write as float32, by the PTX or on a CPU: the ISA's, those of x86, and unset
// memory and bfloat16's, which a CPU's sum hands on. Their low bits are cut off where they are rounded to tf32.
var notNumbers = []uint32{0x7fffffff, 0x7fc00000, 0xffc00000, 0xffffffff, 0x7fff0000, 0x7fffe000, 0xffffe000}

// difference returns the first byte in which two buffers differ, or −1. One of notNumbers is as good as another.
func difference(a, b []byte) int {
	for at := 0; at < len(a); at += 4 {
		end := min(at+4, len(a))
		if bytes.Equal(a[at:end], b[at:end]) {
			continue
		}
		if end-at < 4 || !slices.Contains(notNumbers, binary.LittleEndian.Uint32(a[at:])) ||
			!slices.Contains(notNumbers, binary.LittleEndian.Uint32(b[at:])) {
			return at
		}
	}
	return -1
}
