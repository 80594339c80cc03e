package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/internal/must"
	"rollcall/results"
)

// begun returns which runs a log says were begun, without their places in the list of the command.
func begun(log string) (runs []string) {
	first := regexp.MustCompile(`(?m)^(?:run \d+/\d+ · )?(?:\[\d+/\d+\] )?(.*): round 0/`)
	for _, m := range first.FindAllStringSubmatch(log, -1) {
		runs = append(runs, m[1])
	}
	return runs
}

// shareSweep are the arguments of a sweep whose runs take a tenth of a second each.
func shareSweep(out string, more ...string) []string {
	long := []string{"--clients", "5", "--rounds", "100", "--local-steps", "2", "--batch", "8", "--eval-every", "50"}
	return smallSweep(out, append(long, more...)...)
}

// Processes that begin at the same time with the same command, or with others that have runs in common, make every run
// once, and leave what one command alone leaves.
func TestShare(t *testing.T) {
	two := "sweep --methods fedavg-active,mifa --seeds 3,4"
	run := "run --data leaf --clients 5 --method mifa --rounds 100 --eval-every 50 --device cpu"
	cafed1 := "table cafed-1 --rounds 4 --clients 6 --seeds 3,4 --data binary --device cpu"
	figure := "figure cafed-i2 --rounds 3 --clients 6 --seeds 3,4 --device cpu"
	for _, c := range []struct {
		name   string
		alone  []string // commands one after the other
		shared []string // at the same time
		again  bool     // all with --again, in a folder where everything is there already
	}{
		{"two sweeps", []string{two}, []string{two, two}, false},
		{"four sweeps, two runs at a time", []string{two}, slices.Repeat([]string{two + " --pack 2"}, 4), false},
		{"three sweeps anew", []string{two}, slices.Repeat([]string{two}, 3), true},
		{
			"overlapping lists",
			[]string{"sweep --methods fedavg-active,mifa,fedawe --seeds 3"},
			[]string{
				"sweep --methods fedavg-active,mifa --seeds 3", "sweep --methods fedawe,mifa --seeds 3",
				"sweep --methods mifa --seeds 3 --pack 2",
			},
			false,
		},
		{"tables", []string{cafed1}, []string{cafed1, cafed1}, false},
		{"figures", []string{figure}, []string{figure, figure, figure}, false},
		{"runs", []string{run}, []string{run, run, run}, false},
		{"runs anew", []string{run}, []string{run, run}, true},
		{"run beside sweep", []string{two, run}, []string{run, two}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ofProcesses(t)
			alone, out := t.TempDir(), t.TempDir()
			args := func(line, out string) []string {
				if rest, ok := strings.CutPrefix(line, "sweep "); ok {
					return shareSweep(out, strings.Fields(rest)...)
				}
				return append(strings.Fields(line), "--out", out)
			}
			stdout, made := map[string]string{}, 0
			for _, line := range c.alone {
				child := startChild(t, "", args(line, alone)...)
				made += len(begun(child.end(t, statusOK)))
				stdout[line] = child.stdout.String()
			}
			before := map[string]string{}
			if c.again {
				for _, line := range c.alone {
					startChild(t, "", args(line, out)...).end(t, statusOK)
				}
				before = contentsBelow(t, out, results.RunFile)
			}
			var dirs []string
			for _, dir := range seedFolders(t, alone) {
				dirs = append(dirs, strings.Replace(dir, alone, out, 1))
			}
			release := hold(t, dirs...) // until all have begun
			var children []*child
			for _, line := range c.shared {
				line := args(line, out)
				if c.again {
					line = append(line, "--again")
				}
				children = append(children, startChild(t, "", line...))
			}
			for _, child := range children {
				child.until(t, "waits for ")
			}
			release()
			var runs []string
			for k, child := range children {
				log := child.end(t, statusOK)
				runs = append(runs, begun(log)...)
				if n := strings.Count(log, fmt.Sprintf("process %d on host", os.Getpid())); n != 1 {
					t.Errorf("the process that has all runs is named %d times, want once:\n%s", n, log)
				}
				if strings.Contains(log, "tried again") {
					t.Errorf("want nothing tried again:\n%s", log)
				}
				want, ok := stdout[c.shared[k]]
				got := strings.ReplaceAll(child.stdout.String(), out, alone)
				if ok && got != want && !strings.HasPrefix(c.shared[k], "run") { // which may be kept
					t.Errorf("stdout:\n%s\nwant\n%s", got, want)
				}
			}
			if len(runs) != made {
				t.Errorf("%d runs made, want %d, each once: %q", len(runs), made, slices.Sorted(slices.Values(runs)))
			}
			sameTree(t, c.name, sortedLines(timelessTree(t, out)), sortedLines(timelessTree(t, alone)))
			for name, text := range contentsBelow(t, out, results.RunFile) {
				if c.again && before[name] == text {
					t.Errorf("%s is as it was before, want the run anew", name)
				}
			}
		})
	}
}

