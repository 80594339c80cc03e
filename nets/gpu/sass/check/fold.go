package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"rollcall/internal/files"
	"rollcall/nets/gpu/ptx"
	"rollcall/nets/gpu/sass"
)

// NVIDIA's assembler computes what depends on constants alone. So it is asked what an instruction gives: a kernel
// computes it on constants, compares the bits with those of package ptx, and stores if they differ. Where no store is
// left in the machine code, the assembler found them equal. Where another kernel, which stores if they are equal, has
// no store left, it found them different. Where both have one, it did not compute the instruction.

// cases is how many operands every instruction is asked about: two whole warps of the interpreter.
const cases = 64

// fewest is how many results the assembler must at least compute, lest the check says nothing.
const fewest = 5800

// foldTarget is the architecture whose results are compared.
const foldTarget = "sm_90"

// folded is what the assembler said about the cases of some opcodes.
type folded struct {
	opcodes, cases, equal int
	differences           []string
}

// compareFolded compares every operation of package ptx with the assembler, and says what it found.
func compareFolded(ctx context.Context, a *sass.Assembler) (string, error) {
	operations := ptx.Operations()
	opcodes := slices.Sorted(maps.Keys(operations))
	var sum folded
	var faults []error
	var lock sync.Mutex
	err := files.Parallel(ctx, len(opcodes), func(i int) {
		opcode := opcodes[i]
		q := question{opcode: opcode, types: operations[opcode], operands: operands(operations[opcode][1:])}
		results, err := q.interpret()
		var f folded
		if err == nil {
			f, err = q.fold(ctx, a, results)
		}
		lock.Lock()
		defer lock.Unlock()
		faults = append(faults, err)
		sum.opcodes++
		sum.cases += f.cases
		sum.equal += f.equal
		sum.differences = append(sum.differences, f.differences...)
	})
	if err := cmp.Or(err, errors.Join(faults...)); err != nil {
		return "", err
	}
	slices.Sort(sum.differences)
	unknown := sum.cases - sum.equal - len(sum.differences)
	said := fmt.Sprintf("check: %d opcodes, %d results of package ptx: %d equal to those of CUDA %s, %d different, "+
		"%d not computed by it", sum.opcodes, sum.cases, sum.equal, a.Release, len(sum.differences), unknown)
	switch {
	case len(sum.differences) > 0:
		err = fmt.Errorf("package ptx computes otherwise than the assembler:\n%s", strings.Join(sum.differences, "\n"))
	case sum.equal < fewest:
		err = fmt.Errorf("the assembler computed %d results, want at least %d", sum.equal, fewest)
	}
	return said, err
}

// question is an instruction with operands to compute it on.
type question struct {
	opcode   string
	types    []string // of the result and of the operands
	operands [][3]uint64
}

// registers declares the registers %x0, the result, and %x1 to %x3, and those that the texts below need.
func (q question) registers() string {
	var b strings.Builder
	for i, t := range q.types {
		fmt.Fprintf(&b, "\t.reg .%s %%x%d;\n", t, i)
	}
	return b.String() + "\t.reg .pred %q;\n\t.reg .b32 %w<3>;\n\t.reg .b64 %rd<4>;\n"
}

// instruction is the one in question.
func (q question) instruction() string {
	names := []string{"%x0", "%x1", "%x2", "%x3"}[:len(q.types)]
	return fmt.Sprintf("\t%s %s;\n", q.opcode, strings.Join(names, ", "))
}

const head = `.version 7.8
.target sm_80
.address_size 64
`

// entry is a kernel of a name and a body.
func (q question) entry(name, body string) string {
	return fmt.Sprintf(".visible .entry %[1]s(\n\t.param .align 8 .b8 %[1]s_param_0[8]\n)\n{\n%[2]s"+
		"\tld.param.b64 %%rd1, [%[1]s_param_0];\n%[3]s\tret;\n}\n", name, q.registers(), body)
}

