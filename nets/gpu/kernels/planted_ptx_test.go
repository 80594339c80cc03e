//go:build gpu && linux && cgo

package kernels

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets/gpu/gputest"
	"rollcall/nets/gpu/ptx"
)

// launchLinear launches the kernels of a linear layer, launchConv those of a convolution, launchNorm those of batch
// norm, launchHead a head.
func launchLinear(p precision, K, B, I, O int) func(t *testing.T) {
	return func(t *testing.T) {
		l := newLinearRun(t, p, K, B, I, O)
		l.forward()
		l.data()
		l.filter()
	}
}

func launchConv(p precision, c convolution) func(t *testing.T) {
	return func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(1, 2))
		c.onCard(t, p, c.draw(rnd, func() float32 { return p.round(rnd.Float32()*2 - 1) }))
	}
}

func launchNorm(p precision) func(t *testing.T) {
	return func(t *testing.T) { newNorm(t, p, 3, 5, 3, 3, 33, true, true, true).train() }
}

func launchHead(p precision, c headCase) func(t *testing.T) {
	return func(t *testing.T) { newHeadRun(t, p, c).run(1) }
}

// ptxFaults change one instruction of a kernel each: the nth, from 0, that matches `right`. launch launches the kernel.
var ptxFaults = []struct {
	name, kernel string
	right, wrong string
	nth          int
	launch       func(t *testing.T)
}{
	{
		"registers of A swapped", "linear_forward_tf32", `(mma\S+ \{.*?\}, \{)(\S+?),(\S+?),`, "${1}${3},${2},", 0,
		launchLinear(tf32, 1, 33, 1300, 68),
	},
	{
		"registers of A swapped", "linear_backward_data_bf16", `(mma\S+ \{.*?\}, \{\S+?,)(\S+?),(\S+?),`,
		"${1}${3},${2},", 0, launchLinear(bf16, 1, 33, 1300, 68),
	},
	{
		"registers of B swapped", "conv_forward_few_tf32", `(mma\S+ \{.*?\}, \{.*?\}, \{)(\S+),(\S+)\}`,
		"${1}${3},${2}}", 0, launchConv(tf32, convCases[5]),
	},
	{
		"x of the first client for all", "conv_backward_filter_tf32", `shl\.b64 (\S+), \S+, \S+;`, "mov.b64 $1, 0;", 28,
		launchConv(tf32, convCases[1]),
	},
	{
		"registers of D swapped", "conv2d_forward_tf32", `(mma\S+ \{)(\S+?),(\S+?),`, "${1}${3},${2},", 0,
		launchConv(tf32, conv2DCases[2]),
	},
	{
		"load from a wrong place in shared memory", "linear_forward_tf32", `(ld\.shared.*?\[%r\d+)\]`, "${1}+8]", 0,
		launchLinear(tf32, 1, 33, 1300, 68),
	},
	{
		"store to a wrong place in shared memory", "linear_forward_fp32", `(st\.shared\.v4\.f32 \[%r\d+\+-)2048`,
		"${1}2032", 0, launchLinear(fp32, 1, 5, 784, 2),
	},
	{"not rounded to tf32", "average_pool_tf32", `cvt\.rna\.tf32\.f32`, "mov.b32", 0, TestAveragePool},
	{
		"weights not rounded", "linear_backward_data_tf32", `cvt\.rna\.tf32\.f32`, "mov.b32", 0,
		launchLinear(tf32, 1, 33, 1300, 68),
	},
	{
		"halves of bf16x2 swapped", "linear_forward_bf16", `(cvt\.rn\.bf16x2\.f32 \S+), (\S+), (\S+);`, "$1, $3, $2;",
		0, launchLinear(bf16, 1, 33, 65, 16),
	},
	{"no barrier", "linear_forward_fp32", `bar\.sync 0;`, "", 0, launchLinear(fp32, 1, 33, 65, 16)},
	{"no barrier", "bias_relu_backward_fp32", `bar\.sync 0;`, "", 0, TestBiasReLU},
	{"no barrier", "norm_statistics_fp32", `bar\.sync 0;`, "", 0, launchNorm(fp32)},
	{
		"no wait", "linear_forward_tf32", `cp\.async\.wait_group \d;`, "", 0, launchLinear(tf32, 1, 33, 1300, 68),
	},
	{
		"waits for one group less", "linear_backward_filter_bf16", `cp\.async\.wait_group 1;`, "cp.async.wait_group 2;",
		1, launchLinear(bf16, 1, 130, 1300, 68),
	},
	{
		"not transposed", "linear_backward_filter_bf16", `x4\.trans\.shared`, "x4.shared", 0,
		launchLinear(bf16, 1, 33, 65, 16),
	},
	{
		"operands of sub swapped", "norm_moments_fp32", `(sub\.rn\.f32 \S+), (\S+), (\S+);`, "$1, $3, $2;", 0,
		launchNorm(fp32),
	},
	{"no barrier", "head_tf32", `bar\.sync 0;`, "", 4, launchHead(tf32, headCases[1])},
	{
		"wrong lane of a shuffle", "head_fp32", `(shfl\.sync\.bfly\.b32 .*), 1, 31`, "$1, 2, 31", 0,
		launchHead(fp32, headCases[1]),
	},
	{
		"registers of B swapped", "head_bf16", `(mma\S+ \{.*?\}, \{.*?\}, \{)(\S+),(\S+)\}`, "${1}${3},${2}}", 40,
		launchHead(bf16, headCases[1]),
	},
	{"guard inverted", "add_fp32", `@(%p\d+) bra`, "@!$1 bra", 1, TestAdd},
	{"bound off by one", "sgd", `setp\.ge\.u32`, "setp.gt.u32", 1, TestSGD},
	{
		"wrong lane of a shuffle", "cross_entropy_fp32", `(shfl\.sync\.bfly\.b32 .*), 8, 31`, "$1, 4, 31", 0,
		TestCrossEntropy,
	},
	{
		"addend of fma", "linear_backward_filter_bf16", `(fma\.rn\.f32 \S+, (\S+), \S+), \S+;`, "$1, $2;", 0,
		TestUpdateLinear,
	},
	{"addend of fma", "sgd", `(fma\.rn\.f32 \S+, (\S+), \S+), \S+;`, "$1, $2;", 0, TestSGD},
	{"elements of a vector swapped", "begin", `(st\.v2\.u32 \S+ \{)(\S+), (\S+)\}`, "$1$3, $2}", 0, TestBegin},
	{"operands of sub swapped", "gather_tf32", `(sub\.s32 \S+), (\S+), (\S+);`, "$1, $3, $2;", 0, TestGather},
}

