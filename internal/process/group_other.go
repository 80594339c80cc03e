//go:build !unix

package process

import "os/exec"

// OwnGroup does nothing: this system has no process groups as Unix has them.
func OwnGroup(*exec.Cmd) {}

// Kill kills a child that was started.
func Kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // an error: it has ended
