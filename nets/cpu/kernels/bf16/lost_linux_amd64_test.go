package bf16

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"rollcall/nets/cpu/kernels/bf16/permit"
)

// TestLost starts children that may not ask Linux for AMX, as in a container whose filter of system calls forbids or
// does not know the call. They must do without, and say why.
func TestLost(t *testing.T) {
	for _, c := range []struct {
		errno unix.Errno
		lost  string
	}{
		{unix.EPERM, "AMX: arch_prctl: operation not permitted"},
		{unix.ENOSYS, "AMX: arch_prctl: function not implemented"},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLostChild$", "-test.v")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", childErrno, int(c.errno)))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: child: %v\n%s", c.errno, err, out)
			continue
		}
		if bytes.Contains(out, []byte("SKIP")) {
			t.Skipf("%s", out)
		}
		for _, want := range []string{fmt.Sprintf("bf16: lost %q", c.lost), fmt.Sprintf("bf16x3: lost %q", c.lost)} {
			if !bytes.Contains(out, []byte(want)) {
				t.Errorf("%v: child wrote\n%s\nwant a line with %s", c.errno, out, want)
			}
		}
	}
}

// TestLostChild is the child of TestLost, and does nothing elsewhere.
func TestLostChild(t *testing.T) {
	number, err := strconv.Atoi(os.Getenv(childErrno))
	if err != nil {
		t.Skip("no child of TestLost")
	}
	x := &cpu.X86
	if !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512DQ || !x.HasAVX512VL || !x.HasAVX2 || !x.HasFMA || !x.HasBMI2 {
		t.Skip("the processor has no AVX-512")
	}
	// Make the processor look as if it had AMX, in all but the call, which is Linux's own.
	x.HasAMXTile, x.HasAMXBF16, x.HasAVX512BF16 = true, true, true
	permit.Pretend(func() uint64 { return permit.TileState }, nil)
	refuse(t, unix.Errno(number))
	modes(t, func(t *testing.T, split bool) {
		have := Variants(split)
		if last := have[len(have)-1].Name(); !strings.HasPrefix(last, "avx512") {
			t.Errorf("the fastest variant is %s, want one of AVX-512", last)
		}
		name := "bf16"
		if split {
			name = "bf16x3"
		}
		fmt.Printf("%s: lost %q\n", name, Lost())
	})
}

// refuse makes Linux answer the request for AMX with an error, on all threads of this process for good.
func refuse(t *testing.T, errno unix.Errno) {
	t.Helper()
	const (
		number, argument = 0, 16 // offsets in struct seccomp_data
		request          = 0x1023
	)
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	unless := func(value uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jf: skip}
	}
	answer := func(value uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value}
	}
	filter := []unix.SockFilter{
		load(number), unless(unix.SYS_ARCH_PRCTL, 3),
		load(argument), unless(request, 1), answer(unix.SECCOMP_RET_ERRNO | uint32(errno)),
		answer(unix.SECCOMP_RET_ALLOW),
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Skipf("SKIP: prctl: %v", err)
	}
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program))); e != 0 {
		t.Skipf("SKIP: seccomp: %v", e)
	}
}
