//go:build unix

package main

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

// init makes the children of tests, on a cluster of a test's own, look at the queue more often.
func init() {
	if os.Getenv(asProgram) != "" {
		collectEvery = 300 * time.Millisecond
	}
}

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
		if strings.Contains(name, slurmFolder+string(filepath.Separator)) {
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
	logs, err := filepath.Glob(filepath.Join(out, "*", slurmFolder, "*.log"))
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

// stretch is a part of a run that one task has made: the round from which it went on, and the last one in its log.
type stretch struct{ from, to int }

// stretches returns the parts of each run by the name of its cell, such as mifa_leaf_sine, in the order of the rounds.
func stretches(logs string) map[string][]stretch {
	of := map[string][]stretch{}
	goesOn := regexp.MustCompile(`/([^/]*_[^/]*)_[0-9a-f]+/seed-3: goes on from round (\d+)$`)
	round := regexp.MustCompile(`^\[\d+/\d+\] (.*) seed 3: round (\d+)/`)
	number := func(text string) int {
		n, _ := strconv.Atoi(text) // digits
		return n
	}
	for line := range strings.Lines(logs) {
		line = strings.TrimSuffix(line, "\n")
		if m := goesOn.FindStringSubmatch(line); m != nil {
			of[m[1]] = append(of[m[1]], stretch{number(m[2]), number(m[2])})
		} else if m := round.FindStringSubmatch(line); m != nil {
			name, at := strings.ReplaceAll(m[1], " ", "_"), number(m[2])
			if at == 0 {
				of[name] = append(of[name], stretch{})
			}
			of[name][len(of[name])-1].to = at
		}
	}
	for _, list := range of {
		slices.SortFunc(list, func(a, b stretch) int { return a.from - b.from })
	}
	return of
}

// complainer is the part of a test that nothingTwice needs.
type complainer interface {
	Helper()
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// complaints counts what is complained of.
type complaints struct{ n int }

func (*complaints) Helper()                 {}
func (c *complaints) Errorf(string, ...any) { c.n++ }
func (*complaints) Logf(string, ...any)     {}

// nothingTwice checks by the logs of tasks that no run was trained twice: each stretch of a run begins where the one
// before it ended, or later, as the log lacks rounds. Of a run that was killed it may begin at the checkpoint that was
// there, whose round killed has by the run's folder.
func nothingTwice(t complainer, logs string, runs int, killed map[string]int) {
	t.Helper()
	of := stretches(logs)
	if len(of) != runs {
		t.Errorf("%d runs in the logs, want %d:\n%s", len(of), runs, logs)
	}
	for name, list := range of {
		if list[0].from != 0 {
			t.Errorf("%s: %v, want a beginning at round 0", name, list)
		}
		for i, next := range list[1:] {
			least := list[i].to
			for dir, round := range killed {
				if strings.HasPrefix(filepath.Base(filepath.Dir(dir)), name+"_") {
					least = min(least, round)
				}
			}
			if next.from < least {
				t.Errorf("%s: %v, want nothing trained twice (checkpoints at the kill: %v)", name, list, killed)
			}
		}
		if len(list) > 1 {
			t.Logf("%s in %d stretches: %v", name, len(list), list)
		}
	}
}

// A log in which a run was trained twice is found.
func TestNothingTwice(t *testing.T) {
	const log = `== 1_1.log
[1/2] mifa leaf sine seed 3: round 0/100, 0 active
[1/2] mifa leaf sine seed 3: round 40/100, 2 active
/out/sweep/mifa_leaf_sine_0a1b/seed-3: goes on from round 43
[1/2] mifa leaf sine seed 3: round 60/100, 2 active
== 1_2.log
/out/sweep/mifa_leaf_sine_0a1b/seed-3: goes on from round 70
[1/2] mifa leaf sine seed 3: round 100/100, 2 active
`
	at58 := map[string]int{"/out/sweep/mifa_leaf_sine_0a1b/seed-3": 58}
	for _, c := range []struct {
		old, changed string
		killed       map[string]int
		fails        bool
	}{
		{"", "", nil, false},
		{"round 70", "round 59", nil, true},
		{"round 70", "round 59", at58, false},
		{"round 70", "round 57", at58, true},
		{
			"/out/sweep/mifa_leaf_sine_0a1b/seed-3: goes on from round 43", "[1/2] mifa leaf sine seed 3: round 0/100",
			nil, true,
		},
	} {
		var found complaints
		text := strings.Replace(log, c.old, c.changed, 1)
		if nothingTwice(&found, text, 1, c.killed); (found.n > 0) != c.fails {
			t.Errorf("%d complaints, want some: %t, for\n%s", found.n, c.fails, text)
		}
	}
}

// A sweep is submitted as an array job of a real Slurm, a task is requeued, and the tasks leave the bytes of one
// process. --collect waits and prints the table.
func TestSlurm(t *testing.T) {
	ofProcesses(t)
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 2, CPUs: 1})
	alone, out := t.TempDir(), filepath.Join(t.TempDir(), "it's 100% out")
	line := func(out string, more ...string) []string {
		return slurmSweep(out, 60000, "mifa,fedawe", "sine,stationary", more...)
	}
	one := pass(t, line(alone, "--pack", "2")...)
	submitted := onCluster(t, c, line(out, "--slurm", "--tasks", "3", "--time", "5", "--collect")...)
	submitted.until(t, " RUNNING")
	job := strings.TrimSpace(contents(t, filepath.Join(out, "sweep", slurmFolder, "jobs")))
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
	nothingTwice(t, tasks, 4, nil)
	if !strings.Contains(tasks, "goes on from round ") {
		t.Errorf("want a run that went on after the requeue:\n%s", tasks)
	}
	t.Run("nothing is left", func(t *testing.T) {
		again := onCluster(t, c, line(out, "--slurm")...)
		if log := again.end(t, statusOK); !strings.Contains(log, "nothing is left to do: no job\n") {
			t.Errorf("%s\nwant that there is no job", log)
		}
	})
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
	submitted := onCluster(t, c, line(out, "--slurm", "--tasks", "4", "--time", "1")...)
	submitted.end(t, statusOK)
	job := strings.TrimSpace(contents(t, filepath.Join(out, "sweep", slurmFolder, "jobs")))
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
	c.KillNode(t, "node1") // whose task lives on, and goes on with its run
	c.WaitNode(t, "node1", "down", patience)
	c.StartNode(t, "node1")
	t.Logf("killed the daemon of node1 and started it again after %v", time.Since(began))
	running(1)
	c.KillNodeWhole(t, "node2")
	killed := checkpointed(t, out)
	t.Logf("killed node2 after %v", time.Since(began))
	c.WaitNode(t, "node2", "down", patience)
	c.StartNode(t, "node2")
	log := collected.end(t, statusOK)
	t.Logf("ended after %v", time.Since(began))
	sameTree(t, "by tasks", withoutSlurm(timelessTree(t, out)), timelessTree(t, alone))
	tasks := taskLogs(t, out)
	nothingTwice(t, tasks, 16, killed)
	if !strings.Contains(tasks, "rollcall: time is up: the command goes on when it is repeated\n") {
		t.Errorf("want a task whose time was up:\n%s", tasks)
	}
	if states := slices.Compact(slices.Sorted(slices.Values(regexp.MustCompile(`PENDING \([^)]*\)|RUNNING`).
		FindAllString(log, -1)))); !slices.Contains(states, "RUNNING") {
		t.Errorf("%q, want that tasks were running:\n%s", states, log)
	}
}
