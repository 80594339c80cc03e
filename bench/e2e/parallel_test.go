//go:build unix

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/internal/must"
	"rollcall/results"
)

// parallelShop is a folder where GNU parallel starts rollcall, with small runs, and the page's commands with parallel.
type parallelShop struct {
	dir          string
	env          []string
	cards, parts string
}

// newParallelShop makes the folder; the test skips where there is no GNU parallel.
func newParallelShop(t *testing.T) *parallelShop {
	t.Helper()
	ofProcesses(t)
	out, err := exec.Command("parallel", "--version").Output()
	if err != nil || !strings.HasPrefix(string(out), "GNU parallel ") {
		t.Skipf("GNU parallel is not to be had here (apt-get install parallel): %v %.40s", err, out)
	}
	s := &parallelShop{dir: t.TempDir()}
	must.OK(t, os.Mkdir(filepath.Join(s.dir, "bin"), 0o777))
	must.OK(t, os.Symlink(must.Get(exec.LookPath("rollcall"))(t), filepath.Join(s.dir, "bin", "rollcall")))
	writeTinyData(t, s.dir)
	s.env = append(os.Environ(), "HOME="+s.dir, "ROLLCALL_DATA="+filepath.Join(s.dir, "data"))
	for _, c := range docsCommands(contents(t, "../../docs/cluster.md")) {
		switch {
		case strings.HasPrefix(c.text, "parallel -S "):
			s.parts = c.text
		case strings.HasPrefix(c.text, "parallel "):
			s.cards = c.text
		}
	}
	return s
}

func (s *parallelShop) run(line string) (said string, err error) {
	cmd := exec.Command("sh", "-ec", line)
	cmd.Dir, cmd.Env = s.dir, append(s.env, docsSmallRuns+"=1")
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// parallelEnds checks that a job log has so many jobs, each of which ended with the given status.
func parallelEnds(t *testing.T, log string, jobs int, status string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(contents(t, log)), "\n")
	if len(lines) != jobs+1 {
		t.Errorf("%s: %d jobs, want %d:\n%s", filepath.Base(log), len(lines)-1, jobs, strings.Join(lines, "\n"))
	}
	for _, line := range lines[1:] {
		if fields := strings.Split(line, "\t"); len(fields) < 9 || fields[6] != status || fields[7] != "0" {
			t.Errorf("%s: %q, want status %s, and no signal", filepath.Base(log), line, status)
		}
	}
}

// The commands of docs/cluster.md with GNU parallel make the bytes of one process: on one folder, and in parts.
func TestParallel(t *testing.T) {
	s := newParallelShop(t)
	run := func(line string) {
		t.Helper()
		if said, err := s.run(line); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, said)
		}
	}
	in := func(name string) string { return filepath.Join(s.dir, name) }
	t.Run("cards", func(t *testing.T) {
		run(s.cards)
		parallelEnds(t, in("cards.log"), 8, "0")
		run("rollcall table fedawe-2 --out alone")
		run("rollcall table fedawe-2")
		sameTree(t, "by eight processes", timelessTree(t, in("out")), timelessTree(t, in("alone")))
	})
	t.Run("parts", func(t *testing.T) {
		here := regexp.MustCompile(`-S .* (--retries)`).ReplaceAllString(s.parts, "$1")
		if here == s.parts {
			t.Fatalf("%q: want other machines, which this test leaves out", s.parts)
		}
		run(here)
		parallelEnds(t, in("parts.log"), 3, "0")
		run("rollcall results merge part1 part2 part3 --out merged")
		run("rollcall table cafed-1 --out merged")
		run("rollcall table cafed-1 --out whole")
		sameTree(t, "merged", timelessTree(t, in("merged")), timelessTree(t, in("whole")))
	})
	t.Run("a command that cannot be meant", func(t *testing.T) {
		line := strings.NewReplacer("cards.log", "wrong.log", "$(seq 8)", "1").Replace(s.cards)
		line = strings.Replace(line, "--device", "--rounds many --device", 1)
		if said, err := s.run(line); err == nil {
			t.Errorf("%s: no error, want one\n%s", line, said)
		}
		parallelEnds(t, in("wrong.log"), 1, "2")
	})
}

// parallelRounds is a sweep whose rounds take longer than the 350 ms that parallel leaves without --termseq.
const parallelRounds = "rollcall sweep --methods mifa --availability stationary --data synthetic --train-size 4000 " +
	"--test-size 20 --clients 80 --batch 32 --local-steps 10 --rounds 4000 --eval-every 1 --eval-train=false " +
	"--checkpoint-every 10m --threads 1 --device cpu"

// With --termseq as in docs/cluster.md, processes that parallel ends write checkpoints.
func TestParallelEnd(t *testing.T) {
	s := newParallelShop(t)
	end := regexp.MustCompile(`--termseq \S+`).FindString(s.cards)
	if end == "" {
		t.Fatalf("%q: no --termseq, want it", s.cards)
	}
	words := append(strings.Fields(end), parallelRounds+" --out {} >{}.log 2>&1", ":::", "out1")
	cmd := exec.Command("parallel", words...)
	cmd.Dir, cmd.Env = s.dir, s.env
	must.OK(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // parallel's own status says nothing here
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it has ended as a rule
		<-ended
	})
	log := func() string {
		out, _ := exec.Command("cat", filepath.Join(s.dir, "out1.log")).Output()
		return string(out)
	}
	for began := time.Now(); !strings.Contains(log(), "round 1/4000"); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("after %v: %s\nwant round 1", patience, log())
		}
	}
	must.OK(t, cmd.Process.Signal(syscall.SIGTERM))
	<-ended
	found, err := filepath.Glob(filepath.Join(s.dir, "out1", "*", "*", "seed-*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%q, %v, want a run:\n%s", found, err, log())
	}
	info, err := results.ReadRunInfo(filepath.Join(found[0], results.RunFile))
	if err != nil || info.Status != results.RunInterrupted || len(checkpointed(t, filepath.Join(s.dir, "out1"))) != 1 {
		t.Errorf("%+v, %v, want an interrupted run and its checkpoint:\n%s", info, err, log())
	}
}
