package e2e

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/results"
)

// longRun is a run that goes on for a minute and more, with rounds of a moment.
const longRun = " --data leaf --clients 4 --rounds 400000 --local-steps 1 --batch 8 " +
	"--eval-every 10 --device cpu --threads 1 "

// These lines end the log of a command that was interrupted, the second where a repeated command resumes.
const (
	interruptedLine = "rollcall: interrupted\n"
	resumesLine     = "rollcall: interrupted: repeat the command to resume\n"
)

// promptEnd is how long a command may take that has a second: the machine may have other work.
const promptEnd = 3 * time.Second

// Ctrl-C, a polite kill and a terminal that goes away end a run alike; under nohup the terminal may go.
func TestSignals(t *testing.T) {
	for name, c := range map[string]struct {
		signal syscall.Signal
		nohup  bool // the child begins with the signal ignored
		rounds string
		status int
		is     results.RunStatus
		says   string // in the end
	}{
		"INT":  {syscall.SIGINT, false, "100000", statusInterrupted, results.RunInterrupted, resumesLine},
		"TERM": {syscall.SIGTERM, false, "100000", statusInterrupted, results.RunInterrupted, resumesLine},
		"HUP":  {syscall.SIGHUP, false, "100000", statusInterrupted, results.RunInterrupted, resumesLine},
		"USR1": {
			syscall.SIGUSR1, false, "100000", statusTimeUp, results.RunInterrupted,
			"rollcall: time is up: repeat the command to resume\n",
		},
		"USR2": {
			syscall.SIGUSR2, false, "100000", statusTimeUp, results.RunInterrupted,
			"rollcall: time is up: repeat the command to resume\n",
		},
		"USR2, ignored by who started it": {
			syscall.SIGUSR2, true, "100000", statusTimeUp, results.RunInterrupted,
			"rollcall: time is up: repeat the command to resume\n",
		},
		"XCPU": {
			syscall.SIGXCPU, false, "100000", statusTimeUp, results.RunInterrupted,
			"rollcall: time is up: repeat the command to resume\n",
		},
		"HUP and nohup": {syscall.SIGHUP, true, "100", statusOK, results.RunComplete, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inherited(t, c.signal, c.nohup)
			out := t.TempDir()
			run := startUntil(t, "round 1/", "run --data leaf --clients 4 --method mifa --rounds "+c.rounds+
				" --eval-every 1 --device cpu --out "+out)
			log, _ := run.endBy(t, c.signal, c.status)
			if said := run.stdout.String(); !strings.HasSuffix(said, results.CurveFile+": "+string(c.is)+"\n") {
				t.Errorf("stdout %q, want a run that is %s", said, c.is)
			}
			if !strings.HasSuffix(log, c.says) || c.says == "" && strings.Contains(log, "rollcall: ") {
				t.Errorf("%s\nwant %q in the end", log, c.says)
			}
			info, err := results.ReadRunInfo(only(t, out, runPath))
			if err != nil || info.Status != c.is {
				t.Errorf("%s: %+v, %v, want status %s", results.RunFile, info, err, c.is)
			}
			if temps := must.Get(filepath.Glob(filepath.Join(out, "run", "*", "*", ".rollcall-*")))(t); len(temps) > 0 {
				t.Errorf("left over: %q", temps)
			}
		})
	}
}

