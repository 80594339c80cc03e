//go:build cgo

package tiles

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// assemble returns the machine code of a function, as GNU's assembler writes it. It gets three pointers, and finds them
// on the stack at 0, 8 and 16; it may use all registers.
func assemble(t *testing.T, body string) []byte {
	t.Helper()
	as, err := exec.LookPath("as")
	objcopy, err2 := exec.LookPath("objcopy")
	if err != nil || err2 != nil {
		t.Skip("needs as and objcopy of GNU binutils")
	}
	const saved = "rbx rbp r12 r13 r14 r15"
	var text strings.Builder
	regs := strings.Fields(saved)
	for _, r := range regs {
		fmt.Fprintf(&text, "push %%%s\n", r)
	}
	fmt.Fprintf(&text, "push %%rdx\npush %%rsi\npush %%rdi\n%s\nadd $24, %%rsp\n", body)
	slices.Reverse(regs)
	for _, r := range regs {
		fmt.Fprintf(&text, "pop %%%s\n", r)
	}
	text.WriteString("ret\n")
	object, binary := filepath.Join(t.TempDir(), "code.o"), filepath.Join(t.TempDir(), "code")
	cmd := exec.Command(as, "--64", "-o", object, "-")
	cmd.Stdin = strings.NewReader(text.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("as: %v\n%s", err, out)
	}
	if out, err := exec.Command(objcopy, "-O", "binary", "-j", ".text", object, binary).CombinedOutput(); err != nil {
		t.Fatalf("objcopy: %v\n%s", err, out)
	}
	code := must.Get(os.ReadFile(binary))(t)
	return code
}

// needInstall skips a test where the instructions do not run.
func needInstall(t *testing.T) {
	t.Helper()
	if ok, why := Install(); !ok {
		t.Skip(why)
	}
}

// Where a test's memory has what: the configuration, and two areas.
const (
	configAt = 0
	fromAt   = 64
	toAt     = fromAt + 16*64
	size     = toAt + 16*64
)

// configure writes a configuration in which every tile has rows rows of rowBytes bytes.
func configure(memory []byte, rows, rowBytes int) {
	memory[0] = 1
	for i := range 8 {
		binary.LittleEndian.PutUint16(memory[16+2*i:], uint16(rowBytes))
		memory[48+i] = uint8(rows)
	}
}

// run runs a function on memory.
func run(t *testing.T, memory []byte, body string) {
	t.Helper()
	must.OK(t, execute(assemble(t, body), memory, [3]int{configAt, fromAt, toAt}))
}

// TestAddresses copies a tile through every tile register, by addresses of all sorts.
func TestAddresses(t *testing.T) {
	needInstall(t)
	regs := strings.Fields("rax rcx rdx rbx rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15")
	const rows, rowBytes = 5, 12
	for i, base := range regs {
		index := regs[(i+4)%len(regs)]
		scale, disp := []int{1, 2, 4, 8}[i%4], []int{0, 8, -8, 4096, -70000}[i%5]
		memory := make([]byte, size)
		configure(memory, rows, rowBytes)
		for j := range toAt - fromAt {
			memory[fromAt+j] = byte(1 + j%251)
		}
		mem := fmt.Sprintf("%d(%%%s,%%%s,%d)", disp, base, index, scale)
		at := func(slot, stride int) string {
			return fmt.Sprintf("mov %d(%%rsp), %%%s\nsub $%d, %%%s\nmov $%d, %%%s\n",
				slot, base, disp, base, stride/scale, index)
		}
		run(t, memory, fmt.Sprintf("mov (%%rsp), %%%s\nldtilecfg (%%%s)\n", base, base)+
			at(8, 24)+fmt.Sprintf("tileloadd %s, %%tmm%d\n", mem, i%8)+
			at(16, 40)+fmt.Sprintf("tilestored %%tmm%d, %s\ntilerelease", i%8, mem))
		for j, got := range memory[toAt:] {
			want := byte(0)
			if m, n := j/40, j%40; m < rows && n < rowBytes {
				want = memory[fromAt+24*m+n]
			}
			if got != want {
				t.Fatalf("%s: byte %d: got %d, want %d", mem, j, got, want)
			}
		}
	}
}

// TestDot multiplies small integers, whose sums are exact, in all sorts of tile registers.
func TestDot(t *testing.T) {
	needInstall(t)
	const rows, cols, pairs = 3, 5, 3
	for i := range 8 {
		sum, x, y := i, (i+3)%8, (i+5)%8
		memory := make([]byte, size)
		configure(memory, rows, 4*cols)
		binary.LittleEndian.PutUint16(memory[16+2*x:], 4*pairs)
		memory[48+y] = pairs
		value := func(n int) int { return n*7%11 - 5 }
		for n := range (toAt - fromAt) / 2 {
			binary.LittleEndian.PutUint16(memory[fromAt+2*n:], uint16(math.Float32bits(float32(value(n)))>>16))
		}
		// A and B are the same memory, with rows of 64 bytes.
		run(t, memory, fmt.Sprintf(`mov (%%rsp), %%rdi
			mov 8(%%rsp), %%rsi
			mov 16(%%rsp), %%rdx
			mov $64, %%rcx
			ldtilecfg (%%rdi)
			tilezero %%tmm%d
			tileloadd (%%rsi,%%rcx,1), %%tmm%d
			tileloadd (%%rsi,%%rcx,1), %%tmm%d
			tdpbf16ps %%tmm%d, %%tmm%d, %%tmm%d
			tdpbf16ps %%tmm%d, %%tmm%d, %%tmm%d
			tilestored %%tmm%d, (%%rdx,%%rcx,1)
			tilerelease`, sum, x, y, y, x, sum, y, x, sum, sum))
		for m := range rows {
			for j := range cols {
				want := 0
				for p := range 2 * pairs {
					want += 2 * value(32*m+p) * value(p/2*32+2*j+p%2) // multiplied twice
				}
				got := math.Float32frombits(binary.LittleEndian.Uint32(memory[toAt+64*m+4*j:]))
				if got != float32(want) {
					t.Fatalf("tiles %d, %d, %d: sum [%d,%d]: got %g, want %d, exactly", sum, x, y, m, j, got, want)
				}
			}
		}
	}
}

