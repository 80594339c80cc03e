package sass

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Kernel is the machine code of one kernel, for one target.
type Kernel struct {
	Name                    string
	Registers               int // per thread
	Stack                   int // bytes of local memory per thread
	SpillStores, SpillLoads int // bytes per thread
	Shared                  int // bytes of static shared memory per block
	Code                    []Instruction

	named map[string][]region // loops of the PTX, by name
}

// Instruction is one instruction of a kernel.
type Instruction struct {
	Opcode string // "HMMA.1688.F32.TF32", without the predicate
	Line   int    // of the PTX, from 1; 0 if unknown
	Target int    // index of the instruction that a branch jumps to; -1 for others
}

// Is reports whether the opcode of the instruction, without its suffixes, is one of these.
func (i Instruction) Is(opcodes ...string) bool {
	name, _, _ := strings.Cut(i.Opcode, ".")
	return slices.Contains(opcodes, name)
}

// isMove reports whether the instruction copies a register or a constant, and does nothing else.
func (i Instruction) isMove() bool {
	return i.Is("MOV") || strings.HasPrefix(i.Opcode, "IMAD.MOV")
}

var (
	section  = regexp.MustCompile(`^\.text\.(\w+):`)
	label    = regexp.MustCompile(`^(\.L_x_\d+):`)
	line     = regexp.MustCompile(`^\s+//## File ".*", line (\d+)`)
	assembly = regexp.MustCompile(`^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(\S+)([^;]*);`)
	jump     = regexp.MustCompile("`\\((\\.L_x_\\d+)\\)")
)

// readCode reads the output of `nvdisasm -g -c` into the kernels, each of which must be there.
func readCode(text string, kernels []*Kernel) error {
	byName := map[string]*Kernel{}
	for _, k := range kernels {
		byName[k.Name] = k
	}
	var k *Kernel
	at := 0                   // line of the PTX
	var labels map[string]int // index of the instruction behind a label
	var jumps map[int]string  // label that an instruction jumps to
	finish := func() {
		for i, to := range jumps {
			if target, ok := labels[to]; ok {
				k.Code[i].Target = target
			}
		}
	}
	for l := range strings.SplitSeq(text, "\n") {
		if m := assembly.FindStringSubmatch(l); m != nil && k != nil {
			if to := jump.FindStringSubmatch(m[2]); to != nil && strings.HasPrefix(m[1], "BRA") {
				jumps[len(k.Code)] = to[1]
			}
			k.Code = append(k.Code, Instruction{m[1], at, -1})
		} else if m := line.FindStringSubmatch(l); m != nil {
			at = number(m[1])
		} else if m := label.FindStringSubmatch(l); m != nil && k != nil {
			labels[m[1]] = len(k.Code)
		} else if m := section.FindStringSubmatch(l); m != nil {
			finish()
			k, at, labels, jumps = byName[m[1]], 0, map[string]int{}, map[int]string{}
		}
	}
	finish()
	for _, k := range kernels {
		if len(k.Code) == 0 {
			return fmt.Errorf("%s: no machine code in what nvdisasm printed", k.Name)
		}
	}
	return nil
}

// count returns how many instructions satisfy a condition.
func count(code []Instruction, which func(Instruction) bool) (n int) {
	for _, i := range code {
		if which(i) {
			n++
		}
	}
	return n
}
