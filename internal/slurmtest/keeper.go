package slurmtest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// A keeper is a process between the test and a daemon. Its standard input says what to do: the line "daemon" kills the
// daemon, the line "all" kills everything below the keeper, and the end of the input, which comes too when the test is
// dead, kills everything and removes the cluster's folder. Its standard output is the line "dead" when the daemon is.
type keeper struct {
	name string // the node, or slurmctld
	cmd  *exec.Cmd
	in   io.WriteCloser
	dead chan struct{} // closed when the daemon is dead
	done chan struct{} // closed when the keeper is
	err  error         // of the keeper, once it is done
}

// keeperDir is the variable that makes the test's program a keeper: the cluster's folder.
const keeperDir = "ROLLCALL_SLURMTEST_KEEPER"

// The test's program becomes a keeper before its own tests begin, whichever package they are of.
func init() {
	dir, ok := os.LookupEnv(keeperDir)
	if !ok {
		return
	}
	os.Unsetenv(keeperDir)
	if err := beKeeper(dir, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// newKeeper starts a keeper, which starts the daemon: a program and its arguments.
func newKeeper(dir, name string, daemon []string) (*keeper, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("slurmtest: keeper of %s: %w", name, err)
	}
	k := &keeper{name: name, dead: make(chan struct{}), done: make(chan struct{})}
	k.cmd = exec.Command(self, daemon...)
	k.cmd.Env = append(os.Environ(), keeperDir+"="+dir)
	k.cmd.SysProcAttr = ownGroup()
	var complaints strings.Builder
	k.cmd.Stderr = &complaints
	out, err := k.cmd.StdoutPipe()
	if err == nil {
		k.in, err = k.cmd.StdinPipe()
	}
	if err == nil {
		err = k.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("slurmtest: keeper of %s: %w", name, err)
	}
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if lines.Text() == "dead" {
				close(k.dead)
			}
		}
		if err := k.cmd.Wait(); err != nil {
			k.err = fmt.Errorf("slurmtest: keeper of %s: %w\n%s", name, err, complaints.String())
		}
		close(k.done)
	}()
	return k, nil
}

func (k *keeper) daemonDead() bool {
	select {
	case <-k.dead:
		return true
	case <-k.done:
		return true
	default:
		return false
	}
}

// killDaemon kills the daemon, and returns when it is dead.
func (k *keeper) killDaemon() error {
	if k.daemonDead() {
		return nil
	}
	if _, err := io.WriteString(k.in, "daemon\n"); err != nil {
		return fmt.Errorf("slurmtest: keeper of %s: %w", k.name, err)
	}
	select {
	case <-k.dead:
		return nil
	case <-k.done:
		return k.err
	case <-time.After(keeperMost):
		return fmt.Errorf("slurmtest: keeper of %s: the daemon lives after %v, want it killed", k.name, keeperMost)
	}
}

// keeperMost is the time after which a keeper that does not do as told has failed.
const keeperMost = time.Minute

// killAll kills everything below the keeper, and returns when it is dead.
func (k *keeper) killAll() error {
	if _, err := io.WriteString(k.in, "all\n"); err != nil {
		return fmt.Errorf("slurmtest: keeper of %s: %w", k.name, err)
	}
	return k.wait()
}

// close begins the end of everything below the keeper, and of the cluster's folder.
func (k *keeper) close() { k.in.Close() }

// wait returns when the keeper is done.
func (k *keeper) wait() error {
	select {
	case <-k.done:
		return k.err
	case <-time.After(keeperMost):
		return fmt.Errorf("slurmtest: keeper of %s: lives after %v, want it done", k.name, keeperMost)
	}
}