// TestPoison stores tiles that nobody has written: they must not look like zeros.
func TestPoison(t *testing.T) {
	needInstall(t)
	if !Emulating() {
		t.Skip("the processor runs the instructions, and clears tiles")
	}
	memory := make([]byte, size)
	configure(memory, 16, 64)
	run(t, memory, `mov (%rsp), %rdi
		mov 8(%rsp), %rsi
		mov 16(%rsp), %rdx
		mov $64, %rcx
		ldtilecfg (%rdi)
		tilezero %tmm3
		tilerelease
		ldtilecfg (%rdi)
		tilestored %tmm3, (%rdx,%rcx,1)
		tilerelease`)
	for i := toAt; i < size; i += 4 {
		if x := math.Float32frombits(binary.LittleEndian.Uint32(memory[i:])); x == x {
			t.Fatalf("element %d: got %g, want NaN", (i-toAt)/4, x)
		}
	}
}

// fault is code that a processor refuses, and what the emulator says about it.
type fault struct{ body, want string }

const begin = "mov (%rsp), %rdi\nmov $64, %rcx\n"

var faults = []fault{
	{begin + "tilezero %tmm0", "TILEZERO: no tiles are configured on this thread"},
	{begin + "ldtilecfg (%rdi)\ntilerelease\ntilezero %tmm0", "TILEZERO: no tiles are configured on this thread"},
	{begin + "movb $2, (%rdi)\nldtilecfg (%rdi)", "LDTILECFG: palette 2, want 1"},
	{begin + "movb $1, 1(%rdi)\nldtilecfg (%rdi)", "LDTILECFG: start row 1, want 0"},
	{begin + "movb $1, 9(%rdi)\nldtilecfg (%rdi)", "LDTILECFG: reserved byte 9 is not 0"},
	{begin + "movb $17, 50(%rdi)\nldtilecfg (%rdi)", "LDTILECFG: tile 2: 17 rows of 64 bytes"},
	{begin + "movb $65, 18(%rdi)\nldtilecfg (%rdi)", "LDTILECFG: tile 1: 16 rows of 65 bytes"},
	{begin + "movb $0, 51(%rdi)\nldtilecfg (%rdi)", "LDTILECFG: tile 3: 0 rows of 64 bytes"},
	{begin + "movb $1, 56(%rdi)\nldtilecfg (%rdi)", "LDTILECFG: tile 8, there are 8"},
	{
		begin + "movb $0, 51(%rdi)\nmovb $0, 22(%rdi)\nldtilecfg (%rdi)\ntilezero %tmm3",
		"TILEZERO: tile 3 is not configured",
	},
	{
		begin + "movb $15, 49(%rdi)\nldtilecfg (%rdi)\ntdpbf16ps %tmm2, %tmm1, %tmm0",
		"TDPBF16PS: 15 rows of 64 bytes by 16 rows of 64 bytes, added to 16 rows of 64 bytes",
	},
	{
		begin + "movb $60, 20(%rdi)\nldtilecfg (%rdi)\ntdpbf16ps %tmm2, %tmm1, %tmm0",
		"TDPBF16PS: 16 rows of 64 bytes by 16 rows of 60 bytes, added to 16 rows of 64 bytes",
	},
	{
		begin + "movb $60, 18(%rdi)\nldtilecfg (%rdi)\ntdpbf16ps %tmm2, %tmm1, %tmm0",
		"TDPBF16PS: 16 rows of 60 bytes by 16 rows of 64 bytes, added to 16 rows of 64 bytes",
	},
	{begin + "ldtilecfg (%rdi)\n.byte 0xc4, 0xe2, 0x72, 0x5c, 0xc1", "TDPBF16PS: tiles 0, 1 and 1: want three"},
	{"ud2", "SIGILL: illegal instruction"}, // of the previous handler, Go's
}

const childFault = "ROLLCALL_TILES_TEST_FAULT"

// TestFaults runs code that a processor refuses in child processes, which must end with a message.
func TestFaults(t *testing.T) {
	needInstall(t)
	if !Emulating() {
		t.Skip("the processor runs the instructions itself")
	}
	for i, f := range faults {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFaultChild$", "-test.v")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", childFault, i))
		out, err := cmd.CombinedOutput()
		if err == nil && strings.Contains(string(out), "SKIP") {
			t.Skipf("%s", out)
		}
		if err == nil || !strings.Contains(string(out), f.want) {
			t.Errorf("%s: child ended with %v and wrote\n%.500s\nwant an error and %q", f.body, err, out, f.want)
		}
	}
}

// TestFaultChild is the child of TestFaults, and does nothing elsewhere.
func TestFaultChild(t *testing.T) {
	i, err := strconv.Atoi(os.Getenv(childFault))
	if err != nil {
		t.Skip("no child of TestFaults")
	}
	needInstall(t)
	memory := make([]byte, size)
	configure(memory, 16, 64)
	run(t, memory, faults[i].body)
}
