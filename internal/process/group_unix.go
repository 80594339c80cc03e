//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// OwnGroup starts a child in a process group of its own. Ctrl-C, or the end of a terminal, then reaches this program
// alone, which ends the child in good order: Python, as long as it starts, would show a traceback.
func OwnGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Kill kills a child that was started and, if it has a process group of its own, the processes that it has started
// there.
func Kill(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil || !cmd.SysProcAttr.Setpgid {
		_ = cmd.Process.Kill() // an error: it has ended
		return
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // an error: all have ended
}