// What a killed process was making is free at once: a process that waits for it resumes from the checkpoint, also where
// both are to make the run again. A process that was only stopped keeps its run.
func TestShareKilled(t *testing.T) {
	for _, flag := range []string{"--again=false", "--again"} {
		t.Run(flag, func(t *testing.T) {
			ofProcesses(t)
			alone, out := t.TempDir(), t.TempDir()
			line := func(out string) []string {
				return shareSweep(out, "--methods", "mifa", "--rounds", "3000", "--checkpoint-every", "1ms", flag)
			}
			pass(t, line(alone)...)
			release := hold(t, strings.Replace(seedFolders(t, alone)[0], alone, out, 1)) // until both have begun
			one, two := startChild(t, "", line(out)...), startChild(t, "", line(out)...)
			one.until(t, "waits for ")
			two.until(t, "waits for ")
			release()
			if one.untilOr(t, "round 100/", two); !strings.Contains(one.text(), "round 100/") {
				one, two = two, one
			}
			must.OK(t, one.Process.Signal(syscall.SIGSTOP)) // or it would end before the other looks
			two.until(t, fmt.Sprintf("waits for 1 run of other workers: process %d on host", one.Process.Pid))
			must.OK(t, one.Process.Kill())
			log := two.end(t, statusOK)
			if !strings.Contains(log, "resumes from round ") || len(begun(log)) > 0 {
				t.Errorf("want that it goes on from a checkpoint:\n%s", log)
			}
			sameTree(t, "taken over", withoutTemps(timelessTree(t, out)), timelessTree(t, alone))
		})
	}
}

// Two processes share a tuning, and find what one alone finds. Without waiting, one ends where others make a run.
func TestShareTune(t *testing.T) {
	ofProcesses(t)
	more := []string{"--methods", "fedawe,mifa", "--availability", "sine"}
	alone, out := t.TempDir(), t.TempDir()
	pass(t, tuneOf(alone, tuneGrid, more...)...)
	var both [2]*child
	for i := range both {
		both[i] = startChild(t, "", tuneOf(out, tuneGrid, more...)...)
	}
	for _, c := range both {
		c.end(t, statusOK)
	}
	if got, want := trialsAndRates(t, out), trialsAndRates(t, alone); got != want {
		t.Errorf("two processes:\n%s\nwant what one alone found:\n%s", got, want)
	}

	held := must.Get(filepath.Glob(filepath.Join(out, "tune", "mifa_*", "seed-1001")))(t)[0]
	must.OK(t, os.RemoveAll(held))
	hold(t, held)
	o := rollcall(t, tuneOf(out, tuneGrid, append(more, "--no-wait")...)...)
	if o.status != statusTimeUp || !strings.HasSuffix(o.stderr, "tune tune: 1 run: "+notWaitedFor) ||
		strings.Contains(o.stdout, "\nmifa ") || !strings.Contains(o.stdout, "\nfedawe ") {
		t.Errorf("status %d, want 75 and the rates of fedawe alone:\n%s%s", o.status, o.stdout, o.stderr)
	}
}

// notWaitedFor ends the log of a command that leaves runs to others.
const notWaitedFor = "other workers train runs that were not waited for: repeat the command to resume\n"

