// Package slurm spreads the runs of a command over the nodes of a Slurm cluster: it writes an array job whose tasks all
// run the same command on one output folder, submits it, and waits for it.
//
// The tasks divide the runs among themselves by the claims of package claim, so that none of them has runs of its own:
// whichever task is at work makes the next run that nobody has, and a task that starts late has little to do. job.go
// writes the batch script, size.go says how many tasks there are and for how long, and submit.go talks to Slurm through
// sbatch and squeue.
package slurm
