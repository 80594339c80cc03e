//go:build gpu && linux && cgo

package e2e

import (
	"bufio"
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/internal/must"
	"rollcall/nets/gpu/gputest"
)

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
