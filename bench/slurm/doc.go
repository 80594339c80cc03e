// Package slurm submits the runs of a command to a Slurm cluster: it writes an array job whose task i trains --part i/n
// of the command on one output folder, submits it, and waits for it.
//
//	n := slurm.Tasks(slurm.Work{Runs: 288, All: 35 * 24 * time.Hour, Known: true, Cards: 1, AtOnce: 1})
//	job := slurm.Job{Name: "fedawe-2", Command: command, Parts: n, Tasks: left, Time: slurm.Limit(largest, true)}
//	script, err := job.Script()
//	id, err := slurm.Submit(ctx, folder, script, n, "")
//	err = slurm.Wait(ctx, []string{id}, time.Minute, func(t slurm.Tally) { log.Print(t.Text) })
//
// Slurm's queue is the only one: a part has the same runs whichever task trains it, and a task that ends before
// its part is finished returns to the queue.
package slurm
