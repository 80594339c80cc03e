//go:build gpu && linux && cgo

package selftest

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets/gpu"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/gputest"
)

func TestMain(m *testing.M) { gputest.Main(m, kernelsFolder, false) }

const kernelsFolder = "../kernels"

// checked runs the self-test on the first card and returns its checks and its error.
func checked(t *testing.T, netNames ...string) (checks []Check, err error) {
	t.Helper()
	gputest.Need(t, kernelsFolder)
	cards := must.Get(gpu.Cards())(t)
	err = Run(t.Context(), cards[0], netNames, func(c Check) {
		verdict := "right"
		if c.Wrong {
			verdict = "WRONG"
		}
		t.Logf("%-21s %s %6.2f s  %s", c.Name, verdict, c.Took.Seconds(), c.Found)
		checks = append(checks, c)
	})
	return checks, err
}

// Everything is right where the kernels are. A whole self-test launches all kernels but those that no net needs.
func TestRight(t *testing.T) {
	names := []string{"linear-binary", "linear-mnist", "lenet5"}
	if testing.Short() {
		names = names[:1]
	}
	if gputest.Long() {
		names = append(Nets(), "cnn-svhn")
	}
	const slow = 10 // milliseconds a kernel
	t.Setenv("ROLLCALL_EMULATOR_SLOW_FIND", strconv.Itoa(slow))
	checks, err := checked(t, names...)
	if err != nil {
		t.Error(err)
	}
	if want := 6 + 3*len(names); len(checks) != want {
		t.Fatalf("%d checks, want %d: 6 of the card, 3 of each net", len(checks), want)
	}
	for _, c := range checks {
		if c.Wrong || c.Found == "" {
			t.Errorf("%s: wrong is %t, found %q, want something that is right", c.Name, c.Wrong, c.Found)
		}
	}
	for i, kernels := range []int{41, 45, 45} { // fp32 has no linear_reduce
		c, want := checks[1+i], fmt.Sprintf("%d kernels compiled for sm_90 in ", kernels)
		var all, loading, found float64
		times, ok := strings.CutPrefix(c.Found, want)
		_, err := fmt.Sscanf(times, "%f s; all threads: %f s loading, %f s finding kernels", &all, &loading, &found)
		milliseconds := int(math.Round(1e3 * found))
		if !gputest.Real() && (!ok || err != nil || milliseconds < slow*kernels || all <= 0) {
			t.Errorf("%s: %q, want %q, and times, of kernels %d ms each", c.Name, c.Found, want, slow)
		}
	}
	// The other nine: add_* and bias_relu_* are for nets that the catalogue does not have.
	if got, want := checks[len(checks)-1].Found, "98 of 107 kernels"; gputest.Long() && got != want {
		t.Errorf("launches: %q, want %q", got, want)
	}
}

// childVariable is set in a process that runs the self-test with a fault.
const childVariable = "ROLLCALL_TEST_SELFTEST"

// outcome is what a self-test in another process found.
type outcome struct {
	Checks []Check
	Error  string
}

// TestChild is the self-test of a process with a fault. It prints the outcome.
func TestChild(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		t.Skip("left out: it runs in the processes that the other tests start")
	}
	var o outcome
	var err error
	if o.Checks, err = checked(t, "linear-binary", "linear-synthetic"); err != nil {
		o.Error = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(o); err != nil {
		t.Error(err)
	}
}

// inChild runs the self-test in another process, on an emulator with the kernels of a folder.
func inChild(t *testing.T, folder string, env ...string) (o outcome) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out: short")
	}
	out, err := gputest.Child(t, folder, false, "^TestChild$", append(env, childVariable+"=1")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "{") {
			must.OK(t, json.Unmarshal([]byte(line), &o))
			return o
		}
	}
	t.Fatalf("no outcome in\n%s", out)
	return o
}

