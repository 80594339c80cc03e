//go:build unix

package slurmtest

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/internal/must"
)

// Options is the size of a cluster.
type Options struct {
	Nodes int // node daemons, at least 1; the nodes are node1, node2, …
	CPUs  int // of each node, at least 1; may be more than this machine has
	GPUs  int // of each node, 0 for none; they are symlinks to /dev/null
}

// A Cluster is a running Slurm.
type Cluster struct {
	dir     string               // configuration, spools, states and logs; short, because Unix sockets are in it
	daemons map[string]*exec.Cmd // slurmctld, and by the name of a node the slurmd that was started last
}

// Start starts a cluster and returns when all its nodes are idle, or skips the test where there is no Slurm. With the
// test, even a killed one, every daemon and process of a job ends. A test that fails shows the daemons' logs.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	for _, name := range []string{"slurmctld", "slurmd", "sbatch", "squeue", "sinfo", "scontrol"} {
		if _, err := exec.LookPath(program(name)); err != nil {
			t.Skipf("no Slurm for tests: no %s (Debian: apt-get install slurmctld slurmd slurm-client)", name)
		}
	}
	// Jobs write to the test's folder: it has to be removed after they are dead, so it has to exist before the cluster.
	t.TempDir()
	c := &Cluster{dir: must.Get(os.MkdirTemp("/tmp", "slurm"))(t), daemons: map[string]*exec.Cmd{}}
	c.endWith(t)
	c.writeConfig(t, o)
	c.start(t, "slurmctld", "slurmctld", "-D", "-f", c.conf())
	for n := range o.Nodes {
		c.StartNode(t, nodeName(n))
	}
	c.Wait(t, time.Minute, func() (bool, string) {
		out, err := c.run("sinfo", "-h", "-N", "-o", "%N %t")
		return strings.Count(out, " idle\n") == o.Nodes, fmt.Sprintf("nodes %q, %v, want all idle", out, err)
	})
	return c
}

func nodeName(n int) string { return fmt.Sprint("node", n+1) }

// program returns the path of a program of Slurm. The daemons are in /usr/sbin, which is not in everybody's PATH.
func program(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	return "/usr/sbin/" + name
}

// killMarked is a shell script that reads a text, waits for the end of its input, and kills all processes with the text
// in their command line or environment. It stops all before it kills the first, so that none tells of another's end.
//
// Processes of a cluster have its folder in their environment (SLURM_CONF), those of a node the node's folder:
// slurmstepd because SLURM_CONF is the path that slurmd was given, a job because of TaskProlog.
const killMarked = `
read -r mark && [ -d "$mark" ] || exit 1
cat
marked() { echo "$mark" | grep -slF -f - /proc/[0-9]*/cmdline /proc/[0-9]*/environ | cut -d/ -f3; }
while found=$(marked); [ "$found" ]; do
	kill -STOP $found
	[ "$(marked)" = "$found" ] && kill -KILL $found
done 2>/dev/null
`

// endWith ends the cluster with the test. The end of a killed test is the end of the script's input, too.
func (c *Cluster) endWith(t testing.TB) {
	t.Helper()
	cmd := exec.Command("sh", "-c", killMarked+`rm -rf "$mark"`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C in a terminal is not for it
	in := must.Get(cmd.StdinPipe())(t)
	must.OK(t, cmd.Start())
	must.Get(io.WriteString(in, c.dir+"/\n"))(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.logs())
		}
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("slurmtest: end of %s: %v", c.dir, err)
		}
		for _, d := range c.daemons {
			_ = d.Wait() // it was killed
		}
	})
}

