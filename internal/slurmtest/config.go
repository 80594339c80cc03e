package slurmtest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"
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
StateSaveLocation=%[3]s/state
SlurmdSpoolDir=%[3]s/%%n
SlurmctldPidFile=%[3]s/slurmctld.pid
SlurmdPidFile=%[3]s/%%n.pid
SlurmctldLogFile=%[3]s/slurmctld.log
SlurmdLogFile=%[3]s/%%n.log
SlurmctldDebug=debug
SlurmdDebug=debug
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`

// writeConfig writes Slurm's configuration files to dir, with ports that are free now.
func writeConfig(dir string, o Options) error {
	me, err := user.Current()
	if err != nil {
		return fmt.Errorf("slurmtest: config: %w", err)
	}
	ports, err := freePorts(o.Nodes + 1)
	if err != nil {
		return err
	}
	var conf, gres strings.Builder
	fmt.Fprintf(&conf, config[1:], ports[0], me.Username, dir)
	for n := 1; n <= o.Nodes; n++ {
		fmt.Fprintf(&conf, "NodeName=%s NodeHostname=localhost NodeAddr=127.0.0.1 Port=%d CPUs=%d",
			nodeName(n), ports[n], o.CPUs)
		if o.GPUs > 0 {
			fmt.Fprintf(&conf, " Gres=gpu:%d", o.GPUs)
		}
		fmt.Fprintln(&conf)
		for g := range o.GPUs {
			file := filepath.Join(dir, fmt.Sprintf("%s-gpu%d", nodeName(n), g))
			if err := os.Symlink("/dev/null", file); err != nil {
				return fmt.Errorf("slurmtest: config: %w", err)
			}
			fmt.Fprintf(&gres, "NodeName=%s Name=gpu File=%s\n", nodeName(n), file)
		}
	}
	for _, sub := range []string{"state"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return fmt.Errorf("slurmtest: config: %w", err)
		}
	}
	for name, text := range map[string]string{"slurm.conf": conf.String(), "gres.conf": gres.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("slurmtest: config: %w", err)
		}
	}
	return nil
}

// freePorts returns n ports of the loopback device that nobody listens on. They are below those that Linux gives to
// clients (32768 and above), or a connection could take the port of a node whose daemon is dead.
func freePorts(n int) ([]int, error) {
	var ports []int
	for try := 0; len(ports) < n; try++ {
		port := 20000 + rand.IntN(12000)
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			if try > 1000 {
				return nil, fmt.Errorf("slurmtest: free ports: %w", err)
			}
			continue
		}
		defer l.Close() // when all are found: no port comes twice
		ports = append(ports, port)
	}
	return ports, nil
}
