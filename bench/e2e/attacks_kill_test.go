//go:build unix

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/results"
)

// process returns the program with a command line, as a process of its own.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	program := must.Get(os.Executable())(t)
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stderr = new(bytes.Buffer)
	return cmd
}

// mustEnd waits for a process that has to succeed.
func mustEnd(t *testing.T, cmd *exec.Cmd, err error) {
	t.Helper()
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args[1:], " "), err, cmd.Stderr)
	}
}

// withoutTemps drops the temporary files of killed processes, which later ones sweep.
func withoutTemps(tree map[string]string) map[string]string {
	for name := range tree {
		if strings.HasPrefix(filepath.Base(name), ".rollcall-") {
			delete(tree, name)
		}
	}
	return tree
}

// Two sweeps at once in one folder, of other methods and of the same: all runs are there, and the summary is of all.
func TestAttackAtOnce(t *testing.T) {
	trials := 3
	if longtest.On() {
		trials = 100
	}
	whole := t.TempDir()
	pass(t, attackSweep(whole, "--methods", "fedawe,mifa,fedvarp", "--seeds", "3,4")...)
	want := timelessTree(t, whole)
	_, wanted := table(t, want["sweep/"+results.SummaryFile])
	for trial := range trials {
		out := t.TempDir()
		one := process(t, attackSweep(out, "--methods", "fedawe,mifa", "--seeds", "3,4")...)
		two := process(t, attackSweep(out, "--methods", "mifa,fedvarp", "--seeds", "3,4")...)
		begun := []error{one.Start(), two.Start()}
		mustEnd(t, one, begun[0])
		mustEnd(t, two, begun[1])
		got := timelessTree(t, out)
		_, rows := table(t, got["sweep/"+results.SummaryFile])
		if len(rows) != len(wanted) {
			t.Errorf("trial %d: %d rows in the summary, want %d", trial, len(rows), len(wanted))
		}
		for _, r := range rows {
			if r["n"] != "2" || r["status"] != "ok" {
				t.Errorf("trial %d: %v, want two seeds", trial, r)
			}
		}
		delete(got, "sweep/"+results.SummaryFile)
		for name, text := range want {
			if name != "sweep/"+results.SummaryFile && got[name] != text {
				t.Errorf("trial %d: %s is not that of one sweep alone", trial, name)
			}
		}
	}
}
