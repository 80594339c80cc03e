// Package slurmtest starts a real Slurm on this machine, for tests of what is submitted to one:
//
//	c := slurmtest.Start(t, slurmtest.Options{Nodes: 2, CPUs: 1}) // skips the test where there is no Slurm
//	job := strings.TrimSpace(c.Run(t, "sbatch", "--parsable", "job.sh"))
//	c.Run(t, "scontrol", "requeue", job)
//	c.KillNodeWhole(t, "node2")
//	c.WaitNode(t, "node2", "down", time.Minute)
//	c.StartNode(t, "node2")
//
// The daemons run as the user of the test, on ports of the loopback device. There is no munge and no database: whoever
// is on this machine can run programs as the user of the test while the cluster lives.
//
// What Slurm 22.05 does to a batch job, which bench/slurm relies on:
//
//   - At scancel, scontrol requeue and the time limit, SIGTERM goes to all processes of the job at once, and SIGKILL
//     after KillWait to those that live. Without cgroups, children of a batch script that has ended live on.
//   - With --signal=B:USR1@30 the batch script alone gets SIGUSR1, up to a minute before the limit.
//   - bash loses one of two trapped signals that come together while it waits for a child. Of USR1 and TERM it lost
//     USR1; of USR1 and CONT, which Slurm sends with it, most of the USR1.
//   - A requeued job starts again under the same SLURM_JOB_ID when its processes are dead. A task of an array requeues
//     itself as ${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}: the SLURM_JOB_ID of the last task is the whole array's.
//   - The jobs of a node whose daemon alone is dead start again elsewhere, while the old processes live on.
package slurmtest