// interpret returns the results of package ptx. Every thread loads its operands, 8 bytes each, and stores its result
// behind them.
func (q question) interpret() ([]uint64, error) {
	var body strings.Builder
	body.WriteString("\tmov.u32 %w1, %tid.x;\n\tmul.wide.u32 %rd2, %w1, 32;\n\tadd.s64 %rd3, %rd1, %rd2;\n")
	for i, t := range q.types[1:] {
		at := fmt.Sprintf("[%%rd3+%d];\n", 8*i)
		if t == "pred" {
			fmt.Fprintf(&body, "\tld.global.b32 %%w2, %s\tsetp.ne.s32 %%x%d, %%w2, 0;\n", at, i+1)
		} else {
			fmt.Fprintf(&body, "\tld.global.%s %%x%d, %s", t, i+1, at)
		}
	}
	body.WriteString(q.instruction())
	if t := q.types[0]; t == "pred" {
		body.WriteString("\tselp.b32 %w2, 1, 0, %x0;\n\tst.global.b32 [%rd3+24], %w2;\n")
	} else {
		fmt.Fprintf(&body, "\tst.global.%s [%%rd3+24], %%x0;\n", t)
	}
	m, err := ptx.Parse(head + q.entry("evaluate", body.String()))
	if err != nil {
		return nil, err
	}
	var buffer []byte
	for _, o := range q.operands {
		for _, v := range o {
			buffer = binary.LittleEndian.AppendUint64(buffer, v)
		}
		buffer = append(buffer, make([]byte, 8)...)
	}
	const at = 0x10000
	launch := ptx.Launch{Grid: [2]int{1, 1}, Threads: len(q.operands), Args: binary.LittleEndian.AppendUint64(nil, at)}
	if _, err := m.Kernels[0].Run(launch, ptx.Memory{{At: at, Bytes: buffer}}); err != nil {
		return nil, err
	}
	results := make([]uint64, len(q.operands))
	for i := range results {
		results[i] = binary.LittleEndian.Uint64(buffer[32*i+24:])
	}
	return results, nil
}

// fold compares results with what the assembler computes.
func (q question) fold(ctx context.Context, a *sass.Assembler, results []uint64) (folded, error) {
	f := folded{opcodes: 1, cases: len(results)}
	open := make([]int, len(results))
	for i := range open {
		open[i] = i
	}
	open, err := q.stored(ctx, a, results, open, "ne")
	f.equal = f.cases - len(open)
	if err != nil || len(open) == 0 {
		return f, err
	}
	unknown, err := q.stored(ctx, a, results, open, "eq")
	for _, i := range open {
		if !slices.Contains(unknown, i) {
			f.differences = append(f.differences, q.describe(i, results[i]))
		}
	}
	return f, err
}

// describe names a case and its result.
func (q question) describe(i int, result uint64) string {
	var of []string
	for j, t := range q.types[1:] {
		of = append(of, constant(q.operands[i][j], t))
	}
	return fmt.Sprintf("%s of %s: %s", q.opcode, strings.Join(of, ", "), constant(result, q.types[0]))
}

// stored returns which of some cases still store in the machine code of kernels that store if the instruction's result
// compares so, ne or eq, with the one given.
func (q question) stored(
	ctx context.Context, a *sass.Assembler, results []uint64, of []int, compare string,
) (left []int, err error) {
	var text strings.Builder
	text.WriteString(head)
	for _, i := range of {
		text.WriteString(q.entry(fmt.Sprintf("case%d", i), q.comparison(i, results[i], compare)))
	}
	kernels, err := a.Assemble(ctx, foldTarget, q.opcode, text.String())
	if err == nil && len(kernels) != len(of) {
		err = fmt.Errorf("%s: %d kernels, want %d", q.opcode, len(kernels), len(of))
	}
	if err != nil {
		return nil, err
	}
	for i, k := range kernels {
		if slices.ContainsFunc(k.Code, func(i sass.Instruction) bool { return i.Is("ST", "STG") }) {
			left = append(left, of[i])
		}
	}
	return left, nil
}

// comparison is the body of a kernel that stores if the result of a case compares so with the one given.
func (q question) comparison(i int, result uint64, compare string) string {
	var b strings.Builder
	for j, t := range q.types[1:] {
		if t == "pred" {
			fmt.Fprintf(&b, "\tmov.b32 %%w2, %d;\n\tsetp.ne.s32 %%x%d, %%w2, 0;\n", q.operands[i][j], j+1)
		} else {
			fmt.Fprintf(&b, "\tmov.%s %%x%d, %s;\n", moved(t), j+1, constant(q.operands[i][j], t))
		}
	}
	b.WriteString(q.instruction())
	t := q.types[0]
	n := width(t)
	if t == "pred" {
		fmt.Fprintf(&b, "\t.reg .b32 %%bits;\n\tselp.b32 %%bits, 1, 0, %%x0;\n")
		n = 32
	} else {
		fmt.Fprintf(&b, "\t.reg .b%[1]d %%bits;\n\tmov.b%[1]d %%bits, %%x0;\n", n)
	}
	fmt.Fprintf(&b, "\tsetp.%s.b%d %%q, %%bits, %#x;\n\t@%%q st.global.b32 [%%rd1], 1;\n", compare, n, result)
	return b.String()
}