// Without waiting a command ends when there is nothing left to begin, and says what others make. What they have ended
// meanwhile it has.
func TestNoWait(t *testing.T) {
	t.Run("sweep", func(t *testing.T) {
		out := t.TempDir()
		line := shareSweep(out, "--methods", "mifa,fedawe", "--seeds", "3,4", "--no-wait")
		pass(t, line...)
		held := filepath.Dir(only(t, out, "sweep/mifa_*/seed-3/run.json"))
		for _, dir := range []string{held, filepath.Dir(only(t, out, "sweep/fedawe_*/seed-4/run.json"))} {
			must.OK(t, os.RemoveAll(dir))
		}
		release := hold(t, held)
		o := rollcall(t, line...)
		want := "\nrollcall: table sweep: 1 run of 1 cell: " + notWaitedFor
		if o.status != statusTimeUp || !strings.HasSuffix(o.stderr, want) || strings.Contains(o.stderr, "waits for") {
			t.Errorf("status %d, want 75 and %q:\n%s", o.status, want, o.stderr)
		}
		if got := strings.Join(begun(o.stderr), ", "); got != "fedawe leaf stationary seed 4" {
			t.Errorf("begun: %q, want the run that nobody has", got)
		}
		if !strings.Contains(o.stdout, fmt.Sprintf("] running: trained by process %d on host ", os.Getpid())) {
			t.Errorf("stdout, want who makes a run:\n%s", o.stdout)
		}
		rows := summaryRows(t, out, "sweep")
		for _, row := range rows {
			if want := map[string]string{"mifa": "1", "fedawe": "2"}[row["method"]]; row["n"] != want ||
				len(rows) != 4 {
				t.Errorf("%d rows, %s with n = %s, want 4 with n = %s", len(rows), row["method"], row["n"], want)
			}
		}
		release()
		if o := pass(t, line...); strings.Contains(o.stderr, "not waited for") || len(begun(o.stderr)) != 1 {
			t.Errorf("want the run that is free now, and nothing left out:\n%s", o.stderr)
		}
	})
	t.Run("given back meanwhile", func(t *testing.T) {
		out := t.TempDir()
		line := shareSweep(out, "--methods", "mifa,fedawe", "--no-wait")
		pass(t, line...)
		must.OK(t, os.RemoveAll(filepath.Dir(only(t, out, "sweep/fedawe_*/seed-3/run.json"))))
		release := hold(t, filepath.Dir(only(t, out, "sweep/mifa_*/seed-3/run.json")))
		o := meanwhile(t, "fedawe leaf stationary seed 3: round 0/", release, line...)
		if o.status != statusOK || strings.Contains(o.stderr, "not waited for") {
			t.Errorf("status %d, want 0 and that nothing is left to others:\n%s", o.status, o.stderr)
		}
	})
	t.Run("figure", func(t *testing.T) {
		out := t.TempDir()
		line := []string{
			"figure", "cafed-i2", "--rounds", "3", "--clients", "6", "--seeds", "3,4", "--device", "cpu", "--no-wait",
			"--out", out,
		}
		pass(t, line...)
		svg := filepath.Join(out, "cafed-i2", "cafed-i2.svg")
		must.OK(t, os.Remove(svg))
		hold(t, seedFolders(t, out)[:2]...)
		o := rollcall(t, line...)
		want := "rollcall: figure cafed-i2: other workers train 2 runs of 1 line: " + notWaitedFor
		if o.status != statusTimeUp || !strings.HasSuffix(o.stderr, want) || o.stdout != "" {
			t.Errorf("status %d, stdout %q, want 75, nothing and %q:\n%s", o.status, o.stdout, want, o.stderr)
		}
		if _, err := os.Stat(svg); err == nil {
			t.Error("it is drawn, want that it is not")
		}
	})
}

// A command that waits for others says for whom, once, and ends when it is asked to.
func TestWaitInterrupted(t *testing.T) {
	for _, line := range []string{
		"sweep --methods mifa --data leaf --clients 5 --rounds 2 --seeds 3,4,5 --pack 2",
		"run --method mifa --data leaf --clients 5 --rounds 2",
	} {
		name, _, _ := strings.Cut(line, " ")
		t.Run(name, func(t *testing.T) {
			ofProcesses(t)
			out := t.TempDir()
			args := append(strings.Fields(line), "--device", "cpu", "--out", out)
			pass(t, args...)
			hold(t, seedFolders(t, out)...)
			c := startUntil(t, "waits for ", strings.Join(args, " "))
			time.Sleep(2500 * time.Millisecond) // in which it looks twice, and says nothing more
			log, took := c.endBy(t, syscall.SIGINT, statusInterrupted)
			t.Logf("ended %s after it was asked to", took)
			if n := strings.Count(log, "waits for"); n != 1 || !strings.HasSuffix(log, "\nrollcall: interrupted\n") {
				t.Errorf("said %d times that it waits, want once, and that it was interrupted:\n%s", n, log)
			}
			if n := strings.Count(log, "\n"); n != 2 {
				t.Errorf("%d lines, want 2:\n%s", n, log)
			}
		})
	}
}

// With --again a run is made anew even if another process has it while the command runs, but only looks at it.
func TestAgain(t *testing.T) {
	out := t.TempDir()
	line := shareSweep(out, "--methods", "mifa", "--seeds", "3,4")
	pass(t, line...)
	before := contentsBelow(t, out, results.RunFile)
	release := hold(t, filepath.Dir(only(t, out, "sweep/mifa_*/seed-3/run.json")))
	line = append(line, "--again")
	log := succeeded(t, meanwhile(t, "seed 4: round 100/100", release, line...), line).stderr
	for name, text := range contentsBelow(t, out, results.RunFile) {
		if before[name] == text {
			t.Errorf("%s is as it was, want the run anew:\n%s", name, log)
		}
	}
	runs := strings.Join(begun(log), ", ")
	if runs != "mifa leaf stationary seed 4, mifa leaf stationary seed 3" {
		t.Errorf("begun: %q, want both, seed 3 when it is free:\n%s", runs, log)
	}
}
