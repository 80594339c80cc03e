//go:build gpu && linux && cgo

package driver

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// child is the environment variable that marks the processes of inChild.
const child = "ROLLCALL_DRIVER_TEST_CHILD"

// inChild reports whether this is a child process. If it is not, inChild runs the calling test again in a child
// process: each process looks for the driver only once. env is added to the environment of the child; an empty value
// removes a variable.
func inChild(t *testing.T, env map[string]string) bool {
	t.Helper()
	if os.Getenv(child) != "" {
		return true
	}
	pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run="+pattern)
	cmd.Env = []string{child + "=1", "GORACE=atexit_sleep_ms=0"} // the race detector would wait a second at each exit
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != Variable && !strings.HasPrefix(name, "FAKE_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	for name, v := range env {
		if v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		t.Errorf("child with %v: %v\n%s", env, err, out)
	case strings.Contains(string(out), "--- SKIP: "+t.Name()):
		t.Skipf("child: %s", out)
	case !strings.Contains(string(out), "--- PASS: "+t.Name()):
		t.Errorf("child with %v: the test did not run\n%s", env, out)
	}
	return false
}

// fake compiles testdata/fakecuda.c with the compiler of cgo, and returns the path of the library.
func fake(t *testing.T, flags ...string) string {
	t.Helper()
	if os.Getenv(child) != "" {
		return os.Getenv(Variable)
	}
	lib := filepath.Join(t.TempDir(), "libfake.so")
	build(t, lib, append(flags, "testdata/fakecuda.c")...)
	return lib
}

// build makes a library with the compiler of cgo.
func build(t *testing.T, lib string, args ...string) {
	t.Helper()
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "gcc"
	}
	if _, err := exec.LookPath(cc); err != nil {
		t.Skipf("no C compiler to build %s with: %v", lib, err)
	}
	args = append([]string{"-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", lib}, args...)
	if out, err := exec.CommandContext(t.Context(), cc, append(args, "-ldl")...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", cc, args, err, out)
	}
}

// withFake runs the calling test in a child process whose driver is the fake, with plans such as "cuInit=100".
func withFake(t *testing.T, plans ...string) bool {
	t.Helper()
	return withFlags(t, nil, plans...)
}

// withFlags is withFake of a fake that is compiled with flags. A plan for CUDA itself is an environment variable as it
// is.
func withFlags(t *testing.T, flags []string, plans ...string) bool {
	t.Helper()
	env := map[string]string{Variable: fake(t, flags...)}
	for _, p := range plans {
		name, v, _ := strings.Cut(p, "=")
		if !strings.HasPrefix(name, "CUDA_") {
			name = "FAKE_" + name
		}
		env[name] = v
	}
	return inChild(t, env)
}

// onThread opens the first device on a new thread and runs f there. f may end the test.
func onThread(t *testing.T, f func(d *Device)) {
	t.Helper()
	thread := NewThread()
	defer thread.Close()
	err := thread.Do(func() error {
		d, err := Open(0)
		if err != nil {
			return err
		}
		f(d)
		return nil
	})
	if err != nil && !t.Failed() {
		t.Error(err)
	}
}
