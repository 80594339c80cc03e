package slurmtest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/internal/must"
)

// submit hands Slurm a batch script, with options of sbatch, and returns the job's id. The script's output is lost.
func submit(t *testing.T, c *Cluster, script string, options ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "job.sh")
	must.OK(t, os.WriteFile(file, []byte("#!/bin/sh\n"+script), 0o700))
	args := append([]string{"--parsable", "--output=/dev/null"}, options...)
	return strings.TrimSpace(c.Run(t, "sbatch", append(args, file)...))
}

// lines returns the lines that the processes of jobs have added to a file.
func lines(file string) []string {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// waitLines waits until each of the lines is in a file.
func waitLines(t *testing.T, c *Cluster, file string, most time.Duration, want ...string) {
	t.Helper()
	c.Wait(t, most, func() (bool, string) {
		got := lines(file)
		for _, line := range want {
			if !slices.Contains(got, line) {
				return false, fmt.Sprintf("lines %q, want %q", got, line)
			}
		}
		return true, ""
	})
}

// waitGone waits until a job is finished.
func waitGone(t *testing.T, c *Cluster, job string) {
	t.Helper()
	c.Wait(t, time.Minute, func() (bool, string) {
		left := strings.Fields(c.Run(t, "squeue", "-h", "-o", "%F"))
		return !slices.Contains(left, job), fmt.Sprintf("jobs %q are left, want %s gone", left, job)
	})
}

func TestBatchJob(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{Nodes: 1, CPUs: 1})
	out := filepath.Join(t.TempDir(), "out")
	id := submit(t, c, "echo job $SLURM_JOB_ID on $SLURMD_NODENAME", "--output="+out)
	waitLines(t, c, out, time.Minute, "job "+id+" on node1")
}

// Four tasks run at the same time on two nodes of two GPUs, each with a GPU of its own.
func TestArrayAndGPUs(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{Nodes: 2, CPUs: 2, GPUs: 2})
	out := filepath.Join(t.TempDir(), "out")
	submit(t, c, `echo task $SLURM_ARRAY_TASK_ID >>`+out+`
		echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES >>`+out+`
		until [ $(wc -l <`+out+`) -ge 8 ]; do sleep 0.1; done
		echo task $SLURM_ARRAY_TASK_ID done >>`+out,
		"--array=0-3", "--ntasks=1", "--gres=gpu:1")
	waitLines(t, c, out, time.Minute,
		"node1 0", "node1 1", "node2 0", "node2 1", "task 0", "task 1", "task 2", "task 3",
		"task 0 done", "task 1 done", "task 2 done", "task 3 done")
}

// A port that another program has taken is no reason to fail: Start draws others.
func TestPortTaken(t *testing.T) {
	t.Parallel()
	Start(t, Options{Nodes: 1, CPUs: 1}) // skips without Slurm
	for taken := range 2 {
		ports := must.Get(freePorts(2))(t)
		l := must.Get(net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", ports[taken])))(t)
		defer l.Close()
		if _, err := start(t, Options{Nodes: 1, CPUs: 1}, ports); !errors.Is(err, errPortTaken) {
			t.Errorf("port %d of %d is taken: error %v, want %v", taken, len(ports), err, errPortTaken)
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