// moved is the type of the mov of a type.
func moved(t string) string {
	if strings.HasPrefix(t, "f") {
		return t
	}
	return fmt.Sprintf("b%d", width(t))
}

// width returns the bits of a type.
func width(t string) (n int) {
	if t == "pred" {
		return 1
	}
	_, _ = fmt.Sscanf(t[1:], "%d", &n) // the types of package ptx are a letter and a number
	return n
}

// constant writes bits as PTX writes a constant of a type.
func constant(v uint64, t string) string {
	switch t {
	case "f32":
		return fmt.Sprintf("0f%08X", v)
	case "f64":
		return fmt.Sprintf("0d%016X", v)
	}
	return fmt.Sprintf("%#x", v)
}

// Operands at which instructions change what they do.
var (
	specialIntegers = []uint64{
		0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 0x7f, 0x80, 0xff, 0x100, 0x108, 0x7fff, 0x8000, 0xffff,
		1 << 16, 1<<24 + 1, 1<<25 + 3, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<53 + 1, 1<<54 + 2, 1<<63 - 1, 1 << 63,
		1<<64 - 1,
	}
	specialFloats = []uint64{
		0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x00800001, // zeros, subnormals, the smallest others
		0x3f800000, 0xbf800000, 0x3fc00000, 0x40000000, 0x40400000, 0x3f800001, 0x3f7fffff, // 1, −1, 1.5, 2, 3, about 1
		0x3f800fff, 0x3f801000, 0x3f803000, 0xbf801000, 0x3f808000, 0x3f818000, 0x3f808001, // ties of tf32 and of bf16
		0x4effffff, 0x4f000000, 0x7f000000, 0x7f7fefff, 0x7f7fffff, 0xff7fffff, // about 2³¹, and the largest
		0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7fffffff, 0xffffffff, // infinities and quiet NaN
		0x7f800001, 0xff800001, 0x7fbfffff, 0x7fa12345, 0xffc01234, 0x7f801fff, 0x7f801000, // NaN with payloads
	}
	specialDoubles = []uint64{
		0, 1 << 63, 1, 1<<63 | 1, 1<<52 - 1, 1 << 52, // zeros, subnormals, the smallest normal number
		0x3ff0000000000000, 0xbff0000000000000, 0x3ff8000000000000, 0x4008000000000000, // 1, −1, 1.5, 3
		0x3ff0000000000001,
		0x3ff0000010000000, 0x3ff0000010000001, 0x3ff0000030000000, // ties of float32 and beside them
		0x41dfffffffc00000, 0x41e0000000000000, 0xc1e0000000000000, 0xc1e0000000200000, 0xbfe8000000000000, // about 2³¹
		0x3690000000000000, 0x36a0000000000000, 0x380fffffe0000000, 0x380ffffff0000000, // float32's subnormals
		0x47efffffe0000000, 0x47efffffefffffff, 0x47effffff0000000, 0x7fefffffffffffff, 0xffefffffffffffff, // largest
		0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000000, 0x7fffffffffffffff, 1<<64 - 1,
		0x7ff0000000000001, 0xfff0000000000001, 0x7ff4000012345678, 0xfffc000000001234, // NaN with payloads
	}
)

// operands returns the operands of all cases of an instruction: each special one in every place, and random ones.
func operands(of []string) [][3]uint64 {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([][3]uint64, cases)
	for j, t := range of {
		known := map[string][]uint64{"f32": specialFloats, "f64": specialDoubles}[t]
		if known == nil {
			known = specialIntegers
		}
		order := r.Perm(len(known))
		for i := range all {
			v := random(r, t)
			switch {
			case i < len(known):
				v = known[order[i]]
			case r.IntN(3) == 0:
				v = known[r.IntN(len(known))]
			}
			all[i][j] = v & (1<<width(t) - 1)
		}
	}
	return all
}

// random returns an operand: of floating point every other time one of usual size, else one of any number of bits.
func random(r *rand.Rand, t string) uint64 {
	switch v := r.Uint64(); {
	case t == "f32" && r.IntN(2) == 0:
		return v&^(0xff<<23) | uint64(120+r.IntN(16))<<23
	case t == "f64" && r.IntN(2) == 0:
		return v&^(0x7ff<<52) | uint64(1010+r.IntN(32))<<52
	case t[0] == 'f':
		return v
	default:
		return v >> r.IntN(64)
	}
}
