package slurmtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
)

// trace is a shell script that says which signals it gets, and that it lives on: it ignores them otherwise. The
// variables name and log are its name and its output. What Slurm starts again has another name: script, script1, …
const trace = `
name=$name$SLURM_RESTART_COUNT
say() { echo "$name $*" >>"$log"; }
for signal in CONT TERM USR1; do trap "say $signal" $signal; done
say pid $$
say on $SLURMD_NODENAME
while :; do
	sleep 0.2
	say lives
done
`

// traced returns a batch script that traces itself, a child, and a child in a session of its own.
func traced(t *testing.T, log string) string {
	t.Helper()
	file := log + ".sh"
	must.OK(t, os.WriteFile(file, []byte(trace), 0o600))
	return "export log=" + log + "\n" +
		"name=child sh " + file + " &\n" +
		"name=session setsid sh " + file + " &\n" +
		"name=script\n. " + file + "\n"
}

var (
	first  = []string{"script", "child", "session"}
	second = []string{"script1", "child1", "session1"}
)

// each returns one line of each name.
func each(names []string, what string) []string {
	var all []string
	for _, name := range names {
		all = append(all, name+" "+what)
	}
	return all
}

// pids returns the processes of names.
func pids(t *testing.T, log string, names []string) []int {
	t.Helper()
	var found []int
	for _, line := range lines(log) {
		name, pid, ok := strings.Cut(line, " pid ")
		if n, err := strconv.Atoi(pid); ok && err == nil && slices.Contains(names, name) {
			found = append(found, n)
		}
	}
	if len(found) != len(names) {
		t.Fatalf("%s: processes %d of %q, want one of each", log, found, names)
	}
	return found
}

func living(pids []int) []int {
	return slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return !exists(fmt.Sprintf("/proc/%d", pid)) })
}

func waitDead(t *testing.T, c *Cluster, pids []int) {
	t.Helper()
	c.Wait(t, time.Minute, func() (bool, string) {
		return len(living(pids)) == 0, fmt.Sprintf("processes %d live, want none of %d", living(pids), pids)
	})
}

// wantNever checks that lines have not been said.
func wantNever(t *testing.T, log string, never ...string) {
	t.Helper()
	for _, line := range never {
		if slices.Contains(lines(log), line) {
			t.Errorf("%q is among %q, want it never", line, lines(log))
		}
	}
}

// wantLivesAfter checks that processes have lived on after a signal.
func wantLivesAfter(t *testing.T, log string, names []string, signal string) {
	t.Helper()
	said := lines(log)
	for _, name := range names {
		if i := slices.Index(said, name+" "+signal); i < 0 || !slices.Contains(said[i:], name+" lives") {
			t.Errorf("%s has said nothing after %s: %q; want SIGKILL after a while", name, signal, said)
		}
	}
}

func TestSignals(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{Nodes: 1, CPUs: 8})
	dir := t.TempDir()

	// All processes get SIGTERM at once, and SIGKILL after KillWait.
	t.Run("scancel", func(t *testing.T) {
		t.Parallel()
		log := filepath.Join(dir, "scancel")
		job := submit(t, c, traced(t, log))
		waitLines(t, c, log, time.Minute, each(first, "lives")...)
		c.Run(t, "scancel", job)
		waitLines(t, c, log, time.Minute, slices.Concat(each(first, "CONT"), each(first, "TERM"))...)
		waitDead(t, c, pids(t, log, first))
		wantLivesAfter(t, log, first, "TERM")
		wantNever(t, log, each(first, "USR1")...)
	})

	// A signal of scancel reaches the batch script alone, with --batch, and nobody without.
	t.Run("scancel --signal", func(t *testing.T) {
		t.Parallel()
		log := filepath.Join(dir, "signal")
		job := submit(t, c, traced(t, log))
		waitLines(t, c, log, time.Minute, each(first, "lives")...)
		c.Run(t, "scancel", "--signal=USR1", job)
		c.Run(t, "scancel", "--signal=CONT", "--batch", job) // it overtakes no other
		waitLines(t, c, log, time.Minute, "script CONT")
		wantNever(t, log, each(first, "USR1")...)
		c.Run(t, "scancel", "--signal=USR1", "--batch", job)
		waitLines(t, c, log, time.Minute, "script USR1")
		c.Run(t, "scancel", job)
		waitDead(t, c, pids(t, log, first))
		wantNever(t, log, "child USR1", "session USR1")
	})

	// The same signals; the job starts again when all is dead.
	t.Run("requeue", func(t *testing.T) {
		t.Parallel()
		log := filepath.Join(dir, "requeue")
		job := submit(t, c, traced(t, log))
		waitLines(t, c, log, time.Minute, each(first, "lives")...)
		c.Run(t, "scontrol", "requeue", job)
		waitLines(t, c, log, time.Minute, slices.Concat(each(first, "CONT"), each(first, "TERM"))...)
		waitLines(t, c, log, time.Minute, each(second, "lives")...)
		if old := living(pids(t, log, first)); len(old) > 0 {
			t.Errorf("processes %d of the first start live beside the second, want them killed before", old)
		}
		wantLivesAfter(t, log, first, "TERM")
		c.Run(t, "scancel", job)
		waitDead(t, c, pids(t, log, second))
	})

	// Without cgroups Slurm kills what descends from the batch script, so nothing once the script has ended.
	t.Run("script ends first", func(t *testing.T) {
		t.Parallel()
		log := filepath.Join(dir, "ends")
		script := traced(t, log)
		children, _, _ := strings.Cut(script, "name=script")
		job := submit(t, c, children+"until grep -q child.lives $log; do sleep 0.1; done\n")
		waitLines(t, c, log, time.Minute, "child lives", "session lives")
		waitGone(t, c, job)
		left := pids(t, log, []string{"child", "session"})
		if got := living(left); len(got) != len(left) {
			t.Errorf("processes %d live, want all of %d", got, left)
		}
		wantNever(t, log, "child TERM", "session TERM")
	})
}