// start starts a daemon. Without the environment of the test, SLURM_CONF is the last variable of slurmstepd, which
// overwrites the others with its title.
func (c *Cluster) start(t testing.TB, name, daemon string, args ...string) {
	t.Helper()
	cmd := exec.Command(program(daemon), args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	must.OK(t, cmd.Start())
	c.daemons[name] = cmd
}

// StartNode starts the daemon of a node, again after KillNode or KillNodeWhole.
func (c *Cluster) StartNode(t testing.TB, node string) {
	t.Helper()
	c.start(t, node, "slurmd", "-D", "-N", node, "-f", filepath.Join(c.dir, node)+"/../slurm.conf")
}

// KillNode kills the daemon of a node with SIGKILL, and nothing else: jobs go on, and so do their slurmstepd.
func (c *Cluster) KillNode(t testing.TB, node string) {
	t.Helper()
	must.OK(t, c.daemons[node].Process.Kill())
	_ = c.daemons[node].Wait() // it was killed
}

// KillNodeWhole kills everything on a node at once, as when a machine loses power: the daemon, every slurmstepd and
// every process of a job, also one that has left its session.
func (c *Cluster) KillNodeWhole(t testing.TB, node string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", killMarked)
	cmd.Stdin = strings.NewReader(filepath.Join(c.dir, node) + "/\n")
	must.OK(t, cmd.Run())
	_ = c.daemons[node].Wait() // it was killed
}

// WaitNode waits until a node is in a state, which is one of sinfo's short ones: idle, alloc, mix, comp, down, … A star
// behind it, for a node that does not answer, does not count.
func (c *Cluster) WaitNode(t testing.TB, node, state string, most time.Duration) {
	t.Helper()
	c.Wait(t, most, func() (bool, string) {
		got := strings.TrimRight(strings.TrimSpace(c.Run(t, "sinfo", "-h", "-N", "-n", node, "-o", "%t")), "*")
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
			queue, _ := c.run("squeue")
			t.Fatalf("slurmtest: after %v: %s\n%s", most, saw, queue)
		}
	}
}

func (c *Cluster) conf() string { return filepath.Join(c.dir, "slurm.conf") }

// Env returns what Slurm's programs need in the environment to talk to this cluster.
func (c *Cluster) Env() []string { return []string{"SLURM_CONF=" + c.conf()} }

// Run runs a program of Slurm on this cluster and returns what it writes to stdout. It fails the test if it fails.
func (c *Cluster) Run(t testing.TB, name string, args ...string) string {
	t.Helper()
	return must.Get(c.run(name, args...))(t)
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

// config is slurm.conf without its nodes. The comments say why a line is not Slurm's default.
const config = `
ClusterName=rollcall
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=%[1]d
# Nobody but this user; nobody from outside.
SlurmUser=%[2]s
SlurmdUser=%[2]s
AuthType=auth/none
CredType=cred/none
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
# A requeued job starts when its credential has expired: default 120 s.
AuthInfo=cred_expire=5
# No cgroups, no accounting.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MailProg=/bin/true
# The nodes have the CPUs that the test wants.
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
GresTypes=gpu
# Jobs start at once.
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
# A node that does not answer is down soon (default 300 s), and up again once it answers.
SlurmdTimeout=5
MessageTimeout=5
ReturnToService=2
# SIGKILL follows SIGTERM soon: default 30 s.
KillWait=5
PropagateResourceLimits=NONE
# It marks the processes of a job with their node, see killMarked.
TaskProlog=%[3]s/prolog
StateSaveLocation=%[3]s
SlurmdSpoolDir=%[3]s/%%n
SlurmctldPidFile=%[3]s/slurmctld.pid
SlurmdPidFile=%[3]s/%%n.pid
SlurmctldLogFile=%[3]s/slurmctld.log
SlurmdLogFile=%[3]s/%%n.log
SlurmctldDebug=debug
SlurmdDebug=debug
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`

// writeConfig writes the files of Slurm's configuration, and makes the folders of the nodes.
func (c *Cluster) writeConfig(t testing.TB, o Options) {
	t.Helper()
	me := must.Get(user.Current())(t)
	ports := freePorts(t, o.Nodes+1)
	var conf, gres strings.Builder
	fmt.Fprintf(&conf, config[1:], ports[0], me.Username, c.dir)
	for n := range o.Nodes {
		node := nodeName(n)
		must.OK(t, os.Mkdir(filepath.Join(c.dir, node), 0o700))
		fmt.Fprintf(&conf, "NodeName=%s NodeHostname=localhost NodeAddr=127.0.0.1 Port=%d CPUs=%d Gres=gpu:%d\n",
			node, ports[n+1], o.CPUs, o.GPUs)
		for g := range o.GPUs {
			file := filepath.Join(c.dir, fmt.Sprintf("%s-gpu%d", node, g))
			must.OK(t, os.Symlink("/dev/null", file))
			fmt.Fprintf(&gres, "NodeName=%s Name=gpu File=%s\n", node, file)
		}
	}
	prolog := "#!/bin/sh\necho export SLURMTEST_NODE=" + c.dir + "/$SLURMD_NODENAME/\n"
	for name, text := range map[string]string{
		"slurm.conf": conf.String(), "gres.conf": gres.String(), "prolog": prolog,
	} {
		must.OK(t, os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o700))
	}
}

// freePorts returns n ports of the loopback device that nobody listens on. They are below those that Linux gives to
// clients (32768 and above), or a connection could take the port of a node whose daemon is dead.
func freePorts(t testing.TB, n int) (ports []int) {
	t.Helper()
	for range 1000 {
		port := 20000 + rand.IntN(12000)
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		defer l.Close() // when all are found: no port comes twice
		if ports = append(ports, port); len(ports) == n {
			return ports
		}
	}
	t.Fatalf("slurmtest: %d free ports among 1000, want %d", len(ports), n)
	return nil
}
