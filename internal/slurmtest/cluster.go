package slurmtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Options is the size of a cluster.
type Options struct {
	Nodes int // node daemons, at least 1; the nodes are node1, node2, …
	CPUs  int // of each node, at least 1; may be more than this machine has
	GPUs  int // of each node, 0 for none; they are symlinks to /dev/null
}

// A Cluster is a running Slurm.
type Cluster struct {
	dir     string // configuration, spools, states and logs; short, because it is in the paths of Unix sockets
	keepers []*keeper
}

// attempts is how often Start draws ports: another program may take one between the draw and the daemon's start.
const attempts = 5

// Start starts a cluster and returns when all its nodes are idle. It skips the test where there is no Slurm. At the end
// of the test every daemon dies, and every process of a job. If the test has failed, it shows the daemons' logs.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	if o.Nodes < 1 || o.CPUs < 1 || o.GPUs < 0 {
		t.Fatalf("slurmtest: options: %+v, want Nodes and CPUs of at least 1, GPUs of at least 0", o)
	}
	if why := missing(); why != "" {
		t.Skip("no Slurm for tests: " + why)
	}
	// Jobs write to the test's folder: it has to be removed after they are dead, so it has to exist before the cluster.
	t.TempDir()
	for attempt := 1; ; attempt++ {
		c, err := start(t, o)
		if err == nil {
			return c
		}
		if !errors.Is(err, errPortTaken) || attempt == attempts {
			t.Fatal(err)
		}
	}
}

// missing says what a cluster lacks on this machine, or nothing.
func missing() string {
	if !canKeep {
		return "it needs Linux"
	}
	for _, name := range []string{"slurmctld", "slurmd", "sbatch", "squeue", "sinfo", "scontrol"} {
		if program(name) == name {
			return "no " + name + " (Debian: apt-get install slurmctld slurmd slurm-client)"
		}
	}
	return ""
}

// program returns the path of a program of Slurm, or its name if there is none. The daemons are in /usr/sbin, which is
// not in everybody's PATH.
func program(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	if path, err := exec.LookPath("/usr/sbin/" + name); err == nil {
		return path
	}
	return name
}

// errPortTaken is the failure that other ports may cure.
var errPortTaken = errors.New("a port is taken")

// start starts a cluster on ports that are free now. It leaves nothing behind if it fails.
func start(t testing.TB, o Options) (*Cluster, error) {
	dir, err := os.MkdirTemp("/tmp", "slurm")
	if err != nil {
		return nil, fmt.Errorf("slurmtest: %w", err)
	}
	c := &Cluster{dir: dir}
	if err = writeConfig(dir, o); err == nil {
		err = c.keep("slurmctld", program("slurmctld"), "-D", "-f", c.conf())
	}
	for n := 1; n <= o.Nodes && err == nil; n++ {
		err = c.startNode(nodeName(n))
	}
	if err == nil {
		err = c.waitStart(o)
	}
	if err != nil {
		logs := c.logs()
		c.stop(t)
		if strings.Contains(logs, "Address already in use") {
			err = errPortTaken
		}
		return nil, fmt.Errorf("slurmtest: start in %s: %w\n%s", dir, err, logs)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.logs())
		}
		c.stop(t)
	})
	return c, nil
}

// waitStart waits until all nodes are idle.
func (c *Cluster) waitStart(o Options) error {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		for _, k := range c.keepers {
			if k.daemonDead() {
				return fmt.Errorf("%s has died", k.name)
			}
		}
		out, err := c.run("sinfo", "-h", "-N", "-o", "%N %t")
		if err == nil && strings.Count(out, " idle\n") == o.Nodes {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after a minute: nodes %q, want all idle", out)
		}
	}
}

// stop kills everything of the cluster and removes its folder.
func (c *Cluster) stop(t testing.TB) {
	for _, k := range c.keepers {
		k.close()
	}
	for _, k := range c.keepers {
		if err := k.wait(); err != nil {
			t.Error(err)
		}
	}
	if err := os.RemoveAll(c.dir); err != nil {
		t.Errorf("slurmtest: stop: %v", err)
	}
}

func (c *Cluster) conf() string { return filepath.Join(c.dir, "slurm.conf") }

// Env returns what Slurm's programs need in the environment to talk to this cluster.
func (c *Cluster) Env() []string { return []string{"SLURM_CONF=" + c.conf()} }

// Run runs a program of Slurm on this cluster and returns what it writes to stdout. It fails the test if it fails.
func (c *Cluster) Run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := c.run(name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (c *Cluster) run(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, program(name), args...)
	cmd.Env = append(os.Environ(), c.Env()...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("slurmtest: %s %q: %w\n%s", name, args, err, stderr.String())
	}
	return stdout.String(), nil
}

// keep starts a daemon under a keeper.
func (c *Cluster) keep(name string, args ...string) error {
	k, err := newKeeper(c.dir, name, args)
	if err == nil {
		c.keepers = append(c.keepers, k)
	}
	return err
}

// logs returns what the daemons have written, the end of it if it is long.
func (c *Cluster) logs() string {
	const most = 20000 // bytes of each log
	var all strings.Builder
	files, _ := filepath.Glob(filepath.Join(c.dir, "*.log"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			text = []byte(err.Error())
		}
		fmt.Fprintf(&all, "== %s\n%s\n", filepath.Base(file), text[max(0, len(text)-most):])
	}
	return all.String()
}
