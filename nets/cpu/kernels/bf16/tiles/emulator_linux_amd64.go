//go:build cgo

package tiles

/*
#cgo CFLAGS: -O3 -Wall -Werror
#include "emulate.h"
*/
import "C"

import (
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"rollcall/nets/cpu/kernels/bf16/permit"
)

// state is what Install has done.
var state struct {
	sync.Mutex
	emulating bool
	undo      func() // brings back what package permit says of this machine
}

// handle installs the handler of the signal, once and for good.
var handle = sync.OnceValue(func() bool { return C.tiles_install() == 0 })

// Install makes the instructions of AMX work in this process, and lets package bf16 find its variant amx until [Remove]
// is called. If the processor has AMX and the process may use it, there is nothing to do. If ok is false, why is the
// reason. It may be called often.
func Install() (ok bool, why string) {
	state.Lock()
	defer state.Unlock()
	if state.emulating || native() {
		return true, ""
	}
	x := &cpu.X86
	if !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512DQ || !x.HasAVX512VL || !x.HasAVX512BF16 {
		return false, "tiles: the processor has no AVX-512 with AVX512_BF16"
	}
	if !handle() {
		return false, "tiles: the handler of SIGILL is refused"
	}
	state.emulating, x.HasAMXTile, x.HasAMXBF16 = true, true, true
	state.undo = permit.Pretend(func() uint64 { return permit.TileState }, func() error { return nil })
	return true, ""
}

// Remove lets package bf16 find the variant amx no more, where the emulator runs its instructions: for the tests that
// come afterwards, which it would slow down. Engines that use the variant go on.
func Remove() {
	state.Lock()
	defer state.Unlock()
	if state.emulating {
		cpu.X86.HasAMXTile, cpu.X86.HasAMXBF16, state.emulating = false, false, false
		state.undo()
	}
}

// Emulating reports whether [Install] was called and the emulator runs the instructions, rather than the processor.
func Emulating() bool {
	state.Lock()
	defer state.Unlock()
	return state.emulating
}

// Emulated returns how many instructions the emulator has run in this process.
func Emulated() int { return int(C.tiles_emulated()) }

// InUse reports whether the emulated tiles of this thread are configured: then somebody has not released them.
func InUse() bool { return C.tiles_in_use() != 0 }

// Multiply does what TDPBF16PS does: c [rows,cols] grows by the product of a [rows,2·pairs] and b [2·pairs,cols], whose
// pairs of rows take turns as in package bf16. It is the emulator's arithmetic, called as a function.
func Multiply(c []float32, a, b []uint16, rows, cols, pairs int) {
	_, _, _ = c[rows*cols-1], a[rows*2*pairs-1], b[2*pairs*cols-1]
	C.tiles_multiply((*C.float)(&c[0]), (*C.uint16_t)(&a[0]), (*C.uint16_t)(&b[0]),
		C.int(rows), C.int(cols), C.int(pairs))
}

// execute runs machine code, a function of the calling convention of C with three pointers into memory.
func execute(code, memory []byte, at [3]int) error {
	const access, private = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_PRIVATE | unix.MAP_ANON
	page, err := unix.Mmap(-1, 0, len(code), access, private)
	if err != nil {
		return err
	}
	copy(page, code)
	if err := unix.Mprotect(page, unix.PROT_READ|unix.PROT_EXEC); err != nil {
		return err
	}
	var pins runtime.Pinner
	defer pins.Unpin()
	pins.Pin(&memory[0])
	p := func(i int) unsafe.Pointer { return unsafe.Pointer(&memory[at[i]]) }
	C.tiles_execute(unsafe.Pointer(&page[0]), p(0), p(1), p(2))
	return unix.Munmap(page)
}