// The comparison must catch faults in the PTX. Each is planted by itself.
func TestPlantedPTX(t *testing.T) {
	longtest.Only(t, "every kernel with a planted fault")
	if gputest.Real() {
		t.Skip("left out: a card is not compared with the PTX")
	}
	newRig(t)
	c := must.Get(sharedCard())(t)
	for _, f := range ptxFaults {
		t.Run(f.kernel+"/"+f.name, func(t *testing.T) {
			m, _ := Find(f.kernel)
			parsed := must.Get(ptx.Parse(plant(t, m.PTX, f.kernel, regexp.MustCompile(f.right), f.wrong, f.nth)))(t)
			c.comparison.planted, c.comparison.caught = parsed.Kernel(f.kernel), nil
			defer func() { c.comparison.planted = nil }()
			t.Run("launch", f.launch)
			if c.comparison.caught == nil {
				t.Error("the fault is not caught")
			}
			t.Log(c.comparison.caught)
		})
	}
}

// plant returns the text with the nth match in a kernel replaced. A space in a pattern also matches a tab of the text.
func plant(t *testing.T, text, kernel string, right *regexp.Regexp, wrong string, nth int) string {
	t.Helper()
	start := strings.Index(text, ".visible .entry "+kernel+"(")
	if start < 0 {
		t.Fatalf("no kernel %s", kernel)
	}
	end := start + strings.Index(text[start:], "\n}")
	body := strings.NewReplacer(" \t", " ", "\t", " ").Replace(text[start:end])
	at := right.FindAllStringSubmatchIndex(body, nth+1)
	if len(at) <= nth {
		t.Fatalf("%s has no instruction %d that matches %v", kernel, nth, right)
	}
	m := at[nth]
	changed := right.ExpandString(nil, wrong, body, m)
	return text[:start] + body[:m[0]] + string(changed) + body[m[1]:] + text[end:]
}
