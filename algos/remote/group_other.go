//go:build !unix

package remote

import "os/exec"

// ownGroup does nothing: this system has no process groups as Unix has them.
func ownGroup(*exec.Cmd) {}

// kill kills a child.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // an error: it has ended