// The first signal lets a round of seconds end, and leaves a checkpoint of it; a second one ends the process at once,
// also one that was started to ignore SIGINT, as the shells of scripts start what is to run in the background. Warnings
// that the time is up are no such second signals, and after them SIGTERM is the first: schedulers send it at the limit.
func TestSecondSignal(t *testing.T) {
	const (
		INT, TERM, HUP   = syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP
		USR1, USR2, XCPU = syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGXCPU
		killed           = -1 // by the signal itself
	)
	line := strings.NewReplacer("--local-steps 1 ", "--local-steps 100000 ", "--eval-every 10",
		"--eval-every 1").Replace(longRun)
	for _, c := range []struct {
		name    string
		sent    []syscall.Signal
		ignored bool // SIGINT, by who started it
		status  int
		whole   bool // the round ends, and has its checkpoint
	}{
		{"once", []syscall.Signal{INT}, false, statusInterrupted, true},
		{"twice", []syscall.Signal{TERM, INT}, false, killed, false},
		{"ignored, once", []syscall.Signal{INT}, true, statusInterrupted, true},
		{"ignored, twice", []syscall.Signal{TERM, INT}, true, statusInterrupted, false},
		{"USR1 and TERM", []syscall.Signal{USR1, TERM}, false, statusTimeUp, true},
		{"USR2 and INT", []syscall.Signal{USR2, INT}, false, statusTimeUp, true},
		{"XCPU and HUP", []syscall.Signal{XCPU, HUP}, false, statusTimeUp, true},
		{"warned often", []syscall.Signal{USR2, XCPU, USR2, USR1, XCPU, TERM, USR1}, false, statusTimeUp, true},
		{"USR1 and twice", []syscall.Signal{USR1, TERM, HUP}, false, killed, false},
		{"twice, USR2 between", []syscall.Signal{INT, USR2, TERM}, false, killed, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.ignored {
				longtest.Only(t, "rounds of seconds")
			} else {
				t.Parallel() // resumes when no signal is ignored here
			}
			inherited(t, INT, c.ignored)
			inherited(t, HUP, false)
			out := t.TempDir()
			run := startUntil(t, ": round 1/", "run --method mifa --p 1"+line+"--out "+out)
			run.computes(t) // until the next round has begun: between two rounds a run ends at once
			last := len(c.sent) - 1
			for _, s := range c.sent[:last] {
				must.OK(t, run.Process.Signal(s))
				time.Sleep(50 * time.Millisecond)
			}
			log, took := run.endBy(t, c.sent[last], c.status)
			left := must.Get(filepath.Glob(filepath.Join(out, "run/*/seed-*/checkpoint-2.safetensors")))(t)
			if (len(left) == 1) != c.whole || !c.whole && took > promptEnd {
				t.Errorf("after %v, %q, checkpoints %q, want the round and its checkpoint: %t, or the end at once",
					took, log, left, c.whole)
			}
		})
	}
}

// The soft limit of processor time is a warning too, which the system sends every second.
func TestProcessorLimit(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	limited := process(t)
	limited.Path = sh
	limited.Args = append([]string{"sh", "-c", `ulimit -S -t 2 && exec rollcall "$@"`, "sh"},
		strings.Fields("run --method mifa"+longRun+"--out "+t.TempDir())...)
	err = limited.Run()
	if log := limited.Stderr.(*bytes.Buffer).String(); limited.ProcessState.ExitCode() != statusTimeUp ||
		!strings.HasSuffix(log, "rollcall: time is up: repeat the command to resume\n") {
		t.Errorf("%v, %q, want status %d", err, log, statusTimeUp)
	}
}

// A command whose time is up asks to be repeated only if it has made a round: otherwise it would be repeated for ever.
func TestTimeUpTooSoon(t *testing.T) {
	line := strings.Replace(longRun, "--local-steps 1 ", "--local-steps 500000 ", 1)
	run := startUntil(t, ": round 0/", "run --method mifa --p 1"+line+"--out "+t.TempDir())
	log, _ := run.endBy(t, syscall.SIGUSR1, statusFailure)
	want := "rollcall: time is up, and no round was finished: want more time, or a faster machine\n"
	if !strings.HasSuffix(log, want) {
		t.Errorf("%q, want that no round was finished", log)
	}
}

// Where no run is in progress a command ends within a second when it is asked to.
func TestEndsPromptly(t *testing.T) {
	longtest.Only(t, "every command, interrupted")
	inherited(t, syscall.SIGHUP, false)
	out := t.TempDir()
	startUntil(t, ": round 10/", "run"+longRun+"--out "+out)
	for name, c := range map[string]struct {
		line, says string
		signal     syscall.Signal
	}{
		"waits for another's run": {"run" + longRun + "--out " + out, "waits for process", syscall.SIGINT},
		"bench": {
			"bench --data leaf --clients 8 --rounds 400000 --device cpu --out OUT", "device: ", syscall.SIGHUP,
		},
		"counts what it will hold": {
			"run" + strings.Replace(longRun, "--rounds 400000", "--rounds 200000000", 1) + "--out OUT",
			"", syscall.SIGTERM,
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := startUntil(t, c.says, strings.ReplaceAll(c.line, "OUT", t.TempDir()))
			if c.says == "" {
				time.Sleep(promptEnd / 6) // which says nothing
			}
			log, took := run.endBy(t, c.signal, statusInterrupted)
			if took > promptEnd || !strings.HasSuffix(log, interruptedLine) {
				t.Errorf("after %v, %q, want it at once, and that it was interrupted", took, log)
			}
		})
	}
}
