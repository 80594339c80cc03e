package sass

import (
	"archive/zip"
	"bytes"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// A PTX with a named loop around a plain one, and what the tools print of it.
const (
	source = `.version 7.8
.target sm_80
.address_size 64
.visible .entry twice(
	.param .u64 p
)
{
$L__BB0_1:
	// loop multiply 8x8
	mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1,%f2,%f3,%f4},{%r1,%r2,%r3,%r4},{%r5,%r6},{%f1,%f2,%f3,%f4};
$L__BB0_2:
	add.s32 %r1, %r1, 1;
	@%p1 bra $L__BB0_2;
	@%p2 bra $L__BB0_1;
	st.global.u32 [%rd1], %r1;
	ret;
}
`
	printed = `ptxas info    : Compiling entry function 'twice' for 'sm_90'
ptxas info    : Function properties for twice
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 512 bytes smem
`
	code = `
.text.twice:
.L_x_1:
	//## File "ptx", line 10
        /*0000*/                   HMMA.1688.F32.TF32 R4, R4, R8, R4 ;
        /*0010*/                   MOV R1, R2 ;
        /*0020*/                   IMAD.MOV.U32 R1, RZ, RZ, R2 ;
        /*0030*/                   LDS.64 R2, [R3] ;
.L_x_2:
	//## File "ptx", line 12
        /*0040*/                   IADD3 R1, R1, 0x1, RZ ;
	//## File "ptx", line 13
        /*0050*/               @P1 BRA.U UP1, ` + "`(.L_x_2)" + ` ;
	//## File "ptx", line 14
        /*0060*/              @!P2 BRA ` + "`(.L_x_1)" + ` ;
	//## File "ptx", line 15
        /*0070*/                   STG.E desc[UR4][R2.64], R1 ;
        /*0080*/                   EXIT ;
.L_x_3:
        /*0090*/                   BRA ` + "`(.L_x_3)" + `;
`
)

// kernel returns the one kernel of the literals above.
func kernel(t *testing.T, log, text, ptx string) *Kernel {
	t.Helper()
	kernels := must.Get(readResources(log))(t)
	must.OK(t, readCode(text, kernels))
	kernels[0].named = namedLoops(ptx)["twice"]
	return kernels[0]
}

func TestRead(t *testing.T) {
	k := kernel(t, printed, code, source)
	if k.Name != "twice" || k.Registers != 40 || k.Shared != 512 || len(k.Code) != 10 {
		t.Errorf("%s: %d registers, %d bytes, %d instructions", k.Name, k.Registers, k.Shared, len(k.Code))
	}
	want := Instruction{Opcode: "BRA.U", Line: 13, Target: 4}
	if k.Code[5] != want {
		t.Errorf("instruction 5: got %+v, want %+v", k.Code[5], want)
	}
	loops, err := k.loops()
	if err != nil || len(loops) != 1 {
		t.Fatalf("%d loops, %v", len(loops), err)
	}
	l := loops[0]
	if l.name != "multiply 8x8" || l.products != 1 || len(l.code) != 7 || count(l.code, Instruction.isMove) != 2 {
		t.Errorf("loop %q: %d products, %d instructions, %d moves",
			l.name, l.products, len(l.code), count(l.code, Instruction.isMove))
	}
}

// A loop that the assembler has unrolled altogether, or that has lost its products, is not found.
func TestLoopNotFound(t *testing.T) {
	for name, text := range map[string]string{
		"unrolled":    strings.Replace(code, "BRA `(.L_x_1)", "BRA `(.L_x_3)", 1),
		"no products": strings.Replace(code, "HMMA", "IMAD", 1),
	} {
		_, err := kernel(t, printed, text, source).loops()
		if err == nil || !strings.Contains(err.Error(), `"multiply 8x8"`) {
			t.Errorf("%s: got %v, want an error that names the loop", name, err)
		}
	}
}

func TestNumbered(t *testing.T) {
	got := string(numbered(source))
	for _, want := range []string{
		".address_size 64\n.file 1 \"ptx\"\n", ".loc 1 10 0\n\tmma.sync", ".loc 1 13 0\n\t@%p1 bra",
		".loc 1 16 0\n\tret;",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("without %q:\n%s", want, got)
		}
	}
	if n := strings.Count(got, ".loc"); n != 6 {
		t.Errorf("%d instructions have a line, want 6", n)
	}
}

