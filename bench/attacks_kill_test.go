//go:build unix

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// Killed at random, once to three times, and repeated: the same files as of a command that nobody disturbed.
func TestAttackKilled(t *testing.T) {
	trials := 2
	if testing.Short() {
		t.Skip("the race detector sees one process alone, and -short is for it")
	}
	if longtest.On() {
		trials = 60
	}
	for _, line := range []string{
		"run --method ca-fed --availability markov --data leaf --clients 4 --rounds 20 --eval-every 1 " +
			"--decisions --events --out OUT",
		"sweep --methods fedawe,mifa --data leaf --clients 4 --rounds 10 --eval-every 1 --seeds 3,4 --pack 2 --out OUT",
		"table cafed-1 --rounds 3 --clients 6 --seeds 3 --methods ca-fed --data binary --out OUT",
		"figure cafed-i2 --rounds 3 --clients 6 --seeds 3 --out OUT",
		"results merge FINISHED --out OUT",
		"report FINISHED --to OUT/report",
	} {
		name := strings.Join(strings.Fields(line)[:2], " ")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			finished := filepath.Join(top, "finished")
			if strings.Contains(line, "FINISHED") {
				pass(t, attackSweep(finished, "--methods", "fedawe,mifa,fedvarp", "--seeds", "3,4")...)
			}
			args := func(out string) []string {
				if strings.Contains(line, "--rounds") {
					line += " --device cpu"
				}
				return strings.Fields(strings.NewReplacer("FINISHED", finished, "OUT", out).Replace(line))
			}
			tree := func(out string) map[string]string {
				files := withoutTemps(timelessTree(t, out))
				for name := range files {
					if strings.HasSuffix(name, ".html") || strings.Contains(name, "tfevents") {
						files[name] = "" // which say when they were made
					}
				}
				return files
			}
			undisturbed := filepath.Join(top, "undisturbed")
			began := time.Now()
			cmd := process(t, args(undisturbed)...)
			mustEnd(t, cmd, cmd.Start())
			took := time.Since(began)
			want := tree(undisturbed)
			draw := rand.New(rand.NewPCG(1, uint64(len(line))))
			for trial := range trials {
				out := filepath.Join(top, fmt.Sprint(trial))
				for range 1 + draw.IntN(3) {
					cmd := process(t, args(out)...)
					must.OK(t, cmd.Start())
					time.Sleep(time.Duration(draw.Float64() * float64(took)))
					_ = cmd.Process.Kill() // it may be over
					_ = cmd.Wait()
				}
				if _, err := os.Stat(out); err == nil {
					if o := rollcall(t, "results", "list", out); o.status != statusOK {
						t.Errorf("trial %d: list of what was killed: %s", trial, o.stderr)
					}
				}
				cmd := process(t, args(out)...)
				mustEnd(t, cmd, cmd.Start())
				sameTree(t, fmt.Sprint("trial ", trial), tree(out), want)
			}
		})
	}
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
