//go:build unix

package remote

import (
	"os/exec"
	"syscall"
)

// ownGroup starts a child in a process group of its own. Ctrl-C, or the end of a terminal, then reaches this program
// alone, which ends the child in good order: Python, as long as it starts, would show a traceback.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// kill kills a child and, if it has a process group of its own, the processes that it has started there.
func kill(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil || !cmd.SysProcAttr.Setpgid {
		_ = cmd.Process.Kill() // an error: it has ended
		return
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // an error: all have ended
}
