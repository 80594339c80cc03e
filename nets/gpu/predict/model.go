// Package predict estimates from machine code how long kernels take on a card: a model to be compared with the first
// measurement, and to judge a change of a kernel without a card. It is a tool of the developers.
//
// A launch takes as long as its busiest resource: the tensor cores, the memory, L2, the instruction slots or the shared
// memory; or, with few warps on a multiprocessor, as long as its warps wait for their own instructions.
//
// What a kernel executes comes from package ptx, which runs some of its blocks and counts; what it executes as
// machine code, from package sass (executed.go). The constants of a card are in card.go. A kernel is slower than the
// model says by what its warps wait for in memory and at barriers, and cannot hide.
package predict

import (
	"math"
	"strings"

	"rollcall/nets/gpu/ptx"
	"rollcall/nets/gpu/sass"
)

// Launch is one launch of a step: of one kernel, for a number of clients at once.
type Launch struct {
	Blocks  int        // per client
	Threads int        // per block
	Shared  int        // bytes of dynamic shared memory per block
	Bytes   float64    // that the launch moves at the least, per client
	Counted ptx.Counts // of some of its blocks, with traffic
	PTX     *ptx.Kernel
	Code    *sass.Kernel
}

// Times are the seconds that a launch would take if one resource were the only one, with the resource that takes
// longest, and what a multiprocessor holds.
type Times struct {
	Tensor, Memory, L2, Issue, Shared float64
	Latency                           float64 // if nothing held a warp up but its own instructions, one after the other
	Limit                             string  // the resource that takes longest
	Total                             float64 // the longest, and the launch itself
	Waves                             float64 // how often all multiprocessors are filled
	PerMultiprocessor                 int     // blocks on a multiprocessor at once
}

const sectorBytes = 32

// Predict returns the times of a launch for so many clients.
func (c Card) Predict(l Launch, clients int) Times {
	blocks := float64(l.Blocks * clients)
	// The multiprocessor with the most blocks ends last.
	most := math.Ceil(blocks/float64(c.Multiprocessors)) / c.Clock / float64(l.Counted.Blocks)
	var wavefronts, sectors, tensor, multiplyAdds float64
	for i, instruction := range l.PTX.Code {
		wavefronts += float64(l.Counted.Wavefronts[i])
		sectors += float64(l.Counted.Sectors[i])
		switch n := float64(l.Counted.Warps[i]); {
		case strings.HasPrefix(instruction.Opcode, "mma.sync.aligned.m16n8k8."):
			tensor += n * 16 * 8 * 8 / c.TF32
		case strings.HasPrefix(instruction.Opcode, "mma.sync.aligned.m16n8k16."):
			tensor += n * 16 * 8 * 16 / c.BF16
		case instruction.Opcode == "fma.rn.f32":
			multiplyAdds += n
		}
	}
	instructions := executed(l.Code, l.PTX, l.Counted)
	t := Times{
		Tensor: tensor * most,
		// The instructions are an estimate, and may be fewer than the multiply-adds.
		Issue:  max(instructions/c.Issue, min(multiplyAdds, instructions)/c.Multiply) * most,
		Shared: wavefronts * most / c.Wavefronts,
		L2:     sectors * sectorBytes / float64(l.Counted.Blocks) * blocks / c.L2,
		Memory: l.Bytes * float64(clients) / c.Memory,
	}
	t.PerMultiprocessor = c.resident(l)
	warps := float64((l.Threads + 31) / 32 * l.Counted.Blocks)
	onOne := math.Ceil(blocks / float64(c.Multiprocessors))
	turns := math.Ceil(onOne / float64(t.PerMultiprocessor))
	others := max(0, instructions-multiplyAdds)
	t.Latency = (others*c.Latency + multiplyAdds*c.MultiplyAdd) / warps * turns / c.Clock
	t.Waves = blocks / float64(c.Multiprocessors*t.PerMultiprocessor)
	for _, r := range []struct {
		name    string
		seconds float64
	}{
		{"tensor", t.Tensor},
		{"memory", t.Memory},
		{"L2", t.L2},
		{"issue", t.Issue},
		{"shared", t.Shared},
		{"latency", t.Latency},
	} {
		if r.seconds > t.Total {
			t.Total, t.Limit = r.seconds, r.name
		}
	}
	if t.Total < c.Launch {
		t.Limit = "launch"
	}
	t.Total += c.Launch
	return t
}

// Cached returns the bytes of L1 that a block of a launch has to itself, for [ptx.Launch]: what the shared memory of
// all blocks on a multiprocessor leaves, in equal parts.
func (c Card) Cached(l Launch) int {
	blocks := c.resident(l)
	return max(0, c.L1-blocks*(l.Shared+l.Code.Shared+sharedReserved)) / blocks
}

// registerUnit is how many registers a warp gets at a time.
const registerUnit = 256

// resident returns how many blocks of a launch a multiprocessor holds at once.
func (c Card) resident(l Launch) int {
	warps := (l.Threads + 31) / 32
	perWarp := (32*l.Code.Registers + registerUnit - 1) / registerUnit * registerUnit
	return max(1, min(c.Blocks, c.Threads/l.Threads, c.Registers/perWarp/warps,
		c.Shared/(l.Shared+l.Code.Shared+sharedReserved)))
}
