//go:build unix

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/internal/lock"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
)

// Kill -9 at any moment, of runs that write all the time, leaves nothing that the next run does not clear away, and
// nothing that the other commands stumble over.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees one process alone, and -short is for it")
	}
	kills := 8
	if longtest.On() {
		kills = 25
	}
	out, undisturbed := t.TempDir(), t.TempDir()
	args := []string{
		"sweep", "--methods", "fedawe,mifa", "--data", "leaf", "--clients", "5", "--rounds", "400",
		"--local-steps", "1", "--batch", "8", "--eval-every", "1", "--seeds", "3,4", "--pack", "2", "--device", "cpu",
		"--checkpoint-every", "1ms", "--out", out,
	}
	pass(t, append(args, "--out", undisturbed)...)
	temps := func() (found []string) {
		return slices.DeleteFunc(filesBelow(t, out), func(path string) bool { return !strings.HasSuffix(path, ".tmp") })
	}
	left, unfinished := 0, 0
	for k := range kills {
		cmd := process(t, append(args, "--again")...)
		must.OK(t, cmd.Start())
		time.Sleep(time.Duration(150+37*k%400) * time.Millisecond)
		_ = cmd.Process.Kill()
		if cmd.Wait() != nil {
			unfinished++
		}
		left += len(temps())
		if o := rollcall(t, "results", "list", out); o.status != statusOK &&
			!strings.Contains(o.stderr, "no such file") {
			t.Errorf("kill %d: list: %s", k+1, o.stderr)
		}
	}
	t.Logf("%d of %d children killed, %d temporary files seen", unfinished, kills, left)
	if unfinished == 0 || left == 0 {
		t.Errorf("%d of %d children killed, %d temporary files left, want some: the test is of nothing",
			unfinished, kills, left)
	}
	pass(t, args...)
	sameTree(t, "in the end", timelessTree(t, out), timelessTree(t, undisturbed))
	pass(t, "results", "verify", out)
	before := 0 // without the locks of runs
	for _, path := range filesBelow(t, out) {
		if filepath.Base(path) != lock.File {
			before++
		}
	}

	// One that another machine may be writing is no matter to any command.
	at := filepath.Join(filepath.Dir(only(t, out, "sweep/mifa_*/seed-3/curve.csv")), ".rollcall-ffffffff-X.tmp")
	must.OK(t, os.WriteFile(at, []byte("half a r"), 0o666))
	pass(t, "results", "list", out)
	pass(t, "results", "verify", out)
	into := filepath.Join(t.TempDir(), "all")
	pass(t, "results", "merge", out, "--out", into)
	if got := len(filesBelow(t, into)); got != before {
		t.Errorf("%d files merged, want %d, those of the runs and the summary: %s",
			got, before, fmt.Sprint(filesBelow(t, into)))
	}
}

// What is refused before its first row leaves no empty folders, and none of those that were there goes.
func TestEmptyFolders(t *testing.T) {
	for _, args := range [][]string{
		{"run", "--data", "svhn"}, {"figure", "fedawe-f5"}, {"figure", "fedawe-f7", "--rounds", "1"},
	} {
		there := filepath.Join(t.TempDir(), "there")
		must.OK(t, os.Mkdir(there, 0o777))
		for _, out := range []string{there, filepath.Join(there, "not", "yet")} {
			o := rollcall(t, append(args, "--device", "cpu", "--out", out)...)
			if o.status != statusFailure {
				t.Fatalf("%q: status %d, %s, want 1, since there are no data", args, o.status, o.stderr)
			}
			entries, err := os.ReadDir(there)
			if err != nil || len(entries) > 0 {
				t.Errorf("%q: %v, %v, want the folder as it was, empty", args, entries, err)
			}
		}
	}
}
