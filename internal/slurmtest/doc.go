// Package slurmtest starts a real Slurm on this machine, for tests of what is submitted to one.
//
// A cluster is a slurmctld and a slurmd for each node, all under the user of the test, on ports of the loopback device
// and in a folder of their own: two tests may have one each at the same time. It has no munge and no database. It
// believes whoever says who he is, so everyone on this machine can run programs as the user of the test while it lives.
//
// Every daemon is the child of a keeper (keeper_linux.go), which is the test's program started once more. The keeper
// adopts what the daemon leaves behind, and kills all of it when the test says so or is dead.
//
// # What Slurm does to a batch job
//
// This was seen with Slurm 22.05.8, and this package's tests see most of it again. Times are those of the cluster's
// configuration (KillWait 5 s, credentials of 5 s, SlurmdTimeout 5 s); a real one has rather 30 s, 120 s and 300 s.
//
// Signals. At scancel, at scontrol requeue and at the time limit, SIGCONT and SIGTERM go to all processes at once: the
// batch script, its children, and children in sessions of their own. SIGKILL goes to those that live after KillWait.
// scancel --signal=USR1 goes to nobody but processes of srun; with --batch, to the batch script alone.
//
// The time limit. Slurm looks twice a minute which jobs are near their limit. With --signal=B:USR1@30 the batch script
// alone gets one SIGUSR1, and a SIGCONT just before or after it, at the first look with less than 30 s + 30 s left;
// Slurm's manual says up to 60 s early. Only a job that starts with less than 30 s left gets it later than 30 s before
// the limit. SIGTERM comes with the first look after the limit. Without the B, a job that does not use srun gets no
// warning at all.
//
// Traps. bash 5.2 loses trapped signals that come together while it waits for a child with wait: the last one counts.
// With traps for USR1 and CONT it lost 154 warnings of 200, with one for USR1 alone none of 400; of USR1 and TERM
// together, it lost USR1. A script should trap USR1 and nothing else if it can. dash lost none.
//
// Requeue. scontrol requeue in the trap of USR1 works. It returns at once, and SIGTERM comes while it still runs: the
// trap goes on until SIGKILL. The job starts again, under the same SLURM_JOB_ID and with SLURM_RESTART_COUNT=1 (not set
// at first), when all processes that Slurm knows of are dead and the credential has expired: after 11 s if the script
// ignores SIGTERM, after 7 s if it ends. What it exits with does not matter then.
//
// Arrays. A task requeues itself as ${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}, and no other. The SLURM_JOB_ID of the
// task that is last to start is the array's: scontrol requeue of it requeues all tasks.
//
// What is left behind. Without cgroups Slurm kills only what descends from the batch script. Once the script has ended,
// or has died of SIGTERM, its children live on, and so does a process in a session of its own whose parents are dead. A
// script should end with exec, or wait for its child in spite of SIGTERM.
//
// Lost nodes. A node whose daemon is dead is down after 16 s. Its jobs start again elsewhere when the credential has
// expired, 6 s later, or end as NODE_FAIL with --no-requeue. If the daemon alone is dead, the old processes live on
// beside the new ones. When it is back, they get SIGKILL without a warning if the job has been requeued, and else the
// signals of scancel. A node that loses power and is back at once: its jobs are missed, and start again after 26 s.
//
// GPUs. Two jobs on a node that ask for one GPU each have different CUDA_VISIBLE_DEVICES.
package slurmtest
