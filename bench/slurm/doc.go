// Package slurm submits the runs of a command to a Slurm cluster: it writes an array job whose task i trains --part i/n
// of the command on one output folder, submits it, and waits for it.
//
// Slurm's queue is the only one: a part always has the same runs, and a task that ends before its part is finished
// goes back into the queue. job.go writes the batch script, size.go says how many parts there are and for how long, and
// submit.go talks to Slurm through sbatch and squeue.
package slurm
