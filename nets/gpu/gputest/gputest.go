//go:build gpu && linux && cgo

// Package gputest gives tests a card: a real card if ROLLCALL_TEST_GPU is 1, and otherwise the emulator.
package gputest

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/emulator"
)

const (
	realVariable = "ROLLCALL_TEST_GPU"  // 1: test on the first card of this machine
	asanVariable = "ROLLCALL_TEST_ASAN" // 0: without AddressSanitizer
)

// LeftOut says why there is no card, real or emulated. It is empty if there is one. [Main] sets it.
var LeftOut string

// Real reports whether the tests run on a real card.
func Real() bool { return os.Getenv(realVariable) == "1" }

// Long reports whether tests may take minutes on the emulator: on a real card they do not.
func Long() bool { return Real() || longtest.On() }

// Main is the TestMain of a package whose tests all need a card. If the card is not real, it is the emulator with the
// kernels of a folder; sanitize asks for AddressSanitizer, which -short leaves out. The emulator must be in the
// environment when a process starts, since AddressSanitizer's runtime is preloaded. Main therefore builds it and
// executes the test binary again.
func Main(m *testing.M, kernels string, sanitize bool) {
	flag.Parse()
	switch {
	case Real():
		LeftOut = Hold()
	case os.Getenv(driver.Variable) == "":
		if LeftOut = missing(); LeftOut != "" {
			break
		}
		env, err := environment(kernels, sanitize)
		if err == nil {
			err = fmt.Errorf("gputest: start again with the emulator: %w", syscall.Exec("/proc/self/exe", os.Args, env))
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// Hold opens the first card, once, for as long as the process lives. Otherwise the last engine that a test closes would
// end the context, and the next one take half a second to make another. It returns why the card cannot be used, or "".
var Hold = sync.OnceValue(func() string {
	if why := unusable(); why != "" {
		return why
	}
	err := driver.NewThread().Do(func() error {
		_, err := driver.Open(0)
		return err
	})
	if err != nil {
		return err.Error()
	}
	return ""
})

// Need skips a test if there is no card. It reads the sources of the emulator's kernels, once, so that go test does not
// use a cached result after a source has changed: it notices only files that a test reads, and [Main] reads them before
// the binary is executed again.
func Need(t *testing.T, kernels string) {
	t.Helper()
	if LeftOut != "" {
		t.Skip("left out: " + LeftOut)
	}
	opened.Do(func() {
		for _, name := range must.Get(filepath.Glob(filepath.Join(kernels, "*.cu*")))(t) {
			must.Get(os.ReadFile(name))(t)
		}
	})
}

var opened sync.Once

// Child returns a command that runs the tests of this binary that match a pattern, in a new process with the emulator.
// It skips the calling test if there can be no emulator, or if the tests run on a real card.
func Child(t *testing.T, kernels string, sanitize bool, run string, env ...string) *exec.Cmd {
	t.Helper()
	if Real() {
		t.Skip("left out: this test wants the emulator")
	}
	if why := missing(); why != "" {
		t.Skip("left out: " + why)
	}
	Need(t, kernels)
	base := must.Get(environment(kernels, sanitize))(t)
	c := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run="+run, "-test.v")
	c.Env = append(base, env...)
	return c
}

// Planted returns a folder with copies of kernels, in one of which `wrong` stands in place of the first `right`.
func Planted(t *testing.T, kernels []string, file, right, wrong string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	found := false
	for _, path := range kernels {
		text := string(must.Get(os.ReadFile(path))(t))
		if filepath.Base(path) == file {
			found = strings.Contains(text, right)
			text = strings.Replace(text, right, wrong, 1)
		}
		must.OK(t, os.WriteFile(filepath.Join(folder, filepath.Base(path)), []byte(text), 0o600))
	}
	if !found {
		t.Fatalf("%s: no %q to plant a fault in", file, right)
	}
	return folder
}

// environment builds the emulator and returns the environment of a process that uses it.
func environment(kernels string, sanitize bool) ([]string, error) {
	sanitize = sanitize && os.Getenv(asanVariable) != "0" && !testing.Short() && !raceDetector()
	library, err := emulator.Build(kernels, sanitize)
	if err != nil {
		return nil, err
	}
	env := emulator.Env(library, sanitize)
	return append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		// CUDA_VISIBLE_DEVICES, which the emulator obeys, is about this machine's cards.
		return name == "CUDA_VISIBLE_DEVICES" || slices.ContainsFunc(env, func(w string) bool {
			return name == strings.SplitN(w, "=", 2)[0]
		})
	}), env...), nil
}

// missing says why there can be no emulator on this machine. It returns "" if there can be one.
func missing() string {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return "no emulator for " + runtime.GOARCH
	}
	if _, err := exec.LookPath("g++"); err != nil {
		return "no g++ to build the emulator with"
	}
	return ""
}

// raceDetector reports whether this binary has the race detector, which excludes AddressSanitizer.
func raceDetector() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// unusable says why the first card cannot be used. It returns "" if it can.
func unusable() string {
	devices, err := driver.Devices()
	switch {
	case err != nil:
		return err.Error()
	case len(devices) == 0:
		return "no GPU"
	}
	return devices[0].Unusable
}
