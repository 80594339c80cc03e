//go:build gpu && linux && cgo

package gpu

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"rollcall/nets/gpu/emulator"
)

func TestMain(m *testing.M) {
	if os.Getenv("ROLLCALL_LIBCUDA") == "" && os.Getenv("ROLLCALL_TEST_GPU") != "1" {
		asan := os.Getenv("ROLLCALL_TEST_ASAN") == "1"
		library, err := emulator.Build("kernels", asan)
		if err == nil {
			env := emulator.Env(library, asan)
			env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
				return slices.ContainsFunc(env, func(w string) bool { return strings.SplitN(v, "=", 2)[0] == strings.SplitN(w, "=", 2)[0] })
			}), env...)
			err = syscall.Exec("/proc/self/exe", os.Args, env)
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
