package ptx

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
)

// Memory is the global memory that a kernel may use: buffers in the order of their addresses, apart from each other.
type Memory []Buffer

// Buffer is a piece of global memory.
type Buffer struct {
	At    uint64 // the address of the first byte, below 2⁵⁶
	Bytes []byte
}

// Sort orders the buffers by their addresses.
func (m Memory) Sort() {
	slices.SortFunc(m, func(a, b Buffer) int { return cmp.Compare(a.At, b.At) })
}

// check refuses buffers that are not as Memory says.
func (m Memory) check() error {
	for i, b := range m {
		end := b.At + uint64(len(b.Bytes))
		if b.At >= sharedWindow || end > sharedWindow || i+1 < len(m) && end > m[i+1].At {
			return fmt.Errorf("buffer %d, %d bytes at %#x: too high, or not before the next one", i, len(b.Bytes), b.At)
		}
	}
	return nil
}

const (
	sharedWindow = 1 << 56 // the generic address of the first byte of shared memory
	sharedMost   = 1 << 24 // the window's size
	paramWindow  = 1 << 57 // the address of the first parameter; it is no generic address
	garbage      = 0xff    // what shared memory and registers hold at first
)

// view finds the buffers of addresses.
type view struct {
	memory Memory
	last   int // the buffer found last
}

// bytes returns n bytes at an address, or nil if no buffer has all of them.
func (v *view) bytes(at uint64, n int) []byte {
	if v.last < len(v.memory) {
		b := v.memory[v.last]
		if found := within(b.Bytes, at-b.At, n); found != nil {
			return found
		}
	}
	i := sort.Search(len(v.memory), func(i int) bool { return v.memory[i].At > at }) - 1
	if i < 0 {
		return nil
	}
	v.last = i
	return within(v.memory[i].Bytes, at-v.memory[i].At, n)
}

type space byte

const (
	generic space = iota
	global
	shared
	param
)

var spaces = map[string]space{"global": global, "shared": shared, "param": param}

// bytesAt returns n bytes at an address of a state space for one lane, or nil after noting a fault.
func (w *warp) bytesAt(s space, lane int, at uint64, n int) (b []byte) {
	if at%uint64(n) != 0 {
		w.fail(1<<lane, "%#x is no multiple of %d", at, n)
		return nil
	}
	if s == generic {
		s = global
		if at-sharedWindow < sharedMost {
			s, at = shared, at-sharedWindow
		}
	}
	switch s {
	case global:
		b = w.global.bytes(at, n)
	case shared:
		b = within(w.shared, at, n)
	case param:
		b = within(w.launch.Args, at-paramWindow, n)
	}
	if b == nil {
		w.fail(1<<lane, "%d bytes at %#x lie in no buffer, or beyond the %d of shared memory or the %d of arguments",
			n, at, len(w.shared), len(w.launch.Args))
	}
	return b
}

// within returns the n bytes of a slice from `at` on, or nil if it does not have all of them.
func within(b []byte, at uint64, n int) []byte {
	if at >= uint64(len(b)) || uint64(n) > uint64(len(b))-at {
		return nil
	}
	return b[at:][:n]
}

// read returns the little-endian number of 1, 2, 4 or 8 bytes.
func read(b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

// write is the inverse of read; bits of v beyond the bytes are dropped.
func write(b []byte, v uint64) {
	switch len(b) {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	default:
		binary.LittleEndian.PutUint64(b, v)
	}
}
