//go:build unix

package slurmtest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
)

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
