package slurmtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func nodeName(n int) string { return fmt.Sprintf("node%d", n) }

func (c *Cluster) startNode(node string) error {
	return c.keep(node, program("slurmd"), "-D", "-N", node, "-f", c.conf())
}

// StartNode starts the daemon of a node again, after KillNode or KillNodeWhole.
func (c *Cluster) StartNode(t testing.TB, node string) {
	t.Helper()
	if err := c.startNode(node); err != nil {
		t.Fatal(err)
	}
}

// KillNode kills the daemon of a node with SIGKILL, and nothing else: jobs go on, and so do their slurmstepd.
func (c *Cluster) KillNode(t testing.TB, node string) {
	t.Helper()
	for _, k := range c.keepersOf(t, node) {
		if err := k.killDaemon(); err != nil {
			t.Fatal(err)
		}
	}
}

// KillNodeWhole kills everything on a node at once, as when a machine loses power: the daemon, every slurmstepd and
// every process of a job, also one that has left its session.
func (c *Cluster) KillNodeWhole(t testing.TB, node string) {
	t.Helper()
	for _, k := range c.keepersOf(t, node) {
		if err := k.killAll(); err != nil {
			t.Fatal(err)
		}
		c.keepers = slices.DeleteFunc(c.keepers, func(other *keeper) bool { return other == k })
	}
}

// keepersOf returns the keepers of a node: one for each start of its daemon.
func (c *Cluster) keepersOf(t testing.TB, node string) []*keeper {
	t.Helper()
	var of []*keeper
	for _, k := range c.keepers {
		if k.name == node {
			of = append(of, k)
		}
	}
	if len(of) == 0 {
		t.Fatalf("slurmtest: %s: nothing of it runs, want a node that has been started", node)
	}
	return of
}

// WaitNode waits until a node is in a state, which is one of sinfo's short ones: idle, alloc, mix, comp, down, … A star
// behind it, for a node that does not answer, does not count.
func (c *Cluster) WaitNode(t testing.TB, node, state string, most time.Duration) {
	t.Helper()
	var got string
	c.Wait(t, most, func() (bool, string) {
		got = strings.TrimRight(strings.TrimSpace(c.Run(t, "sinfo", "-h", "-N", "-n", node, "-o", "%t")), "*")
		return got == state, fmt.Sprintf("%s is %q, want %q", node, got, state)
	})
}

// Wait waits until done, which also says what it sees. It fails the test after most.
func (c *Cluster) Wait(t testing.TB, most time.Duration, done func() (bool, string)) {
	t.Helper()
	for deadline := time.Now().Add(most); ; time.Sleep(100 * time.Millisecond) {
		ok, saw := done()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("slurmtest: after %v: %s\n%s", most, saw, c.Run(t, "squeue"))
		}
	}
}
