//go:build gpu && linux && cgo

package e2e

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"rollcall/algos"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets/gpu/gputest"
	"rollcall/nets/models"
)

const kernelsFolder = "../../nets/gpu/kernels"

// onCard runs a test again in a process that has the emulator, unless this is it. With variables for the emulator it
// leaves the test out on a real card.
func onCard(t *testing.T, env ...string) (inside bool) {
	t.Helper()
	const variable = "ROLLCALL_TEST_ON_CARD"
	if gputest.Real() && env == nil {
		if why := gputest.Hold(); why != "" {
			t.Skip("left out: " + why)
		}
		return true
	}
	if os.Getenv(variable) == t.Name() {
		return true
	}
	if testing.Short() {
		t.Skip("left out: short")
	}
	out, err := gputest.Child(t, kernelsFolder, false, "^"+t.Name()+"$",
		append(env, variable+"="+t.Name())...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// Every method's round on the CUDA engine, in fp32, gives what the CPU engine gives: the accuracy of 10 images exactly,
// the loss to 1e-4, ten times what one step may be off, since a round has two and the server adds its own.
func TestMethodsOnCUDA(t *testing.T) {
	if !onCard(t) {
		return
	}
	for _, method := range algos.Names() {
		t.Run(method, func(t *testing.T) {
			data := "--data leaf"
			if method == "fedawe" || longtest.On() {
				data = "--net lenet5 --data synthetic --train-size 40 --test-size 10"
			}
			compareDevices(t, slices.Concat(ratesOf(method), []string{"--method", method}, strings.Fields(data))...)
		})
	}
	t.Run("python", func(t *testing.T) { // the last: its method stays registered
		needsPython(t)
		compareDevices(t, "--method", "../python/examples/scaffold_py.py", "--data", "leaf")
	})
}

// And FedAWE's round on every net of the catalogue that takes pictures, with generated ones.
func TestNetsOnCUDA(t *testing.T) {
	longtest.Only(t, "every net on the emulator; TestMethodsOnCUDA has one")
	if !onCard(t) {
		return
	}
	for _, net := range models.Names() {
		m := must.Get(models.New(net))(t)
		if m.H != 32 || net == "cnn-cafed" || strings.HasPrefix(net, "resnet") { // minutes on the emulator
			continue
		}
		t.Run(net, func(t *testing.T) {
			compareDevices(t, "--method", "fedawe", "--net", net, "--data", "synthetic", "--train-size", "40",
				"--test-size", "10")
		})
	}
}

func compareDevices(t *testing.T, flags ...string) {
	t.Helper()
	curve := func(device string) []map[string]string {
		out := t.TempDir()
		args := slices.Concat([]string{
			"run", "--device", device, "--precision", "fp32", "--clients", "4", "--rounds", "2", "--local-steps", "2",
			"--batch", "2", "--eval-every", "2", "--out", out,
		}, flags)
		pass(t, args...)
		rows := curveRows(t, out)
		return rows
	}
	want, got := curve("cpu"), curve("cuda")
	if len(got) != len(want) || len(got) == 0 {
		t.Fatalf("%d rows, want %d, and some", len(got), len(want))
	}
	for i := range want {
		if want[i]["engine"] == got[i]["engine"] || !strings.HasPrefix(got[i]["engine"], "cuda-sm") ||
			got[i]["precision"] != "fp32" {
			t.Errorf("engine %q, precision %q, want cuda-sm… and fp32", got[i]["engine"], got[i]["precision"])
		}
		for _, column := range []string{"active", "train_acc", "test_acc", "train_loss", "test_loss"} {
			tolerance := 0.0
			if strings.HasSuffix(column, "loss") {
				tolerance = 1e-4
			}
			if g, w := number(t, got[i][column]), number(t, want[i][column]); math.Abs(g-w) > tolerance*math.Abs(w) {
				t.Errorf("round %s: %s %v, on the CPU %v, tolerance %g", want[i]["round"], column, g, w, tolerance)
			}
		}
	}
}

// Cards are listed with what is to be known of them; auto takes the first usable one and says so.
func TestDevicesOnCUDA(t *testing.T) {
	if !onCard(t) {
		return
	}
	list := pass(t, "devices").stdout
	for _, want := range []string{"cpu ", "\ncuda:0", "GiB", "compute capability", "driver for CUDA", ": usable\n"} {
		if !strings.Contains(list, want) {
			t.Errorf("devices: %q, want %q in it", list, want)
		}
	}
	r := pass(t, "run", "--method", "fedavg-active", "--data", "leaf", "--clients", "3", "--rounds", "1",
		"--local-steps", "1", "--batch", "2", "--out", t.TempDir())
	if !strings.Contains(r.stderr, "device: cuda-sm") ||
		!strings.Contains(r.stderr, "tf32 (auto: the first usable card)") ||
		!strings.Contains(r.stderr, "with 3 clients at once") {
		t.Errorf("stderr %q, want a line that says cuda-sm…, tf32 and why, and one of the memory", r.stderr)
	}
	for device, why := range map[string]string{"auto": " (auto: the first usable card)", "cuda": "", "cuda:0": ""} {
		oneLineError(t, rollcall(t, small(t.TempDir(), "--device", device, "--precision", "bf16x3")...), statusUsage,
			"--precision bf16x3: the CUDA engine, which runs here"+why+", has tf32, fp32 and bf16")
	}
}

// bench --profile prints phases and kernels, and what it launches.
func TestBenchProfileOnCUDA(t *testing.T) {
	if !onCard(t) {
		return
	}
	got := pass(t, "bench", "--data", "leaf", "--clients", "4", "--rounds", "2", "--warmup", "0", "--profile",
		"--out", t.TempDir()).stdout
	for _, want := range []string{
		"phase  ms per round", "train ", "combine ", "plans ", "launches  µs each", "linear_forward_tf32",
		"cross_entropy_tf32", "linear_backward_filter_tf32", "begin ", "upload ", "download ", "TFLOP/s", "GB/s",
		"ms per evaluation", "evaluate ", "write curve.csv of 200 rows ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("bench --profile: want %q in\n%s", want, got)
		}
	}
}

// The tests run with another home, and yet a card's driver finds what it compiled earlier.
func TestDriverCache(t *testing.T) {
	if kept, home := os.Getenv(driverCache), os.Getenv("HOME"); kept == "" || strings.HasPrefix(kept, home) {
		t.Errorf("the driver keeps kernels in %q, want a folder outside of the tests' home %s", kept, home)
	}
}
