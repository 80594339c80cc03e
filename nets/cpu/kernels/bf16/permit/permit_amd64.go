// Package permit says whether this process may use Intel's AMX, and if not, why.
//
// The tiles of AMX are 8 KB more for the operating system to save whenever it changes threads. So it must know of them,
// and Linux wants to be asked by every process.
package permit

import (
	"sync"

	"golang.org/x/sys/cpu"

	"rollcall/nets/cpu/kernels/asm"
)

// AMX returns whether this process may use AMX. If not although the processor has it, lost is the reason in one line.
// The first call asks the operating system.
func AMX() (ok bool, lost string) {
	state.Lock()
	defer state.Unlock()
	if !state.decided {
		x := &cpu.X86 // reports AVX-512 only if the operating system saves its registers
		state.ok, state.lost = decide(machine{
			tiles:  x.HasAMXTile && x.HasAMXBF16,
			vector: asm.HasAVX512() && x.HasAVX512BF16,
			xcr0:   state.xcr0, ask: state.ask,
		})
		state.decided = true
	}
	return state.ok, state.lost
}

// state is the decision, and whom it asks.
var state = struct {
	sync.Mutex
	decided, ok bool
	lost        string
	xcr0        func() uint64
	ask         func() error
}{xcr0: asm.XCR0, ask: ask}

// Pretend makes the next call of [AMX] decide anew, with other answers of the processor's register XCR0 and of the
// operating system; nil stands for the true answer. undo brings the answers back that it has replaced. Tests use it,
// together with the variables of golang.org/x/sys/cpu.
func Pretend(xcr0 func() uint64, answer func() error) (undo func()) {
	if xcr0 == nil {
		xcr0 = asm.XCR0
	}
	if answer == nil {
		answer = ask
	}
	state.Lock()
	defer state.Unlock()
	oldXCR0, oldAnswer := state.xcr0, state.ask
	state.decided, state.xcr0, state.ask = false, xcr0, answer
	return func() { Pretend(oldXCR0, oldAnswer) }
}

// machine is what the decision depends on.
type machine struct {
	tiles  bool          // the processor has AMX
	vector bool          // it has AVX-512 with AVX512_BF16, which round and pack, and the operating system saves them
	xcr0   func() uint64 // not called without vector
	ask    func() error  // asks the operating system for AMX
}

// TileState is the bits of XCR0 for the configuration and the data of the tiles.
const TileState = 1<<17 | 1<<18

// decide returns whether a machine may use AMX.
func decide(m machine) (ok bool, lost string) {
	switch {
	case !m.tiles:
		return false, ""
	case !m.vector:
		return false, "AMX: no AVX-512 with AVX512_BF16, which it needs here"
	case m.xcr0()&TileState != TileState:
		return false, "AMX: the operating system does not save its tiles (XCR0)"
	}
	if err := m.ask(); err != nil {
		return false, "AMX: " + err.Error()
	}
	return true, ""
}
