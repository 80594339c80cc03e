//go:build unix

package cli

import (
	"os"
	"syscall"
)

// TimeUp lists the signals that say that the time of a job is nearly up, and that the command is to be repeated.
var TimeUp = []os.Signal{syscall.SIGUSR1}
