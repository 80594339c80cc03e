//go:build unix

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/internal/slurmtest"
)

// slurmSweep are the arguments of a sweep of cells with a run each, which takes seconds.
func slurmSweep(out string, rounds int, methods, processes string, more ...string) []string {
	return append([]string{
		"sweep", "--methods", methods, "--availability", processes, "--data", "leaf", "--clients", "5",
		"--local-steps", "2", "--batch", "8", "--rounds", fmt.Sprint(rounds), "--eval-every", fmt.Sprint(rounds / 20),
		"--checkpoint-every", "200ms", "--device", "cpu", "--threads", "1", "--out", out,
	}, more...)
}

// onCluster is a command on a machine of a cluster.
func onCluster(t *testing.T, c *slurmtest.Cluster, args ...string) *child {
	t.Helper()
	return startChild(t, strings.Join(c.Env(), ""), args...)
}

// withoutSlurm drops the files of jobs.
func withoutSlurm(tree map[string]string) map[string]string {
	for name := range tree {
		if strings.Contains(name, "slurm"+string(filepath.Separator)) {
			delete(tree, name)
		}
	}
	return tree
}

// withoutPaths drops the last line of what a table prints: its path.
func withoutPaths(table string) string {
	return regexp.MustCompile(`(?m)^/.*\n`).ReplaceAllString(table, "")
}

// taskLogs returns what the tasks of all jobs have said.
func taskLogs(t *testing.T, out string) string {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(out, "*", "slurm", "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("%q, %v, want the logs of tasks", logs, err)
	}
	var all strings.Builder
	for _, path := range logs {
		fmt.Fprintf(&all, "== %s\n%s\n", filepath.Base(path), contents(t, path))
	}
	return all.String()
}

// checkpointed returns the round of the newest checkpoint of each run, by its folder.
func checkpointed(t *testing.T, out string) map[string]int {
	t.Helper()
	rounds := map[string]int{}
	found := must.Get(filepath.Glob(filepath.Join(out, "*", "*", "seed-*", "checkpoint-*.safetensors")))(t)
	for _, path := range found {
		text := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "checkpoint-"), ".safetensors")
		round := must.Get(strconv.Atoi(text))(t)
		rounds[filepath.Dir(path)] = max(rounds[filepath.Dir(path)], round)
	}
	return rounds
}

// A sweep is submitted as an array job of a real Slurm, a task is requeued, and the tasks leave the bytes of one
// process. --collect waits and prints the table. Repeated, --slurm submits the tasks that have something left to do.
func TestSlurm(t *testing.T) {
	ofProcesses(t)
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 2, CPUs: 1})
	alone, out := t.TempDir(), filepath.Join(t.TempDir(), "it's 100% out")
	line := func(out string, more ...string) []string {
		return slurmSweep(out, 60000, "mifa,fedawe", "sine,stationary", more...)
	}
	one := pass(t, line(alone, "--pack", "2")...)
	noted := filepath.Join(out, "sweep", "slurm", "jobs")
	submitted := onCluster(t, c, line(out, "--slurm", "--tasks", "3", "--time", "5", "--collect", "--prologue",
		`echo "prologue of $SLURM_ARRAY_TASK_ID"`)...)
	submitted.until(t, " RUNNING")
	job, parts, _ := strings.Cut(strings.TrimSpace(contents(t, noted)), " ")
	if parts != "3" {
		t.Errorf("%s noted as of %q parts, want 3", job, parts)
	}
	c.Wait(t, patience, func() (bool, string) {
		at := checkpointed(t, out)
		return len(at) == 2, fmt.Sprint("checkpoints of ", len(at), " runs, want one of each node's")
	})
	c.Run(t, "scontrol", "requeue", job+"_1")
	log := submitted.end(t, statusOK)
	if got, want := withoutPaths(submitted.stdout.String()), withoutPaths(one.stdout); !strings.HasSuffix(got, want) ||
		!strings.HasPrefix(got, "job "+job+": 3 tasks for 4 runs; logs in ") {
		t.Errorf("stdout %q, want the number of the job and the table of one process:\n%s\n%s", got, want, log)
	}
	sameTree(t, "by tasks", withoutSlurm(timelessTree(t, out)), timelessTree(t, alone))
	tasks := taskLogs(t, out)
	if runs := slices.Sorted(slices.Values(begun(tasks))); len(runs) != 4 || len(slices.Compact(runs)) != 4 {
		t.Errorf("begun %q, want four runs, each once", runs)
	}
	if !strings.Contains(tasks, "prologue of 3\n") || !strings.Contains(tasks, "resumes from round ") {
		t.Errorf("want a run that went on after the requeue:\n%s", tasks)
	}
	t.Run("nothing is left", func(t *testing.T) {
		again := onCluster(t, c, line(out, "--slurm")...)
		if log := again.end(t, statusOK); !strings.Contains(log, "nothing is left to do: no job\n") {
			t.Errorf("%s\nwant that there is no job", log)
		}
	})
	t.Run("one part is left", func(t *testing.T) {
		must.OK(t, os.RemoveAll(seedFolders(t, out)[1]))
		more := onCluster(t, c, line(out, "--slurm", "--collect", "--time", "5")...)
		log := more.end(t, statusOK)
		script := contents(t, filepath.Join(out, "sweep", "slurm", "job.sh"))
		if !strings.Contains(more.stdout.String(), ": 1 task for 1 run; logs in ") ||
			!strings.Contains(log, "slurm: 3 parts as in job "+job) ||
			!strings.Contains(script, "\n#SBATCH --array=2\n") {
			t.Errorf("%s%s\n%s\nwant part 2 of 3 alone", more.stdout.String(), log, script)
		}
		sameTree(t, "again", withoutSlurm(timelessTree(t, out)), timelessTree(t, alone))
	})
}

