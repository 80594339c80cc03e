//go:build unix

package remote

import (
	"os/exec"
	"syscall"
)

// ownGroup starts a child in a process group of its own. Ctrl-C, or the end of a terminal, then reaches this program
// alone, which ends the child in good order: Python, as long as it starts, would show a traceback.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
