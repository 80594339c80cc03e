package slurmtest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollcall/internal/must"
)

// A killed test leaves nothing behind: no daemon, no file, and no process of a job, though it has left its session and
// its parents.
func TestKilledTest(t *testing.T) {
	t.Parallel()
	Start(t, Options{Nodes: 1, CPUs: 1}) // skips without Slurm
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledTestChild$")
	tmp := t.TempDir()
	cmd.Env = append(os.Environ(), childTmp+"="+tmp)
	out := must.Get(cmd.StdoutPipe())(t)
	must.OK(t, cmd.Start())
	var dir string
	said := bufio.NewScanner(out)
	for dir == "" && said.Scan() {
		dir, _ = strings.CutPrefix(said.Text(), "the cluster is in ")
	}
	processes := below(cmd.Process.Pid)
	must.OK(t, cmd.Process.Kill())
	cmd.Wait()
	if dir == "" || len(processes) < 6 {
		t.Fatalf("the killed test had processes %d and the folder %q, want daemons, those of a job, and a folder",
			processes, dir)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		alive := living(processes)
		if len(alive) == 0 && !exists(dir) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after a minute: processes %d of %d live, the folder %s exists: %v; want nothing left",
				alive, processes, dir, exists(dir))
		}
	}
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
