package slurmtest

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// submit hands Slurm a batch script, with options of sbatch, and returns the job's id. The script's output is lost.
func submit(t *testing.T, c *Cluster, script string, options ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "job.sh")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
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
		left := c.Run(t, "squeue", "-h", "-o", "%A %T")
		return !strings.Contains(left, job+" "), "jobs " + left
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
	waitLines(t, c, out, time.Minute, "task 0", "task 1", "task 2", "task 3", "node1 0", "node1 1", "node2 0", "node2 1",
		"task 0 done", "task 1 done", "task 2 done", "task 3 done")
}

// A port that another program has taken is no reason to fail: Start draws others.
func TestPortTaken(t *testing.T) {
	t.Parallel()
	Start(t, Options{Nodes: 1, CPUs: 1}) // skips without Slurm
	for taken := range 2 {
		ports, err := freePorts(2)
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", ports[taken]))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if _, err := start(t, Options{Nodes: 1, CPUs: 1}, ports); !errors.Is(err, errPortTaken) {
			t.Errorf("port %d of %d is taken: error %v, want %v", taken, len(ports), err, errPortTaken)
		}
	}
}

// A killed test leaves nothing behind: no daemon, no process of a job that has left its session and its parents, no file.
func TestKilledTest(t *testing.T) {
	t.Parallel()
	Start(t, Options{Nodes: 1, CPUs: 1}) // skips without Slurm
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledTestChild$")
	tmp := t.TempDir()
	cmd.Env = append(os.Environ(), childTmp+"="+tmp)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var dir string
	said := bufio.NewScanner(out)
	for dir == "" && said.Scan() {
		dir, _ = strings.CutPrefix(said.Text(), "the cluster is in ")
	}
	processes := below(cmd.Process.Pid)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if dir == "" || len(processes) < 6 {
		t.Fatalf("the killed test had processes %d in %q, want two keepers, two daemons, a step and two of a job, and a folder",
			processes, dir)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		alive := slices.DeleteFunc(slices.Clone(processes), func(pid int) bool { return !exists(fmt.Sprintf("/proc/%d", pid)) })
		if len(alive) == 0 && !exists(dir) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after a minute: of processes %d live %d, %s is there: %v; want nothing", processes, alive, dir, exists(dir))
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

const childTmp = "ROLLCALL_SLURMTEST_CHILD" // the folder of the test that will be killed

// The test that TestKilledTest kills.
func TestKilledTestChild(t *testing.T) {
	tmp := os.Getenv(childTmp)
	if tmp == "" {
		t.Skip("run by TestKilledTest")
	}
	t.Setenv("TMPDIR", tmp)
	c := Start(t, Options{Nodes: 1, CPUs: 1})
	out := filepath.Join(tmp, "out")
	submit(t, c, "(setsid sleep 300 & echo started >>"+out+")\nwait; sleep 300")
	waitLines(t, c, out, time.Minute, "started")
	fmt.Println("the cluster is in", c.dir)
	time.Sleep(time.Minute)
}