// Local memory is never within the limits, whatever they are.
func TestLocalMemory(t *testing.T) {
	for name, change := range map[string][2]string{
		"stack":  {"0 bytes stack", "8 bytes stack"},
		"stores": {"0 bytes spill stores", "4 bytes spill stores"},
		"loads":  {"0 bytes spill loads", "4 bytes spill loads"},
	} {
		err := Table{}.Add("sm_90", kernel(t, strings.Replace(printed, change[0], change[1], 1), code, source))
		if err == nil || !strings.Contains(err.Error(), "local memory") {
			t.Errorf("%s: got %v, want an error", name, err)
		}
	}
	k := kernel(t, printed, strings.Replace(code, "LDS.64", "LDL.64", 1), source)
	if err := (Table{}).Add("sm_90", k); err == nil {
		t.Error("LDL: got no error")
	}
}

func TestLimits(t *testing.T) {
	found := Table{}
	must.OK(t, found.Add("sm_90", kernel(t, printed, code, source)))
	var text bytes.Buffer
	must.OK(t, found.Write(&text))
	const want = `kernel,loop,target,registers,shared,outside,stores,products,instructions,moves,shared_reads
twice,,sm_90,40,512,3,1,,10,,
twice,multiply 8x8,sm_90,,,,,1,7,2,1
`
	if text.String() != want {
		t.Errorf("got\n%swant\n%s", text.String(), want)
	}
	limits := must.Get(ReadTable(text.Bytes()))(t)
	if over := found.Exceeds(limits); len(over) > 0 {
		t.Errorf("over its own limits: %q", over)
	}
	whole, loop := Key{"twice", "", "sm_90"}, Key{"twice", "multiply 8x8", "sm_90"}
	for name, c := range map[string]struct {
		change func(Table)
		over   string // "" for nothing
	}{
		"registers": {
			func(l Table) { l[whole]["registers"]-- }, "twice on sm_90: registers: 40, want at most 39",
		},
		"moves": {
			func(l Table) { l[loop]["moves"]-- }, `twice, loop "multiply 8x8", on sm_90: moves: 2, want at most 1`,
		},
		"unrolled":      {func(l Table) { l[loop] = twofold(14) }, ""},
		"unrolled less": {func(l Table) { l[loop] = twofold(13) }, "instructions"},
		"new":           {func(l Table) { delete(l, loop) }, "not in the table"},
		"gone":          {func(l Table) { l[Key{"other", "", "sm_90"}] = Row{} }, "other on sm_90: not found"},
		"lower":         {func(l Table) { l[whole]["registers"]++ }, ""},
	} {
		limits, _ := ReadTable(text.Bytes())
		c.change(limits)
		over := found.Exceeds(limits)
		if c.over == "" && len(over) > 0 || c.over != "" && (len(over) != 1 || !strings.Contains(over[0], c.over)) {
			t.Errorf("%s: got %q, want %q", name, over, c.over)
		}
	}
}

// twofold is the loop of the literals, unrolled twice, with so many instructions.
func twofold(instructions int) Row {
	return Row{"products": 2, "instructions": instructions, "moves": 4, "shared_reads": 2}
}

func TestReadTableRefuses(t *testing.T) {
	head := "kernel,loop,target," + strings.Join(columns, ",") + "\n"
	for _, text := range []string{"", "a,b\n", "kernel,loop,target,x\n", head + "k,,sm_90,many,,,,,,,\n"} {
		if _, err := ReadTable([]byte(text)); err == nil {
			t.Errorf("%q: got no error", text)
		}
	}
}

func TestMember(t *testing.T) {
	var wheel bytes.Buffer
	z := zip.NewWriter(&wheel)
	for _, name := range []string{"nvidia/cu13/bin/nvcc", "nvidia/cu13/bin/ptxas"} {
		f, err := z.Create(name)
		if err == nil {
			_, err = f.Write([]byte(name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	must.OK(t, z.Close())
	got, err := member(wheel.Bytes(), "bin/ptxas")
	if err != nil || !slices.Equal(got, []byte("nvidia/cu13/bin/ptxas")) {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := member(wheel.Bytes(), "bin/nvdisasm"); err == nil {
		t.Error("a file that is not there: got no error")
	}
}