// A tuning is an array job for each rung on a real Slurm, each after the one before, and finds what one process finds.
func TestSlurmTune(t *testing.T) {
	ofProcesses(t)
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 2, CPUs: 1})
	alone, out := t.TempDir(), t.TempDir()
	line := func(out string, more ...string) []string {
		more = append(more, "--methods", "fedawe,mifa", "--availability", "sine", "--threads", "1")
		return tuneOf(out, tuneGrid, more...)
	}
	one := pass(t, line(alone)...)
	submitted := onCluster(t, c, line(out, "--slurm", "--tasks", "2", "--time", "5")...)
	submitted.end(t, statusOK)
	said := submitted.stdout.String()
	for _, want := range []string{"12 runs of rung-1; logs", "6 runs of rung-2; logs", "4 runs of rung-3; logs"} {
		if !strings.Contains(said, ": 2 tasks for "+want) {
			t.Errorf("%s\nwant 2 tasks for %s", said, want)
		}
	}
	collected := onCluster(t, c, line(out, "--collect")...)
	log := collected.end(t, statusOK)
	if got := trialsAndRates(t, out); got != trialsAndRates(t, alone) {
		t.Errorf("on Slurm:\n%s\nwant\n%s\n%s", got, trialsAndRates(t, alone), log)
	}
	if got, want := withoutPaths(collected.stdout.String()), withoutPaths(one.stdout); got != want {
		t.Errorf("collected\n%s\nwant\n%s", got, want)
	}
	sameTree(t, "on Slurm", withoutSlurm(timelessTree(t, out)), timelessTree(t, alone))
	again := onCluster(t, c, line(out, "--slurm")...)
	if log := again.end(t, statusOK); !strings.Contains(log, "nothing is left to do: no job\n") {
		t.Errorf("%s\nwant that there is no job", log)
	}
}

// Sixteen cells on two nodes survive a requeue, the death of a node's daemon, the death of a whole node, and limits of
// time, and end with the bytes of one process.
func TestSlurmAttacks(t *testing.T) {
	longtest.Only(t, "minutes on a cluster")
	ofProcesses(t)
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 2, CPUs: 1})
	alone, out := t.TempDir(), t.TempDir()
	const methods, processes = "mifa,fedawe,fedavg-active,fedau", "sine,stationary,staircase,interleaved-sine"
	// Sixteen runs of ten seconds, on whatever machine, are more than a minute for two nodes: the limit of a task.
	const some = 2000
	began := time.Now()
	pass(t, slurmSweep(t.TempDir(), some, methods, processes)...)
	rounds := int(some*16*10*time.Second/time.Since(began)) / 20 * 20
	line := func(out string, more ...string) []string { return slurmSweep(out, rounds, methods, processes, more...) }
	began = time.Now()
	pass(t, line(alone, "--pack", "2")...)
	t.Logf("two at a time took %v", time.Since(began))
	submitted := onCluster(t, c, line(out, "--slurm", "--tasks", "3", "--time", "1")...)
	submitted.end(t, statusOK)
	job, _, _ := strings.Cut(contents(t, filepath.Join(out, "sweep", "slurm", "jobs")), " ")
	collected := onCluster(t, c, line(out, "--collect")...)
	// running waits until both nodes have a task that has written a checkpoint since, and returns its folder's tasks.
	running := func(n int) (tasks []string) {
		t.Helper()
		before := checkpointed(t, out)
		c.Wait(t, patience, func() (bool, string) {
			tasks = strings.Fields(c.Run(t, "squeue", "-h", "-r", "-t", "RUNNING", "-j", job, "-o", "%i"))
			grown := 0
			for dir, round := range checkpointed(t, out) {
				if round > before[dir] {
					grown++
				}
			}
			return len(tasks) >= n && grown >= 1, fmt.Sprintf("%d tasks are running, %d runs grow", len(tasks), grown)
		})
		return tasks
	}
	c.Run(t, "scontrol", "requeue", running(2)[0])
	t.Logf("requeued after %v", time.Since(began))
	running(1)
	c.KillNode(t, "node1") // whose task lives on, and makes its part
	c.WaitNode(t, "node1", "down", patience)
	c.StartNode(t, "node1")
	t.Logf("killed the daemon of node1 and started it again after %v", time.Since(began))
	running(1)
	c.KillNodeWhole(t, "node2")
	t.Logf("killed node2 after %v", time.Since(began))
	c.WaitNode(t, "node2", "down", patience)
	c.StartNode(t, "node2")
	log := collected.end(t, statusOK)
	t.Logf("ended after %v", time.Since(began))
	sameTree(t, "by tasks", withoutSlurm(timelessTree(t, out)), timelessTree(t, alone))
	tasks := taskLogs(t, out)
	if !strings.Contains(tasks, "rollcall: time is up: repeat the command to resume\n") {
		t.Errorf("want a task whose time was up:\n%s", tasks)
	}
	if states := slices.Compact(slices.Sorted(slices.Values(regexp.MustCompile(`PENDING \([^)]*\)|RUNNING`).
		FindAllString(log, -1)))); !slices.Contains(states, "RUNNING") {
		t.Errorf("%q, want that tasks were running:\n%s", states, log)
	}
}
