//go:build unix

package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"rollcall/bench/run/claim"
	"rollcall/internal/must"
	"rollcall/results"
)

// hold claims the folders of runs for the test's own process, until release is called.
func hold(t *testing.T, dirs ...string) (release func()) {
	t.Helper()
	var w claim.Watch
	var claims []*claim.Claim
	for _, dir := range dirs {
		c, holder, err := w.Try(dir)
		if c == nil {
			t.Fatalf("%s: %v, %v, want its claim", dir, holder, err)
		}
		claims = append(claims, c)
	}
	release = sync.OnceFunc(func() {
		for _, c := range claims {
			if err := c.Release(); err != nil {
				t.Error(err)
			}
		}
	})
	t.Cleanup(release)
	return release
}

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
		{
			"tables",
			[]string{"table cafed-1 --rounds 4 --clients 6 --seeds 3,4 --data binary --device cpu"},
			slices.Repeat([]string{"table cafed-1 --rounds 4 --clients 6 --seeds 3,4 --data binary --device cpu"}, 2),
			false,
		},
		{
			"figures",
			[]string{"figure cafed-i2 --rounds 3 --clients 6 --seeds 3,4 --device cpu"},
			slices.Repeat([]string{"figure cafed-i2 --rounds 3 --clients 6 --seeds 3,4 --device cpu"}, 3), false,
		},
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
				if strings.Contains(log, "lost") || strings.Contains(log, "tried again") {
					t.Errorf("want nothing lost or tried again:\n%s", log)
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
