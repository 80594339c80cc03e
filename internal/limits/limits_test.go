//go:build gpu && linux && cgo

package limits

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"rollcall/internal/must"
)

// Under a limit that is too low, or is none, the program, here the one of this test, ends in one line with status 1.
func TestLimits(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	// The limit of processes does not hold for root, and another user has to be able to read the program.
	dir := t.TempDir()
	must.OK(t, os.Chmod(filepath.Dir(dir), 0o755))
	must.OK(t, os.Chmod(dir, 0o755))
	program := filepath.Join(dir, "program")
	must.OK(t, os.WriteFile(program, must.Get(os.ReadFile(os.Args[0]))(t), 0o755))
	for _, c := range []struct{ limit, want string }{ // want "": it starts
		{"ulimit -v 120000", "rollcall: ulimit -v 120000: too low for the program to start, want 1750000 or more"},
		{"ulimit -v 400000", "rollcall: ulimit -v 400000: too low"},
		{"ulimit -v 1300000", "rollcall: ulimit -v 1300000: too low"},
		{"ulimit -v 1749999", "rollcall: ulimit -v 1749999: too low"},
		{"ulimit -v 1750000", ""},
		{"ulimit -v 8000000", ""},
		{"ulimit -u 1", "rollcall: only 1 of the 7 threads that a start needs: the limit of processes"},
		{"ulimit -u 4", "rollcall: only 4 of the 7 threads"},
		{"ulimit -u 6", "rollcall: only 6 of the 7 threads"},
		{"ulimit -u 200", ""},
		{"ulimit -n 7", "rollcall: only 4 files can be opened, want 6 or more: the limit of open files (ulimit -n)"},
		{"ulimit -n 20", ""},
		{"export GOMEMLIMIT=1GB", "rollcall: GOMEMLIMIT=1GB: want a whole number of bytes, with nothing, B, KiB, MiB"},
		{"export GOMEMLIMIT=abc", "rollcall: GOMEMLIMIT=abc: want"},
		{"export GOMEMLIMIT=-1", "rollcall: GOMEMLIMIT=-1: want"},
		{"export GOMEMLIMIT=' 1'", "rollcall: GOMEMLIMIT= 1: want"},
		{"export GOMEMLIMIT=$'1\\n2'", "rollcall: GOMEMLIMIT=1?2: want"},
		{"export GOMEMLIMIT=OFF", "rollcall: GOMEMLIMIT=OFF: want"},
		{"export GOMEMLIMIT=KiB", "rollcall: GOMEMLIMIT=KiB: want"},
		{"export GOMEMLIMIT=1iB", "rollcall: GOMEMLIMIT=1iB: want"},
		{"export GOMEMLIMIT=1GiBB", "rollcall: GOMEMLIMIT=1GiBB: want"},
		{"export GOMEMLIMIT=9223372036854775808", "rollcall: GOMEMLIMIT=9223372036854775808: want"},
		{"export GOMEMLIMIT=8388608TiB", "rollcall: GOMEMLIMIT=8388608TiB: want"}, // 2^63
		{"export GOMEMLIMIT=8388607TiB", ""},
		{"export GOMEMLIMIT=9223372036854775807B", ""},
		{"export GOMEMLIMIT=+900MiB", ""},
		{"export GOMEMLIMIT=4000000KiB", ""},
		{"export GOMEMLIMIT=2GiB", ""},
		{"export GOMEMLIMIT=off", ""},
		{"export GOMEMLIMIT=", ""},
		{":", ""},
	} {
		cmd := exec.CommandContext(t.Context(), bash, "-c", c.limit+` && exec "$0" -test.run "^$"`, program)
		cmd.Dir = dir
		if os.Getuid() == 0 && strings.HasPrefix(c.limit, "ulimit -u") {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 61234, Gid: 61234}}
		} else if strings.HasPrefix(c.limit, "ulimit -u") {
			continue // who has other processes may not start another one at all
		}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		err := cmd.Run()
		said, status := stderr.String(), cmd.ProcessState.ExitCode()
		if c.want == "" && status == 0 {
			continue
		}
		if c.want == "" || status != 1 || !strings.HasPrefix(said, c.want) || strings.Count(said, "\n") != 1 {
			t.Errorf("%s: %v, %q, want %q and status 1, or a start for none", c.limit, err, said, c.want)
		}
	}
}
