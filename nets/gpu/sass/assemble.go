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