// A task requeues itself under its name in the array. Under its SLURM_JOB_ID it may requeue all: the last task has the
// array's.
func TestSelfRequeue(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{Nodes: 1, CPUs: 3})
	log := filepath.Join(t.TempDir(), "log")
	array := submit(t, c, `say() { echo task $SLURM_ARRAY_TASK_ID $* >>`+log+`; }
		trap 'scontrol requeue ${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID; say asked $?; exit 0' USR1
		trap 'scontrol requeue $SLURM_JOB_ID; say asked $?; exit 0' USR2
		say is job $SLURM_JOB_ID
		say started ${SLURM_RESTART_COUNT:-first}
		while :; do sleep 0.2; done`, "--array=0-2")
	waitLines(t, c, log, time.Minute, "task 0 started first", "task 1 started first", "task 2 started first")

	c.Run(t, "scancel", "--signal=USR1", "--batch", array+"_2")
	waitLines(t, c, log, time.Minute, "task 2 asked 0", "task 2 started 1")
	wantNever(t, log, "task 0 started 1", "task 1 started 1")
	if !slices.Contains(lines(log), "task 2 is job "+array) {
		t.Fatalf("%q, want the last task to be the job %s, as the array", lines(log), array)
	}

	c.Run(t, "scancel", "--signal=USR2", "--batch", array+"_2")
	waitLines(t, c, log, time.Minute, "task 0 started 1", "task 1 started 1", "task 2 started 2")
	c.Run(t, "scancel", array)
	waitGone(t, c, array)
}

// logged returns the time of an event in the log of slurmctld.
func logged(t *testing.T, c *Cluster, event string) time.Time {
	t.Helper()
	for _, line := range lines(filepath.Join(c.dir, "slurmctld.log")) {
		// [2026-11-25T13:23:23.190] Time limit exhausted for JobId=7
		stamp, what, _ := strings.Cut(strings.TrimPrefix(line, "["), "]")
		if at, err := time.Parse("2006-01-02T15:04:05.000", stamp); err == nil && strings.HasSuffix(what, event) {
			return at
		}
	}
	t.Fatalf("no %q in the log of slurmctld", event)
	return time.Time{}
}

// The warning comes to the batch script alone, once, and leaves it at least the time asked for; none comes without B.
func TestTimeLimit(t *testing.T) {
	longtest.Only(t, "a time limit is a minute at least, and Slurm looks twice a minute")
	t.Parallel()
	c := Start(t, Options{Nodes: 1, CPUs: 2})
	dir := t.TempDir()
	const most = 4 * time.Minute
	t.Run("B:USR1@30", func(t *testing.T) {
		t.Parallel()
		log := filepath.Join(dir, "batch")
		job := submit(t, c, traced(t, log), "--time=1", "--signal=B:USR1@30")
		waitLines(t, c, log, most, append(each(first, "TERM"), "script USR1", "script CONT")...)
		warned := logged(t, c, "warning signal 10 to JobId="+job)
		ended := logged(t, c, "Time limit exhausted for JobId="+job)
		if left := ended.Sub(warned); left < 30*time.Second {
			t.Errorf("Slurm's log has SIGTERM %v after the warning, want 30s or more", left)
		}
		waitDead(t, c, pids(t, log, first))
		wantLivesAfter(t, log, first, "TERM")
		wantNever(t, log, "child USR1", "session USR1")
		if n := strings.Count(strings.Join(lines(log), "\n"), "script USR1"); n != 1 {
			t.Errorf("%d warnings, want 1", n)
		}
	})
	t.Run("USR1@30", func(t *testing.T) {
		t.Parallel()
		log := filepath.Join(dir, "steps")
		submit(t, c, traced(t, log), "--time=1", "--signal=USR1@30")
		waitLines(t, c, log, most, each(first, "TERM")...)
		waitDead(t, c, pids(t, log, first))
		wantNever(t, log, each(first, "USR1")...)
	})
}
