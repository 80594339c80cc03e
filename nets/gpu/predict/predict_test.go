package predict

import (
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/nets/gpu/ptx"
	"rollcall/nets/gpu/sass"
)

// text is a kernel of 6 turns of a loop around one mma: lines 12 to 14 before the loop, 16 to 19 in it, 20 behind it.
const text = `.version 7.8
.target sm_80
.address_size 64
.visible .entry six(
	.param .align 8 .b8 six_param_0[8]
)
.maxntid 64, 1, 1
{
.reg .pred %p<2>;
.reg .b32 %r<8>;
.reg .f32 %f<5>;
mov.u32 %r1, 0;
mov.u32 %r2, 0;
mov.f32 %f1, 0f00000000;
$L__BB0_1:
mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1,%f1,%f1,%f1}, {%r2,%r2,%r2,%r2}, {%r2,%r2}, {%f1,%f1,%f1,%f1};
add.s32 %r1, %r1, 1;
setp.lt.u32 %p1, %r1, 6;
@%p1 bra $L__BB0_1;
ret;
}
`

// run returns the counts of one block of two warps.
func run(t *testing.T) (*ptx.Kernel, ptx.Counts) { return runOf(t, text) }

func runOf(t *testing.T, text string) (*ptx.Kernel, ptx.Counts) {
	t.Helper()
	module := must.Get(ptx.Parse(text))(t)
	k := module.Kernel("six")
	counts := must.Get(k.Run(ptx.Launch{
		Grid: [2]int{3, 1}, Threads: 64, Args: make([]byte, 8), Blocks: [][2]int{{1, 0}}, Traffic: true,
	}, nil))(t)
	return k, counts
}

// machine returns machine code that ends as every kernel does: with a branch to itself.
func machine(code ...sass.Instruction) *sass.Kernel {
	return &sass.Kernel{Registers: 64, Code: append(code, back(20, len(code)))}
}

// plain is an instruction that is no branch, from a line of the PTX.
func plain(opcode string, line int) sass.Instruction {
	return sass.Instruction{Opcode: opcode, Line: line, Target: -1}
}

// back is a branch to an instruction before it, or to itself.
func back(line, target int) sass.Instruction {
	return sass.Instruction{Opcode: "BRA", Line: line, Target: target}
}

func TestExecuted(t *testing.T) {
	k, counts := run(t)
	for name, c := range map[string]struct {
		code *sass.Kernel
		want float64 // of two warps
	}{
		"as written": {machine(
			plain("MOV", 12), plain("MOV", 13),
			plain("HMMA", 16), plain("MOV", 16), plain("IADD3", 17), plain("ISETP", 18), back(19, 2),
			plain("EXIT", 20),
		), 2 * (2 + 6*5 + 1)},
		"an instruction moved out of the loop": {machine(
			plain("MOV", 12), plain("MOV", 13), plain("MOV", 16),
			plain("HMMA", 16), plain("IADD3", 17), plain("ISETP", 18), back(19, 3),
			plain("EXIT", 20),
		), 2 * (3 + 6*4 + 1)},
		"two copies of the loop": {machine(
			plain("MOV", 12), plain("MOV", 13),
			plain("HMMA", 16), plain("IADD3", 17), plain("ISETP", 18), back(19, 2),
			plain("HMMA", 16), plain("IADD3", 17), plain("ISETP", 18), back(19, 6),
			plain("EXIT", 20),
		), 2 * (2 + 6*4 + 1)},
	} {
		if got := executed(c.code, k, counts); got != c.want {
			t.Errorf("%s: %g instructions, want %g", name, got, c.want)
		}
	}
}

// A card of round numbers: two multiprocessors, a cycle of a second.
var round = Card{
	Multiprocessors: 2, Clock: 1, Issue: 2, Multiply: 2, Wavefronts: 1, TF32: 1024, BF16: 2048,
	Registers: 16384, Shared: 100 << 10, L1: 140 << 10, Threads: 1024, Blocks: 16, Memory: 1000, L2: 2000, Launch: 0.5,
}

func TestPredict(t *testing.T) {
	k, counts := run(t)
	code := machine(plain("MOV", 12), plain("HMMA", 16), back(19, 1), plain("EXIT", 20))
	l := Launch{Blocks: 3, Threads: 64, Shared: 20 << 10, Bytes: 900, Counted: counts, PTX: k, Code: code}
	got := round.Predict(l, 1)
	// Three blocks on two multiprocessors: one has two of them. A block has 2 warps with 6 products of 1024 each, and
	// executes 2·(1 + 6·2 + 1) instructions, two in a cycle.
	want := Times{
		Tensor: 2 * 12, Issue: 2 * 28 / 2, Memory: 0.9, Limit: "issue", Total: 28.5,
		PerMultiprocessor: 4, Waves: 3.0 / 8,
	}
	if got != want {
		t.Errorf("one client: got %+v, want %+v", got, want)
	}
	if got := round.Predict(l, 2); got.Issue != 3*14 || got.Memory != 1.8 || got.Waves != 6.0/8 {
		t.Errorf("two clients: got %+v", got)
	}
	fma, more := runOf(t, strings.Replace(text, "add.s32", "fma.rn.f32 %f1, %f1, %f1, %f1;\nadd.s32", 1))
	code = machine(plain("MOV", 12), plain("FFMA", 17), back(20, 1), plain("EXIT", 21))
	fused, half := Launch{Blocks: 1, Threads: 64, Counted: more, PTX: fma, Code: code}, round
	half.Multiply = 0.25 // 2 warps with 6 multiply-adds, four cycles each; all instructions take 14
	if got := half.Predict(fused, 1); got.Issue != 48 || round.Predict(fused, 1).Issue != 14 {
		t.Errorf("multiply-adds take turns: got %+v, want 48 cycles of issue", got)
	}
	slow := round
	slow.Latency = 3 // both blocks run at once: 14 instructions of a warp, one after the other
	if got := slow.Predict(l, 1); got.Latency != 3*14 || got.Limit != "latency" || got.Total != 42.5 {
		t.Errorf("slow warps: got %+v", got)
	}
	slow.Registers = 4096 // one block at a time
	if got := slow.Predict(l, 1); got.Latency != 2*3*14 {
		t.Errorf("slow warps, one block at a time: got %+v", got)
	}
	l.Bytes = 1e6
	if got := round.Predict(l, 1); got.Limit != "memory" || got.Total != 1000.5 {
		t.Errorf("many bytes: limited by %s, %g s", got.Limit, got.Total)
	}
}

