//go:build gpu && linux && cgo

package e2e

import (
	"bufio"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/algos"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets/gpu/gputest"
	"rollcall/nets/models"
)

func init() { hasCUDA = true }

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
	for _, net := range models.Names() { // and FedAWE's on every net that takes pictures, with generated ones
		m := must.Get(models.New(net))(t)
		if !longtest.On() || m.H != 32 || net == "cnn-cafed" || strings.HasPrefix(net, "resnet") {
			continue // minutes on the emulator
		}
		t.Run(net, func(t *testing.T) {
			compareDevices(t, "--method", "fedawe", "--net", net, "--data", "synthetic", "--train-size", "40",
				"--test-size", "10")
		})
	}
	t.Run("python", func(t *testing.T) { // the last: its method stays registered
		needsPython(t)
		compareDevices(t, "--method", "../python/examples/scaffold_py.py", "--data", "leaf")
	})
}

// Data of the user's own, of another size and in floating point, train on the CUDA engine as on the CPU engine.
func TestOwnDataOnCUDA(t *testing.T) {
	if !onCard(t) {
		return
	}
	images, features := writeOwn(t, t.TempDir())
	for _, file := range []string{images, features} {
		compareDevices(t, "--method", "fedavg-active", "--data", "npz:"+file, "--net", "cnn-svhn", "--p", "1")
	}
}

