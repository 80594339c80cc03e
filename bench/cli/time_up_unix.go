//go:build unix

package cli

import (
	"os"
	"syscall"
)

// TimeUp lists the signals that say that the time of a job is nearly up, and that the command is to be repeated:
//
//   - SIGUSR1: Slurm by --signal, Flux, and Grid Engine before a stop (-notify, s_rt).
//   - SIGUSR2: Grid Engine before a kill (-notify), LSF at its run limit, OAR before the end of a job, submitit.
//   - SIGXCPU: the system at the soft limit of processor time (ulimit -St, Grid Engine's s_cpu), LSF at its CPU limit,
//     Fujitsu's scheduler at the limit of a job.
//
// Without a handler, Go's runtime drops them. PBS, HTCondor, Kubernetes and clouds send SIGTERM, which gives no time
// but that of --grace. SIGTSTP and SIGQUIT are a terminal's, and SIGURG is the runtime's own.
//
// A command that was started with one of them ignored obeys it all the same: wrappers ignore it to outlive it, so that
// the command can end in good order.
var TimeUp = []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGXCPU}
