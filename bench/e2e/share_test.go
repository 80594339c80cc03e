//go:build unix

package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
)

// seedFolders returns the folders of the runs below out, relative to it.
func seedFolders(t *testing.T, out string) (dirs []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(out, "*", "*", "seed-*"))
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: %q, %v, want runs", out, found, err)
	}
	for _, dir := range found {
		name := must.Get(filepath.Rel(out, dir))(t)
		dirs = append(dirs, name)
	}
	return dirs
}

// begun returns which runs a log says were begun, without their places in the list of the command.
func begun(log string) (runs []string) {
	for _, m := range regexp.MustCompile(`(?m)^(?:\[\d+/\d+\] )?(.*): round 0/`).FindAllStringSubmatch(log, -1) {
		runs = append(runs, m[1])
	}
	return runs
}

// sortedLines sorts the rows of a summary: two commands with other lists have other orders.
func sortedLines(tree map[string]string) map[string]string {
	tree = maps.Clone(tree)
	for name, text := range tree {
		if filepath.Base(name) == results.SummaryFile {
			lines := slices.Sorted(strings.Lines(text))
			tree[name] = strings.Join(lines, "")
		}
	}
	return tree
}

// shareSweep are the arguments of a sweep whose runs take a tenth of a second each.
func shareSweep(out string, more ...string) []string {
	return append([]string{
		"sweep", "--data", "leaf", "--clients", "5", "--rounds", "100", "--local-steps", "2", "--batch", "8",
		"--eval-every", "50", "--device", "cpu", "--threads", "2", "--out", out,
	}, more...)
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
				dirs = append(dirs, filepath.Join(out, dir))
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

// contentsBelow returns the files of a name below a folder, as they are; "": of any name.
func contentsBelow(t *testing.T, dir, name string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, path := range filesBelow(t, dir) {
		if name == "" || filepath.Base(path) == name {
			texts[path] = contents(t, path)
		}
	}
	return texts
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
			release := hold(t, filepath.Join(out, seedFolders(t, alone)[0])) // until both have begun
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