// wrong returns the names of the checks that failed, and fails the test unless the error is about the first.
func (o outcome) wrong(t *testing.T, says string) (names []string) {
	t.Helper()
	for _, c := range o.Checks {
		if c.Wrong {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 || !strings.HasPrefix(o.Error, names[0]+": ") || !strings.Contains(o.Error, says) {
		t.Errorf("error %q of %+v, want one of the first check that is wrong, with %q", o.Error, o.Checks, says)
	}
	return names
}

// A fault in one kernel is found, and found in the precisions that have it.
func TestPlanted(t *testing.T) {
	const fp32, tf32, bf16 = "linear-binary fp32", "linear-binary tf32", "linear-binary bf16"
	for _, c := range []struct {
		name, file, right, wrong string
		says                     string
		checks                   []string // of linear-binary
	}{
		{
			"no drift", "update.cuh", "if (drift) {", "if (drift && lr == 0) {",
			"client 1's momentum, fc1.",
			[]string{fp32, tf32, bf16},
		},
		{"stale weights", "update.cuh", "if (weights) {", "if (weights && lr == 0) {", "weights, fc1.", []string{bf16}},
		{
			"race", "update.cuh", "read(w, row, at);",
			"for (int r = 0; r < R; r++) if (at[r] != NOWHERE) read_floats(w[r], row + (at[r] ^ 4));",
			"the same round again gives other bytes",
			[]string{fp32, tf32, bf16},
		},
		{
			"wrong count", "score.cu", "hit += best == (uint32_t)label", "hit += best != (uint32_t)label",
			"samples right, on the CPU",
			[]string{fp32},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if filepath.Ext(c.file) == ".cuh" {
				longtest.Only(t, "all kernels that include the file are compiled with the fault")
			}
			all := must.Get(filepath.Glob(filepath.Join(kernelsFolder, "*.cu*")))(t)
			o := inChild(t, gputest.Planted(t, all, c.file, c.right, c.wrong))
			var of []string
			for _, name := range o.wrong(t, c.says) {
				if strings.HasPrefix(name, "linear-binary") {
					of = append(of, name)
				}
			}
			if strings.Join(of, ", ") != strings.Join(c.checks, ", ") {
				t.Errorf("wrong: %q, want %q", of, c.checks)
			}
			if got, want := len(o.Checks), 6+2*3; got != want {
				t.Errorf("%d checks, want %d: a fault ends no check of other nets", got, want)
			}
		})
	}
}

// A driver that cannot compile the kernels, that refuses a launch, and that loses the card.
func TestDriverFails(t *testing.T) {
	for _, c := range []struct {
		name, env, says, first string
		checks                 int // that are reported
	}{
		{"compiler", "ROLLCALL_EMULATOR_FAIL_JIT=1", "ptxas fatal", "kernels fp32", 2},
		{"launch", "ROLLCALL_EMULATOR_FAIL_LAUNCH=2", "too many resources", "linear-binary fp32", 12},
		{"lost card", "ROLLCALL_EMULATOR_LOSE_DEVICE=20", "unknown", "linear-binary fp32", 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := inChild(t, kernelsFolder, c.env)
			if names := o.wrong(t, c.says); len(names) > 0 && names[0] != c.first || len(o.Checks) != c.checks {
				t.Errorf("wrong: %q of %d checks, want %s first of %d checks", names, len(o.Checks), c.first, c.checks)
			}
		})
	}
}

// forgetful is a driver that forgets the last byte of large copies, on top of the library that it is linked with.
const forgetful = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *stream) {
	int (*copy)(unsigned long long, const void *, size_t, void *) = dlsym(RTLD_NEXT, "cuMemcpyHtoDAsync_v2");
	return copy(to, from, bytes - (bytes >= 32 << 20), stream);
}
`

// A driver whose copies are not whole.
func TestForgetfulDriver(t *testing.T) {
	emulated := os.Getenv(driver.Variable)
	if gputest.Real() || gputest.LeftOut != "" || emulated == "" {
		t.Skip("left out: this test wants the emulator")
	}
	source := filepath.Join(t.TempDir(), "forgetful.c")
	library := strings.TrimSuffix(source, "c") + "so"
	must.OK(t, os.WriteFile(source, []byte(forgetful), 0o600))
	if out, err := exec.Command("g++", "-shared", "-fPIC", "-Wl,--no-as-needed", "-o", library,
		"-x", "c", source, "-x", "none", emulated, "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	o := inChild(t, kernelsFolder, driver.Variable+"="+library)
	if names := o.wrong(t, "comes back from the card as"); len(names) > 0 && names[0] != "copies" {
		t.Errorf("wrong: %q, want copies first", names)
	}
}
