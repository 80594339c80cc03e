package asm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// encoded is an instruction that Go's assembler lacks: its bytes, and the comment beside them.
type encoded struct {
	where, comment string
	code           []byte
}

var aByte = regexp.MustCompile(`BYTE \$0x([0-9a-f]{2})`)

// encodedInstructions returns all lines of BYTEs of the .s files.
func encodedInstructions(t *testing.T) []encoded {
	paths := must.Get(filepath.Glob("*_amd64.s"))(t)
	var all []encoded
	for _, path := range paths {
		text := must.Get(os.ReadFile(path))(t)
		for n, line := range strings.Split(string(text), "\n") {
			code, comment, _ := strings.Cut(line, "//")
			if !strings.Contains(code, "BYTE") {
				continue
			}
			e := encoded{where: fmt.Sprintf("%s:%d", path, n+1), comment: strings.TrimSpace(comment)}
			for _, m := range aByte.FindAllStringSubmatch(code, -1) {
				b, _ := strconv.ParseUint(m[1], 16, 8)
				e.code = append(e.code, byte(b))
			}
			all = append(all, e)
		}
	}
	return all
}

var (
	goMemory       = regexp.MustCompile(`(-?\d*)\((\w+)\)(?:\((\w+)\*(\d)\))?`)
	noDisplacement = regexp.MustCompile(`\b0x0\(`) // objdump writes it where the base is R13

	goRegister = regexp.MustCompile(`\b(TMM|Y|Z)(\d+)\b`)
)

// gnu returns an instruction of Go's assembler as objdump writes it. Both put the destination last.
func gnu(goText string) string {
	name := func(r string) string {
		if r[0] == 'R' {
			return "%" + strings.ToLower(r) // R8 … R15
		}
		return "%r" + strings.ToLower(r)
	}
	s := goMemory.ReplaceAllStringFunc(goText, func(m string) string {
		part := goMemory.FindStringSubmatch(m)
		disp := ""
		if part[1] != "" {
			n, _ := strconv.Atoi(part[1])
			disp = fmt.Sprintf("%#x", n)
		}
		if part[3] == "" {
			return fmt.Sprintf("%s(%s)", disp, name(part[2]))
		}
		return fmt.Sprintf("%s(%s,%s,%s)", disp, name(part[2]), name(part[3]), part[4])
	})
	s = goRegister.ReplaceAllStringFunc(s, func(r string) string {
		if r[0] == 'T' {
			return "%" + strings.ToLower(r)
		}
		return "%" + strings.ToLower(r[:1]) + "mm" + r[1:]
	})
	opcode, operands, _ := strings.Cut(s, " ")
	if plain, ok := strings.CutSuffix(opcode, ".BCST"); ok {
		lanes := "16"
		if strings.Contains(operands, "%ymm") {
			lanes = "8"
		}
		opcode, operands = plain, strings.Replace(operands, "), ", "){1to"+lanes+"}, ", 1)
	}
	return strings.TrimSpace(strings.ToLower(opcode) + " " + strings.ReplaceAll(operands, ", ", ","))
}

// TestBytes lets a disassembler read the instructions that the generator encodes, and compares it with their comments.
func TestBytes(t *testing.T) {
	objdump, err := exec.LookPath("objdump")
	if err != nil {
		t.Skip("needs objdump of GNU binutils")
	}
	all := encodedInstructions(t)
	if len(all) < 100 {
		t.Fatalf("%d instructions in BYTEs, want more", len(all))
	}
	path := filepath.Join(t.TempDir(), "code")
	var code []byte
	for _, e := range all {
		code = append(code, e.code...)
	}
	must.OK(t, os.WriteFile(path, code, 0o600))
	const options = "-D -b binary -m i386:x86-64 --insn-width=16"
	out, err := exec.Command(objdump, append(strings.Fields(options), path)...).CombinedOutput()
	if err != nil {
		t.Fatalf("objdump: %v\n%s", err, out)
	}
	// A line is an address, the bytes and the instruction, with tabs between.
	read := map[int]string{}
	for line := range strings.SplitSeq(string(out), "\n") {
		part := strings.Split(line, "\t")
		if len(part) < 3 {
			continue
		}
		at, err := strconv.ParseInt(strings.Trim(part[0], " :"), 16, 64)
		if err != nil {
			t.Fatalf("objdump: %q: %v", line, err)
		}
		instruction, _, _ := strings.Cut(part[2], "#")
		instruction = noDisplacement.ReplaceAllString(instruction, "(")
		read[int(at)] = strings.Join(strings.Fields(instruction), " ")
	}
	if read[0] == "(bad)" {
		t.Skip("this objdump knows no AMX")
	}
	at := 0
	kinds := map[string]int{}
	for _, e := range all {
		if want := gnu(e.comment); read[at] != want {
			t.Errorf("%s: % x: objdump reads %q, the comment is %q, %q", e.where, e.code, read[at], e.comment, want)
		}
		kinds[strings.Fields(e.comment + " none")[0]]++
		at += len(e.code)
	}
	for _, opcode := range []string{
		"LDTILECFG", "TILERELEASE", "TILEZERO", "TILELOADD", "TILESTORED", "TDPBF16PS", "VCVTNE2PS2BF16",
		"VDPBF16PS", "VDPBF16PS.BCST",
	} {
		if kinds[opcode] == 0 {
			t.Errorf("no %s among the instructions", opcode)
		}
	}
	if len(kinds) != 9 {
		t.Errorf("instructions %v, want nine kinds", kinds)
	}
}
