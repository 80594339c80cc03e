package sass

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Assembler is one release of NVIDIA's assembler, with the disassembler that reads its output.
type Assembler struct {
	Release string   // of CUDA: "12.0"
	Targets []string // the architectures that are checked with it: "sm_80"

	ptxas, nvdisasm string // paths
}

// Assemblers returns the assemblers of the oldest and of the newest driver, in this order.
func Assemblers(ctx context.Context) ([]*Assembler, error) {
	nvdisasm, err := Fetch(ctx, disassembler)
	if err != nil {
		return nil, err
	}
	all := []*Assembler{
		{Release: "12.0", Targets: []string{"sm_80", "sm_90"}},
		{Release: "13.5", Targets: []string{"sm_80", "sm_90", "sm_120"}},
	}
	for i, w := range []Wheel{oldest, newest} {
		a := all[i]
		a.nvdisasm = nvdisasm
		if a.ptxas, err = Fetch(ctx, w); err != nil {
			return nil, err
		}
		if out, err := exec.CommandContext(ctx, a.ptxas, "--version").CombinedOutput(); err != nil {
			err = fmt.Errorf("sass: %s --version: %w: %w: %s", a.ptxas, ErrUnavailable, err, out)
			return nil, cmp.Or(ctx.Err(), err)
		}
	}
	return all, nil
}

// Assemble returns the machine code of all kernels of a module for a target, in the order of the PTX. What ptxas and
// nvdisasm print is kept in the user's cache.
func (a *Assembler) Assemble(ctx context.Context, target, name, ptx string) ([]*Kernel, error) {
	log, text, err := a.listing(ctx, target, numbered(ptx))
	var kernels []*Kernel
	if err == nil {
		kernels, err = readResources(log)
	}
	if err == nil {
		err = readCode(text, kernels)
	}
	if err != nil {
		return nil, fmt.Errorf("sass: %s: CUDA %s, %s: %w", name, a.Release, target, err)
	}
	regions := namedLoops(ptx)
	for _, k := range kernels {
		k.named = regions[k.Name]
	}
	return kernels, nil
}

// listing returns what ptxas says of a PTX, and its disassembly.
func (a *Assembler) listing(ctx context.Context, target string, ptx []byte) (log, text string, err error) {
	key := sha256.Sum256(append([]byte(disassembler.Name+"\n"), ptx...))
	dir := filepath.Join(filepath.Dir(a.ptxas), target, hex.EncodeToString(key[:]))
	if log, err := os.ReadFile(filepath.Join(dir, "log")); err == nil {
		if text, err := os.ReadFile(filepath.Join(dir, "sass")); err == nil {
			return string(log), string(text), nil
		}
	}
	work, err := os.MkdirTemp("", "rollcall-sass-*")
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(work)
	source, object := filepath.Join(work, "ptx"), filepath.Join(work, "cubin")
	if err := os.WriteFile(source, ptx, 0o600); err != nil {
		return "", "", err
	}
	assemble := exec.CommandContext(ctx, a.ptxas, "-v", "-lineinfo", "-arch="+target, "-o", object, source)
	out, err := assemble.CombinedOutput()
	if err != nil {
		return "", "", fmt.Errorf("ptxas: %w: %s", err, out)
	}
	code, err := exec.CommandContext(ctx, a.nvdisasm, "-g", "-c", object).Output() // it warns of old objects
	if err != nil {
		return "", "", fmt.Errorf("nvdisasm: %w", err)
	}
	return string(out), string(code), errors.Join(
		install(filepath.Join(dir, "log"), out), install(filepath.Join(dir, "sass"), code))
}

var instruction = regexp.MustCompile(`^\s+(@!?%p\d+\s+)?[a-z][\w.:]*(\s.*)?;`)

// numbered returns the PTX with the line of each instruction before it, by which the assembler labels the machine code.
// Labels change nothing in the code.
func numbered(ptx string) []byte {
	var out bytes.Buffer
	for i, line := range strings.SplitAfter(ptx, "\n") {
		switch {
		case instruction.MatchString(line):
			fmt.Fprintf(&out, ".loc 1 %d 0\n", i+1)
		case strings.HasPrefix(line, ".address_size"):
			line += ".file 1 \"ptx\"\n"
		}
		out.WriteString(line)
	}
	return out.Bytes()
}

var (
	compiling = regexp.MustCompile(`Compiling entry function '(\w+)' for`)
	stack     = regexp.MustCompile(`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
	used      = regexp.MustCompile(`Used (\d+) registers`)
	static    = regexp.MustCompile(`(\d+) bytes smem`)
)

// readResources reads what `ptxas -v` says of each kernel.
func readResources(log string) ([]*Kernel, error) {
	var kernels []*Kernel
	for line := range strings.SplitSeq(log, "\n") {
		if m := compiling.FindStringSubmatch(line); m != nil {
			kernels = append(kernels, &Kernel{Name: m[1], Registers: -1, Stack: -1})
			continue
		}
		if len(kernels) == 0 {
			continue
		}
		k := kernels[len(kernels)-1]
		if m := stack.FindStringSubmatch(line); m != nil {
			k.Stack, k.SpillStores, k.SpillLoads = number(m[1]), number(m[2]), number(m[3])
		}
		if m := used.FindStringSubmatch(line); m != nil {
			k.Registers = number(m[1])
			if m := static.FindStringSubmatch(line); m != nil {
				k.Shared = number(m[1])
			}
		}
	}
	if len(kernels) == 0 {
		return nil, fmt.Errorf("no kernels in what ptxas printed: %q", log)
	}
	for _, k := range kernels {
		if k.Registers < 0 || k.Stack < 0 {
			return nil, fmt.Errorf("%s: ptxas did not say its registers or its stack", k.Name)
		}
	}
	slices.Reverse(kernels) // ptxas begins with the last one
	return kernels, nil
}

// number returns the value of digits that a pattern has matched.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

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