// Under every availability model both engines train the same clients.
func TestAvailabilityOnCUDA(t *testing.T) {
	if !onCard(t) {
		return
	}
	for _, flags := range availabilities(t, t.TempDir()) {
		compareDevices(t, append([]string{"--method", "fedavg-active", "--data", "leaf"}, flags...)...)
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
	r := pass(t, strings.Fields("run --method fedavg-active --data leaf --clients 3 --rounds 1 --local-steps 1 "+
		"--batch 2 --out "+t.TempDir())...)
	if !strings.Contains(r.stderr, "device: cuda-sm") ||
		!strings.Contains(r.stderr, "tf32 (auto: the first usable card)") ||
		!strings.Contains(r.stderr, "with 3 clients at once") {
		t.Errorf("stderr %q, want a line that says cuda-sm…, tf32 and why, and one of the memory", r.stderr)
	}
	for device, why := range map[string]string{"auto": " (auto: the first usable card)", "cuda": "", "cuda:0": ""} {
		oneLineError(t, rollcall(t, small(t.TempDir(), "--device", device, "--precision", "bf16x3")...), statusUsage,
			"--precision bf16x3: the CUDA engine, which runs here"+why+", has tf32, fp32 and bf16")
		oneLineError(t, rollcall(t, small(t.TempDir(), "--device", device, "--rows", "file")...), statusUsage,
			"--rows file: the CUDA engine, which runs here"+why+", has them on the card, want --device cpu")
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

// onCUDA are the arguments of a sweep of seconds on a card.
func onCUDA(out string, more ...string) []string {
	return smallSweep(out, append(strings.Fields("--clients 5 --rounds 3 --local-steps 2 --seeds 3,4 "+
		"--methods fedavg-active,mifa,fedawe --availability stationary,sine --precision fp32 --device cuda"),
		more...)...)
}

// Engines side by side on one card leave the same bytes as one after the other.
func TestPackOnCUDA(t *testing.T) {
	if !onCard(t) {
		return
	}
	alone, out := t.TempDir(), t.TempDir()
	pass(t, onCUDA(alone)...)
	o := pass(t, onCUDA(out, "--pack", "3")...)
	sameTree(t, "--pack 3", timelessTree(t, out), timelessTree(t, alone))
	for _, what := range []string{"device: cuda-sm", "gpu: takes "} {
		if n := strings.Count(o.stderr, what); n != 1 {
			t.Errorf("%q %d times, want it once in\n%s", what, n, o.stderr)
		}
	}
}

// Where the card has no memory for one more engine beside others there are fewer of them, in the end one alone: the
// bytes are the same.
func TestPackShortOfMemoryOnCUDA(t *testing.T) {
	longtest.Only(t, "several engines on the emulator")
	// An engine that holds the data set and nothing else takes 730 kB.
	if !onCard(t, "ROLLCALL_EMULATOR_MEMORY=1000000") {
		return
	}
	alone, out := t.TempDir(), t.TempDir()
	pass(t, onCUDA(alone)...)
	o := pass(t, onCUDA(out, "--pack", "4")...)
	sameTree(t, "--pack 4", timelessTree(t, out), timelessTree(t, alone))
	if want := "out of memory: 1 run at a time from now on\n"; strings.Count(o.stderr, want) != 1 {
		t.Errorf("want %q once in\n%s", want, o.stderr)
	}
	if n := strings.Count(o.stderr, "at most 4 clients at once (one of 4 engines)\n"); n != 1 {
		t.Errorf("%d times that waves are smaller, want it said once:\n%s", n, o.stderr)
	}
}

// On a card runs that were interrupted go on to the same bytes, and a run of the CPU's numbers does not go on there.
func TestResumeOnCUDA(t *testing.T) {
	if !onCard(t) {
		return
	}
	for name, more := range map[string][]string{
		"linear": {"--method", "fedawe", "--momentum", "0.5", "--data", "leaf"},
		"lenet5": {
			"--method", "scaffold", "--net", "lenet5", "--data", "synthetic", "--train-size", "40", "--test-size", "10",
			"--precision", "fp32",
		},
	} {
		t.Run(name, func(t *testing.T) {
			args := func(out, device string) []string {
				return smallRun(out, append(more, "--save-model", "--device", device)...)
			}
			whole, out := t.TempDir(), t.TempDir()
			pass(t, args(whole, "cuda")...)
			interrupt(t, "round 1/4", args(out, "cpu")...)
			o := rollcall(t, args(out, "cuda")...)
			if o.status != statusFailure || !strings.Contains(o.stderr, "refused: numerics cpu-fp32, want cuda") {
				t.Errorf("status %d, %q, want it refused, since the numbers are the CPU's", o.status, o.stderr)
			}
			interrupt(t, "round 2/4", append(args(out, "cuda"), "--replace")...)
			if o = pass(t, args(out, "cuda")...); !strings.Contains(o.stderr, "resumes from round 2") {
				t.Errorf("%q, want it to go on from round 2", o.stderr)
			}
			must.OK(t, os.RemoveAll(filepath.Join(filepath.Dir(only(t, out, curvePath)), ".old"))) // the CPU's
			sameTree(t, name, timelessTree(t, out), timelessTree(t, whole))
		})
	}
}

// emulated returns a command that runs the program in a process with an emulated card.
func emulated(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skip("left out: short")
	}
	cmd := gputest.Child(t, kernelsFolder, false, "")
	cmd.Args = append([]string{"rollcall"}, args...) // by its name it is the program
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// The command says in its last line, and by its status, whether a card is right.
func TestDevicesCheck(t *testing.T) {
	const one = "linear-binary"
	const card = "cuda:0 (rollcall emulator, sm_90): "
	const wrong = "rollcall: devices: 1 card WRONG, see above\n"
	for _, c := range []struct {
		name, env, args string
		status          int
		last, stderr    string // the last line of stdout; a part of stderr
	}{
		{"right", "", "--nets " + one, 0, card + "right", ""},
		{
			"chosen", "ROLLCALL_EMULATOR_DEVICES=2", "--device cuda:1 --nets " + one, 0,
			"cuda:1 (rollcall emulator, sm_90): right", "",
		},
		{
			"compiler", "ROLLCALL_EMULATOR_FAIL_JIT=1", "", 1, card + "WRONG: kernels fp32: gpu: module add: ", wrong,
		},
		{
			"refused launch", "ROLLCALL_EMULATOR_FAIL_LAUNCH=2", "--nets " + one, 1,
			card + "WRONG: linear-binary fp32: ", wrong,
		},
		{
			"old card", "ROLLCALL_EMULATOR_CAPABILITY=7.5", "", 1,
			"cuda:0 (rollcall emulator, sm_75): unusable: compute capability 7.5, want 8.0 or later",
			"rollcall: devices: no card to check: compute capability 7.5, want 8.0 or later\n",
		},
		{
			"old driver", "ROLLCALL_EMULATOR_DRIVER=11080", "", 1, "", "rollcall: devices: no card to check: gpu: ",
		},
		{
			"no such card", "", "--device cuda:3", 1, "",
			"rollcall: device cuda:3: gpu: no such card, there are 1 (rollcall devices lists them)\n",
		},
		{"no net", "", "--nets=", 2, "", "rollcall: devices: --nets: want at least one net\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"devices", "--check"}, strings.Fields(c.args)...)
			out, err := emulated(t, []string{c.env}, args...).Output()
			status, stderr := 0, ""
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				status, stderr = exit.ExitCode(), string(exit.Stderr)
			}
			// A busy machine compiles for so long that it says so.
			stderr = strings.TrimPrefix(stderr, "cuda:0: compiling kernels; the driver keeps them for the next start\n")
			lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
			last := lines[len(lines)-1]
			if status != c.status || !strings.HasPrefix(last, c.last) || (c.last == "") != (last == "") ||
				!strings.HasPrefix(stderr, c.stderr) || strings.Count(stderr, "\n") > 1 {
				t.Errorf("status %d, stdout %q, stderr %q, want %d, a last line %q, stderr %q",
					status, out, stderr, c.status, c.last, c.stderr)
			}
			row := regexp.MustCompile(`^cuda:\d  .{21}  (right|WRONG)  [ \d]{3}\.\d\d s  \S`)
			for _, line := range lines[:len(lines)-1] {
				if !row.MatchString(line) {
					t.Errorf("line %q is not like the others", line)
				}
			}
		})
	}
}

// NVIDIA's own driver library on a machine without a card: each command says so in one line.
func TestDriverWithoutCard(t *testing.T) {
	library := os.Getenv("ROLLCALL_TEST_LIBCUDA")
	if library == "" {
		t.Skip("left out: ROLLCALL_TEST_LIBCUDA names no driver library (make check-driver)")
	}
	if cards := must.Get(filepath.Glob("/proc/driver/nvidia/gpus/*"))(t); len(cards) > 0 {
		t.Skip("left out: this machine has a card")
	}
	why := "gpu: " + library + ": cuInit: no CUDA-capable device is detected (CUDA_ERROR_NO_DEVICE)\n"
	for _, c := range []struct {
		args   string
		status int
		want   string // the last line of both streams, and the only one of a command that fails
	}{
		{"devices", statusOK, "cuda     none: " + why},
		{"devices --check", statusFailure, "rollcall: devices: no card to check: " + why},
		{"run --data synthetic --device cuda --rounds 1", statusFailure, "rollcall: device cuda: " + why},
	} {
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
		cmd.Args = append([]string{"rollcall"}, strings.Fields(c.args)...) // by its name it is the program
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "ROLLCALL_LIBCUDA="+library)
		out, _ := cmd.CombinedOutput()
		status := cmd.ProcessState.ExitCode()
		said, found := strings.CutSuffix(string(out), c.want)
		if status != c.status || !found || c.args != "devices" && said != "" {
			t.Errorf("rollcall %s: status %d, %q, want %d, %q", c.args, status, out, c.status, c.want)
		}
	}
}

// Ctrl-C ends a check at once, without a verdict.
func TestDevicesCheckInterrupted(t *testing.T) {
	cmd := emulated(t, nil, "devices", "--check", "--nets", "cnn-cifar10,resnet20")
	stdout := must.Get(cmd.StdoutPipe())(t)
	must.OK(t, cmd.Start())
	var sent time.Time
	said := ""
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		said += lines.Text() + "\n"
		if sent.IsZero() && strings.Contains(lines.Text(), " copies ") {
			sent = time.Now()
			must.OK(t, cmd.Process.Signal(syscall.SIGINT))
		}
	}
	_ = cmd.Wait() // the status is looked at
	took := time.Since(sent)
	if status := cmd.ProcessState.ExitCode(); status != statusInterrupted || strings.Contains(said, "sm_90): ") {
		t.Errorf("status %d, stdout %q, want %d and no verdict", status, said, statusInterrupted)
	}
	if limit := 5 * time.Second; took > limit { // of which the program takes 0.8 s, and a busy machine the rest
		t.Errorf("ended %s after the signal, want %s at most", took, limit)
	}
}
