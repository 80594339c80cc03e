//go:build gpu && linux && cgo

package kernels

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets/gpu/gputest"
)

// launchedBy has the files of the kernels that a test launches; the others are not compiled with the fault.
var launchedBy = map[string]string{
	"TestHead":             "head.cu linear_*.cu cross_entropy.cu relu.cu sgd.cu",
	"TestLinearForward":    "linear_*.cu",
	"TestConvExact":        "conv_*.cu",
	"TestConv2DExact":      "conv2d_*.cu",
	"TestNormForward":      "batch_norm*.cu",
	"TestNormBackward":     "batch_norm*.cu",
	"TestBiasReLU":         "bias_relu.cu conv_reduce.cu",
	"TestBegin":            "rows.cu",
	"TestSGD":              "sgd.cu",
	"TestUpdateLinear":     "linear_*.cu sgd.cu",
	"TestUpdateConvReduce": "conv_reduce.cu sgd.cu",
}

// The tests must catch faults that hardware might let pass for years. Each is planted by itself in a copy of the
// kernels; the code that it replaces must be in the source.
func TestPlanted(t *testing.T) {
	if testing.Short() || os.Getenv("ROLLCALL_TEST_PLANTED") != "" {
		t.Skip("left out: short, or a fault is planted already")
	}
	for _, c := range []struct {
		name, file, right, wrong, test string
	}{
		{"no fault", "rows.cu", "i < a.P / 4", "i < a.P / 4", "TestBegin"},
		{
			"dropped barrier before products", "gemm.cuh", "__syncthreads(); // everyone's", "// everyone's",
			"TestLinearForward",
		},
		{
			"dropped barrier between stages", "filter_units.cuh", "cp_async_wait<0>();\n    __syncthreads();",
			"cp_async_wait<0>();", "TestConvExact",
		},
		{
			"wrong wait in a pipeline", "gemm.cuh", "cp_async_wait<T::STAGES - 2>();",
			"cp_async_wait<T::STAGES - 1>();", "TestLinearForward",
		},
		{"wrong wait for a patch", "conv_multiply.cuh", "cp_async_wait<1>();", "cp_async_wait<2>();", "TestConvExact"},
		{
			"dropped barrier between slices", "conv_multiply.cuh", "here, own, bias, o);\n      __syncthreads();",
			"here, own, bias, o);", "TestConvExact",
		},
		{
			"dropped barrier before windows", "conv2d_forward.cu", "__syncthreads(); // everyone's windows",
			"// everyone's windows", "TestConv2DExact",
		},
		{
			"wrong wait in a convolution", "gemm.cuh", "cp_async_wait<T::STAGES - 2>();",
			"cp_async_wait<T::STAGES - 1>();", "TestConv2DExact",
		},
		{
			"off by one at the edge of a map", "conv2d.cuh", "both(x.H - 1, x.W - 1)", "both(x.H - 1, x.W)",
			"TestConv2DExact",
		},
		{
			"dropped barrier before a channel's sum", "batch_norm.cuh", "__syncthreads();\n  const uint32_t width",
			"const uint32_t width", "TestNormForward",
		},
		{
			"dropped barrier before the sum of chunks", "batch_norm.cuh", "s.second;\n  __syncthreads();",
			"s.second;", "TestNormBackward",
		},
		{
			"off by one in the sum of chunks", "batch_norm.cuh", "i = threadIdx.x + 32;", "i = threadIdx.x + 64;",
			"TestNormBackward",
		},
		{
			"dropped barrier before the sum of a bias", "bias_relu.cu", "__syncthreads();\n  const uint32_t channel",
			"const uint32_t channel", "TestBiasReLU",
		},
		{"last column not cleared", "bias_relu.cu", "p.j + 1 < w ? a.side : ", "true ? a.side : ", "TestBiasReLU"},
		{"the last of equal maxima", "bias_relu.cu", "more[q][i] > v[i]", "more[q][i] >= v[i]", "TestBiasReLU"},
		{
			"dropped barrier before x takes the place of w1", "head.cu", "__syncthreads(); // everyone has used w1",
			"// everyone has used w1", "TestHead",
		},
		{
			"dropped barrier before dx takes the place of x", "head.cu",
			"__syncthreads(); // everyone has multiplied x", "// everyone has multiplied x", "TestHead",
		},
		{
			"wrong wait for half of x", "head.cu", "if (k == 0)\n      cp_async_wait<1>();",
			"if (k == 0)\n      cp_async_wait<2>();", "TestHead",
		},
		{"off by one in the loss of a batch", "head_loss.cuh", "b = g; b < a.B;", "b = g; b <= a.B;", "TestHead"},
		{"off by one in a row", "rows.cu", "i < a.P / 4", "i <= a.P / 4", "TestBegin"},
		{"off by one in the update", "sgd.cu", "i < a.n / 4", "i <= a.n / 4", "TestSGD"},
		{"off by one in an update at once", "gemm_update.cuh", "i < part.M", "i <= part.M", "TestUpdateLinear"},
		{
			"dropped barrier before an update at once", "gemm_update.cuh", "__syncthreads(); // everyone's sums", "",
			"TestUpdateLinear",
		},
		{"momentum that is not kept", "update.cuh", "write(momentum, at, g);", "", "TestSGD"},
		{
			"update of a slot without samples", "update.cuh", "&& work->count[(size_t)blockIdx.y * E + step] != 0",
			"", "TestUpdateConvReduce",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			sanitize := c.file == "rows.cu" || c.file == "sgd.cu" // whose faults are accesses beside a buffer
			if !sanitize {
				longtest.Only(t, "kernels are compiled that no other test of this package needs")
			}
			t.Parallel() // each in a process of its own
			sources := must.Get(filepath.Glob("*.cuh"))(t)
			for pattern := range strings.FieldsSeq(launchedBy[c.test]) {
				sources = append(sources, must.Get(filepath.Glob(pattern))(t)...)
			}
			dir := gputest.Planted(t, sources, c.file, c.right, c.wrong)
			out, err := gputest.Child(t, dir, sanitize, "^"+c.test+"$",
				"ROLLCALL_TEST_PLANTED="+c.name).CombinedOutput()
			if c.right == c.wrong {
				if err != nil {
					t.Errorf("%v\n%s", err, out)
				}
				return
			}
			wrongNumber := strings.Contains(string(out), "--- FAIL: "+c.test) && strings.Contains(string(out), ": got ")
			if err == nil || !wrongNumber && !strings.Contains(string(out), "AddressSanitizer") {
				t.Errorf("%s passes, or fails for another reason: %v\n%s", c.test, err, out)
			}
		})
	}
}
