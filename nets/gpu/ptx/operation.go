package ptx

import (
	"maps"
	"math/bits"
	"strings"
)

// operation is an instruction that computes one register from up to three operands, lane by lane.
type operation struct {
	types []typ // of the result and of the operands
	f     function
}

// function computes the bits of a result from those of the operands; bits beyond their types are 0. Operands of a
// conversion may have bits beyond, which do not count.
type function func(a, b, c uint64) uint64

// table has operations by the opcode. Every one begins with the types: the result's, then those of the operands.
type table map[string]struct {
	types string
	f     function
}

// operations are all of them by the opcode.
var operations = func() map[string]operation {
	all := table{}
	for _, t := range []table{moves, integers, comparisons, floats, doubles, conversions} {
		maps.Copy(all, t)
	}
	decoded := map[string]operation{}
	for opcode, o := range all {
		op := operation{f: o.f}
		for name := range strings.FieldsSeq(o.types) {
			op.types = append(op.types, types[name])
		}
		decoded[opcode] = op
	}
	return decoded
}()

// apply returns the action of an operation on registers: the result and three operands.
func apply(op operation, at [4]int32, opcode string) action {
	f, whole := op.f, wide[opcode]
	return func(w *warp, mask uint32) {
		d, a, b, c := w.value(at[0]), w.value(at[1]), w.value(at[2]), w.value(at[3])
		switch {
		case mask != all:
			for ; mask != 0; mask &= mask - 1 {
				l := bits.TrailingZeros32(mask)
				d[l] = f(a[l], b[l], c[l])
			}
		case whole != nil:
			whole(d, a, b, c)
		default:
			for l := range d {
				d[l] = f(a[l], b[l], c[l])
			}
		}
	}
}

// moves are instructions that hand a value on.
var moves = table{
	"mov.pred": {"pred pred", first}, "mov.u16": {"u16 u16", first}, "mov.b32": {"b32 b32", first},
	"mov.u32": {"u32 u32", first}, "mov.f32": {"f32 f32", first}, "mov.b64": {"b64 b64", first},
	"mov.u64": {"u64 u64", first}, "mov.f64": {"f64 f64", first},

	"selp.b32": {"b32 b32 b32 pred", choose}, "selp.u32": {"u32 u32 u32 pred", choose},
	"selp.s32": {"s32 s32 s32 pred", choose}, "selp.u16": {"u16 u16 u16 pred", choose},
	"selp.f32": {"f32 f32 f32 pred", choose}, "selp.b64": {"b64 b64 b64 pred", choose},
	"selp.f64": {"f64 f64 f64 pred", choose},

	// An address in global memory is its own generic address; shared memory has a window.
	"cvta.to.global.u64": {"u64 u64", first}, "cvta.global.u64": {"u64 u64", first},
	"cvta.shared.u64": {"u64 u64", func(a, _, _ uint64) uint64 { return a + sharedWindow }},
}

func first(a, _, _ uint64) uint64 { return a }

func choose(a, b, c uint64) uint64 {
	if c != 0 {
		return a
	}
	return b
}
