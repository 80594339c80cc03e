package slurmtest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/internal/longtest"
)

// submitTo submits a job that starts on one node, but may start again on another.
func submitTo(t *testing.T, c *Cluster, node string, script string, options ...string) string {
	t.Helper()
	others := strings.Join(slices.DeleteFunc(strings.Fields(c.Run(t, "sinfo", "-h", "-N", "-o", "%N")),
		func(other string) bool { return other == node }), ",")
	c.Run(t, "scontrol", "update", "nodename="+others, "state=drain", "reason=test")
	job := submit(t, c, script, options...)
	c.Wait(t, time.Minute, func() (bool, string) {
		got := c.Run(t, "squeue", "-h", "-j", job, "-o", "%T %N")
		return got == "RUNNING "+node+"\n", "job " + got
	})
	c.Run(t, "scontrol", "update", "nodename="+others, "state=resume")
	return job
}

// Two nodes are lost at the same time: node1's daemon dies, node2 loses power. The jobs of both start again on node3.
func TestKillNode(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{Nodes: 3, CPUs: 2})
	dir := t.TempDir()
	daemon, once, whole := filepath.Join(dir, "daemon"), filepath.Join(dir, "once"), filepath.Join(dir, "whole")
	daemonJob := submitTo(t, c, "node1", traced(t, daemon), "--requeue")
	onceJob := submitTo(t, c, "node1", traced(t, once), "--no-requeue")
	wholeJob := submitTo(t, c, "node2", traced(t, whole), "--requeue")
	for _, log := range []string{daemon, once, whole} {
		waitLines(t, c, log, time.Minute, each(first, "lives")...)
	}
	c.KillNode(t, "node1")
	c.KillNodeWhole(t, "node2")
	if left := living(pids(t, whole, first)); len(left) > 0 {
		t.Errorf("node2: processes %d live, want none", left)
	}
	c.WaitNode(t, "node1", "down", time.Minute)
	c.WaitNode(t, "node2", "down", time.Minute)
	for _, log := range []string{daemon, whole} {
		waitLines(t, c, log, time.Minute, append(each(second, "lives"), "script1 on node3")...)
	}
	// The old processes of node1 live beside the new ones.
	for _, log := range []string{daemon, once} {
		if all := pids(t, log, first); len(living(all)) != len(all) {
			t.Errorf("%s: processes %d live, want all of %d", log, living(all), all)
		}
	}
	c.StartNode(t, "node1")
	c.StartNode(t, "node2")
	// They are killed without a warning, if the job has started again; or else ended as by scancel.
	waitDead(t, c, pids(t, daemon, first))
	waitDead(t, c, pids(t, once, first))
	waitGone(t, c, onceJob)
	waitLines(t, c, once, time.Second, each(first, "TERM")...)
	for _, log := range []string{daemon, whole} {
		wantNever(t, log, append(each(first, "TERM"), each(second, "TERM")...)...)
	}
	c.WaitNode(t, "node1", "idle", time.Minute)
	c.WaitNode(t, "node2", "idle", time.Minute)
	c.Run(t, "scancel", daemonJob, wholeJob)
	waitDead(t, c, pids(t, daemon, second))
	waitDead(t, c, pids(t, whole, second))
}

// A node that loses power and is back before Slurm has missed it: its job starts again all the same.
func TestRestartNode(t *testing.T) {
	longtest.Only(t, "it waits until Slurm misses the job")
	t.Parallel()
	c := Start(t, Options{Nodes: 1, CPUs: 1})
	log := filepath.Join(t.TempDir(), "log")
	job := submit(t, c, traced(t, log), "--requeue")
	waitLines(t, c, log, time.Minute, each(first, "lives")...)
	c.KillNodeWhole(t, "node1")
	begin := time.Now()
	c.StartNode(t, "node1")
	waitLines(t, c, log, 2*time.Minute, each(second, "lives")...)
	t.Logf("the job has started again after %v", time.Since(begin))
	wantNever(t, log, each(first, "TERM")...)
	c.Run(t, "scancel", job)
	waitDead(t, c, pids(t, log, second))
}