// The blocks on a multiprocessor are limited by shared memory, registers, threads, and by their number.
func TestResident(t *testing.T) {
	for _, c := range []struct{ registers, shared, threads, want int }{
		{64, 20 << 10, 64, 4}, // 21 KiB each
		{64, 0, 64, 4},        // 64·32 = 2048 registers a warp
		{33, 0, 64, 6},        // 1056, rounded up to 1280
		{1, 0, 512, 2},        // threads
		{1, 0, 32, 16},        // blocks
		{255, 0, 1024, 1},     // at least one
	} {
		l := Launch{Threads: c.threads, Shared: c.shared, Code: &sass.Kernel{Registers: c.registers}}
		if got := round.resident(l); got != c.want {
			t.Errorf("%+v: got %d blocks", c, got)
		}
		if got := round.Cached(l); got != (140<<10-c.want*(c.shared+1<<10))/c.want {
			t.Errorf("%+v: got %d bytes of L1", c, got)
		}
	}
}

// The constants of the cards multiply out to their data sheets: TFLOP/s of tf32, bf16 and fp32, of which mma.sync
// reaches 60 % on capability 9.0. There a clock of 1.98 GHz gives the data sheet's fp32, and 1.83 GHz the others.
func TestCards(t *testing.T) {
	for name, want := range map[string][3]float64{
		"H200": {0.6 * 495, 0.6 * 989, 67 * 1.83 / 1.98},
		"H100": {0.6 * 495, 0.6 * 989, 67 * 1.83 / 1.98},
		"A100": {156, 312, 19.5},
	} {
		c := Cards[slices.IndexFunc(Cards, func(c Card) bool { return c.Name == name })]
		for i, perCycle := range []float64{c.TF32, c.BF16, 32 * c.Multiply} {
			got := 2 * perCycle * float64(c.Multiprocessors) * c.Clock / 1e12
			if math.Abs(got-want[i]) > 0.01*want[i] {
				t.Errorf("%s, %s: %.1f TFLOP/s, want %.1f", name, []string{"tf32", "bf16", "fp32"}[i], got, want[i])
			}
		}
	}
}

// The card `round` takes half a second to start a launch.
func TestEnds(t *testing.T) {
	work := func(seconds, share float64, after ...int) Work {
		return Work{Times{Total: seconds + round.Launch}, share, after}
	}
	for name, c := range map[string]struct {
		step []Work
		want []float64
	}{
		"one after the other":      {[]Work{work(2, 1), work(3, 0.1, 0)}, []float64{2.5, 6}},
		"both find room":           {[]Work{work(2, 0.5), work(3, 0.25)}, []float64{2.5, 3.5}},
		"the first fills the card": {[]Work{work(2, 1), work(3, 0.25)}, []float64{2.5, 5.5}},
		// The second has 0.4 of the card and wants 0.8: after 2 seconds it has done 1 of its 3.
		"the second is squeezed": {[]Work{work(2, 0.6), work(3, 0.8)}, []float64{2.5, 4.5}},
		// 2 begins at 1.5, beside 1, which lasts to 4.5; 3 waits for both.
		"a branch": {
			[]Work{work(0.5, 0.5), work(3, 0.5, 0), work(1, 0.5, 0), work(1, 1, 1, 2)},
			[]float64{1, 4.5, 2.5, 6},
		},
		"nothing to do": {[]Work{work(0, 0.5), work(1, 1, 0)}, []float64{0.5, 2}},
	} {
		for i, got := range round.Ends(c.step) {
			if math.Abs(got-c.want[i]) > 1e-12 {
				t.Errorf("%s: launch %d ends after %g s, want %g", name, i, got, c.want[i])
			}
		}
	}
}

// Five blocks on two multiprocessors: one has three, the other two and then nothing to do.
func TestShare(t *testing.T) {
	k, counts := run(t)
	l := Launch{Blocks: 5, Threads: 64, Counted: counts, PTX: k, Code: machine(plain("MOV", 12), plain("EXIT", 20))}
	for clients, want := range map[int]float64{1: 5.0 / 6, 2: 1} {
		if w := round.Work(l, clients, []int{0}); w.Share != want || w.Times != round.Predict(l, clients) {
			t.Errorf("%d clients: %+v, want a share of %g", clients, w, want)
		}
	}
}
