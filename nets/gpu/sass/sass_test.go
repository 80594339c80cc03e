package sass

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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
		"registers": {func(l Table) { l[whole]["registers"]-- }, "twice on sm_90: registers: 40, want at most 39"},
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

// assemblers returns the assemblers that the cache has. A test does not download them: `make check-ptx` does.
func assemblers(t *testing.T) []*Assembler {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, w := range []Wheel{oldest, newest, disassembler} {
		if _, err := Fetch(ctx, w); err != nil {
			t.Skip("left out: make check-ptx gets NVIDIA's assemblers: ", err)
		}
	}
	all, err := Assemblers(t.Context())
	if errors.Is(err, ErrUnavailable) {
		t.Skip("left out: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func ptxOf(t *testing.T, module string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join("..", "kernels", "ptx", module+".ptx")))(t)
	return string(text)
}

// Every instruction of a real kernel comes from a line of the PTX that has an instruction, of the same kernel, and each
// store of the PTX has one.
func TestAssemble(t *testing.T) {
	ptx := ptxOf(t, "relu")
	lines := strings.Split(ptx, "\n")
	for _, a := range assemblers(t) {
		kernels := must.Get(a.Assemble(t.Context(), "sm_90", "relu", ptx))(t)
		if len(kernels) != 3 || kernels[0].Name != "relu_backward_fp32" || kernels[2].Name != "relu_backward_bf16" {
			t.Fatalf("CUDA %s: got %d kernels, the first %s, want the three of the text",
				a.Release, len(kernels), kernels[0].Name)
		}
		for _, k := range kernels {
			begin := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, ".entry "+k.Name+"(") })
			end := begin + slices.Index(lines[begin:], "}")
			stored := map[int]bool{}
			for _, i := range k.Code {
				if i.Line != 0 && (i.Line <= begin || i.Line > end || !instruction.MatchString(lines[i.Line-1])) {
					t.Fatalf("%s: %s comes from line %d, no instruction of the kernel", k.Name, i.Opcode, i.Line)
				}
				if i.Is("ST", "STG") {
					stored[i.Line] = true
				}
			}
			for at := begin; at < end; at++ {
				if strings.Contains(lines[at], "st.global") && !stored[at+1] {
					t.Errorf("%s: line %d stores, but no machine code from it", k.Name, at+1)
				}
			}
		}
	}
}

// A kernel that may have too few registers spills, and is refused; so is what the assembler does not know.
func TestAssembleRefuses(t *testing.T) {
	a := assemblers(t)[1]
	crowded := strings.Replace(ptxOf(t, "linear_forward"), ".minnctapersm 3", ".minnctapersm 6", 1)
	kernels := must.Get(a.Assemble(t.Context(), "sm_90", "linear_forward", crowded))(t)
	if err := (Table{}).Add("sm_90", kernels[0]); err == nil || !strings.Contains(err.Error(), "local memory") {
		t.Errorf("six blocks on a multiprocessor: got %v, want an error about local memory", err)
	}
	wrong := strings.Replace(ptxOf(t, "relu"), "ld.global.u32", "ld.globe.u32", 1)
	_, err := a.Assemble(t.Context(), "sm_90", "relu", wrong)
	if err == nil || !strings.Contains(err.Error(), "relu: CUDA 13.5, sm_90: ptxas") {
		t.Errorf("ld.globe: got %v, want what ptxas says", err)
	}
}

// What a test of package driver wants of a real driver's compiler is what the assemblers say. They call the file by its
// name, and go on to other faults.
func TestBrokenPTX(t *testing.T) {
	path := filepath.Join("..", "driver", "testdata", "broken.ptx")
	first, _, _ := strings.Cut(string(must.Get(os.ReadFile(path))(t)), "\n")
	want := "ptxas " + path + "," + strings.TrimPrefix(first, "//") + "\n"
	for _, a := range assemblers(t) {
		out, err := exec.CommandContext(t.Context(), a.ptxas, "-arch=sm_90", "-o", os.DevNull, path).CombinedOutput()
		if err == nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("CUDA %s: %v: %q, want %q first", a.Release, err, out, want)
		}
	}
}

// A file in the cache is taken only if it is the one that is pinned. Another one is replaced, which is run otherwise.
func TestFetchLooksAtCache(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("left out: nothing is fetched on " + runtime.GOOS + "/" + runtime.GOARCH)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var wheel bytes.Buffer
	zipped := zip.NewWriter(&wheel)
	_, err := must.Get(zipped.Create("nvidia/cuda/bin/tool"))(t).Write([]byte("the tool"))
	must.OK(t, errors.Join(err, zipped.Close()))
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write(wheel.Bytes())
	}))
	defer server.Close()
	sum := func(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }
	w := Wheel{Name: "tool-1", SHA256: sum(wheel.Bytes()), Member: "bin/tool", Sum: sum([]byte("the tool"))}
	for i, c := range []struct {
		cached string // in the cache before; "": what is there
		asked  int    // how often the server was asked in all
	}{{"", 1}, {"", 1}, {"another tool", 2}, {"the tool and more", 3}, {"", 3}} {
		file, err := fetch(t.Context(), w, server.URL)
		if c.cached != "" {
			must.OK(t, err)
			must.OK(t, os.WriteFile(file, []byte(c.cached), 0o700))
			file, err = fetch(t.Context(), w, server.URL)
		}
		if err != nil || string(must.Get(os.ReadFile(file))(t)) != "the tool" || asked != c.asked {
			t.Errorf("%d: %v, asked %d times, want the tool and %d", i, err, asked, c.asked)
		}
	}
	w.Name, w.Sum = "tool-2", sum([]byte("another tool"))
	if _, err := fetch(t.Context(), w, server.URL); err == nil || !strings.Contains(err.Error(), "bin/tool: SHA-256") {
		t.Errorf("another tool in the wheel: %v, want its checksum", err)
	}
}

// A pinned file is refused where it is another one, and where the address is wrong. Where there is no answer it cannot
// be had; where the user stops, it is neither.
func TestFetchRefuses(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("left out: nothing is fetched on " + runtime.GOOS + "/" + runtime.GOARCH)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gone":
			w.WriteHeader(http.StatusNotFound)
		case "/busy":
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			_, _ = w.Write([]byte("not a wheel"))
		}
	}))
	defer server.Close()
	for path, unavailable := range map[string]bool{"/gone": false, "/busy": true} {
		_, err := download(t.Context(), server.URL+path)
		if err == nil || errors.Is(err, ErrUnavailable) != unavailable {
			t.Errorf("%s: got %v, want an error, unavailable: %t", path, err, unavailable)
		}
	}
	w := Wheel{Name: "other", SHA256: disassembler.SHA256, Member: "bin/other"}
	if _, err := fetch(t.Context(), w, server.URL+"/other"); err == nil || !strings.Contains(err.Error(), "SHA-256") {
		t.Errorf("another file: got %v, want its checksum", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Fetch(ctx, disassembler); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnavailable) {
		t.Errorf("stopped: got %v, want context.Canceled", err)
	}
	server.Close()
	if _, err := download(t.Context(), server.URL+"/other"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("no server: got %v, want ErrUnavailable", err)
	}
}
