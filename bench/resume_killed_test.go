//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/algos"
	"rollcall/bench/settings"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/results"
)

// quickFolder returns a folder in memory where there is one, so that checkpoints, which take a hundredth of a run's
// time at most, are many.
func quickFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "rollcall-test-*")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// The runs that are killed, by the nets they train.
const (
	leafRun   = "--data leaf --clients 6 --rounds 200 --local-steps 1 --batch 8 --eval-every 3"
	binaryRun = "--data binary --clients 6 --rounds 200 --local-steps 1 --batch 8 --eval-every 3"
	lenetRun  = "--data synthetic --net lenet5 --train-size 100 --test-size 20 --clients 4 --rounds 100 --lr 0.001 " +
		"--local-steps 1 --batch 2 --eval-every 10"
	resnetRun = "--data synthetic --net resnet20 --train-size 60 --test-size 10 --clients 4 --rounds 20 --lr 0.001 " +
		"--local-steps 1 --batch 2 --eval-every 5"
)

// killedLines returns the commands that are killed, TRACE and OUT in them to be replaced.
func killedLines() (lines []string) {
	lines = []string{
		"run --method ca-fed --availability markov --decisions --events " + leafRun,
		"run --method fedawe --momentum 0.9 --save-model=all " + strings.Replace(resnetRun, "rounds 20", "rounds 8", 1),
		"sweep --methods fedawe,mifa --seeds 3,4 --pack 2 --data leaf --clients 4 --rounds 60 --eval-every 1",
		"figure cafed-i2 --rounds 40 --clients 6 --seeds 3",
	}
	if !longtest.On() {
		return lines
	}
	lines = append(lines,
		"table cafed-1 --rounds 40 --clients 6 --seeds 3 --methods ca-fed,unbiased --data binary --pack 2",
		"figure cafed-f1a --rounds 40 --clients 6 --seeds 3 --pack 2",
	)
	more := []string{
		"--momentum 0.9", "--availability markov", "--availability clusters --clusters 2",
		"--availability trace --trace TRACE --trace-end repeat", "--availability sine --events",
		"--availability interleaved-sine --save-model", "--momentum 0.5 --availability uniform",
	}
	for i, method := range algos.Names() {
		line := strings.Join(append([]string{"run", "--method", method}, ratesOf(method)...), " ")
		if slices.Contains(settings.Weighted(), method) {
			line += " --decisions"
		}
		lines = append(lines, line+" "+more[i%len(more)]+" "+[]string{leafRun, binaryRun}[i%2])
		lines = append(lines, line+" "+more[(i+1)%len(more)]+" "+lenetRun)
		lines = append(lines, line+" "+more[(i+2)%len(more)]+" "+resnetRun)
	}
	return append(lines, "run --method fedawe --draws numpy "+lenetRun, "run --method mifa --draws numpy "+resnetRun)
}

// Killed at random, once to three times, and repeated, or taken over by a process that waits beside: the same bytes as
// of a command that nobody disturbed, and nothing else. A good part of the runs goes on from a checkpoint.
func TestKilledRunsGoOn(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees one process alone, and -short is for it")
	}
	top := quickFolder(t)
	trace := filepath.Join(top, "trace.csv")
	must.OK(t, os.WriteFile(trace, []byte("client,start,end\n0,0,9\n1,2,5\n2,3,20\n3,0,4\n3,7,19\n"), 0o666))
	draw := rand.New(rand.NewPCG(1, 1))
	var killings []*killing
	for i, line := range killedLines() {
		k := &killing{
			t: t, draw: draw, name: fmt.Sprint(i, " ", line), out: filepath.Join(top, fmt.Sprint(i)),
			line: strings.ReplaceAll(line, "TRACE", trace) + " --device cpu --threads 1 --checkpoint-every 1ms --out ",
		}
		k.undisturbed()
		killings = append(killings, k)
	}
	killedOften(t, killings, 8)
}

// killedOften disturbs each command twice, and then as often as it takes for enough kills, a quarter of which left a
// checkpoint: a moment drawn may lie before the first checkpoint or behind the end, on a busy machine often.
func killedOften(t *testing.T, killings []*killing, enough int) {
	t.Helper()
	tries := max(20, 2*enough/len(killings))
	kills, resumed := 0, 0
	for try := 0; try < 2 || try < tries && (kills < enough || resumed < kills/4); try++ {
		for _, k := range killings {
			k.disturbed(try)
		}
		kills, resumed = 0, 0
		for _, k := range killings {
			kills, resumed = kills+k.kills, resumed+k.resumed
		}
	}
	t.Logf("%d kills, after which %d runs went on from a checkpoint", kills, resumed)
	if kills < enough || resumed < kills/4 {
		t.Errorf("%d kills, %d runs gone on, want %d and a quarter of that at least: the test is of nothing",
			kills, resumed, enough)
	}
}

// killing is a command that is killed at random.
type killing struct {
	t    *testing.T
	draw *rand.Rand
	name string
	line string // but for the output folder

	// Undisturbed:
	out    string
	took   time.Duration
	status int // of a run that diverges 1
	files  map[string]string

	kills, resumed int // so far
}

func (k *killing) begin(out string) *exec.Cmd {
	k.t.Helper()
	cmd := process(k.t, append(strings.Fields(k.line), out)...)
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	return cmd
}

// undisturbed runs the command once.
func (k *killing) undisturbed() {
	k.t.Helper()
	began := time.Now()
	cmd := k.begin(k.out)
	_ = cmd.Wait() // the status is looked at
	k.took, k.status = time.Since(began), cmd.ProcessState.ExitCode()
	if diverged := strings.Contains(fmt.Sprint(cmd.Stderr), "want a finite number"); k.status != statusOK && !diverged {
		k.t.Fatalf("%s: status %d, want 0\n%s", k.name, k.status, cmd.Stderr)
	}
	k.files = k.tree(k.out)
}

// disturbed runs the command in a folder of its own, killed and repeated, or at every second try killed and taken over.
func (k *killing) disturbed(try int) {
	k.t.Helper()
	out := fmt.Sprint(k.out, "-", try)
	if try%2 == 1 {
		k.takenOver(out)
	} else {
		k.repeated(out)
	}
	sameTree(k.t, fmt.Sprintf("%s: try %d", k.name, try), k.tree(out), k.files)
}

// end waits for a process that has to end as the undisturbed one.
func (k *killing) end(cmd *exec.Cmd) {
	k.t.Helper()
	_ = cmd.Wait() // the status is looked at
	k.ended(cmd)
}

// ended checks that a process that is over ended as the undisturbed one.
func (k *killing) ended(cmd *exec.Cmd) {
	k.t.Helper()
	if status := cmd.ProcessState.ExitCode(); status != k.status {
		k.t.Fatalf("%s: status %d, want %d\n%s", k.name, status, k.status, cmd.Stderr)
	}
	k.count(cmd)
}

func (k *killing) count(cmd *exec.Cmd) {
	k.resumed += strings.Count(fmt.Sprint(cmd.Stderr), ": goes on from round ")
}

// kill kills a process at some moment of the time that the command takes.
func (k *killing) kill(cmd *exec.Cmd) {
	time.Sleep(time.Duration(k.draw.Float64() * float64(k.took)))
	_ = cmd.Process.Kill() // it may be over
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() < 0 {
		k.kills++
	}
	k.count(cmd)
}

func (k *killing) repeated(out string) {
	k.t.Helper()
	for range 1 + k.draw.IntN(3) {
		k.kill(k.begin(out))
		if _, err := os.Stat(out); err == nil {
			if o := rollcall(k.t, "results", "list", out); o.status != statusOK {
				k.t.Errorf("%s: list of what was killed: %s", k.name, o.stderr)
			}
		}
	}
	k.end(k.begin(out))
}

func (k *killing) takenOver(out string) {
	k.t.Helper()
	first, second := k.begin(out), k.begin(out)
	ended := make(chan struct{})
	go func() {
		_ = second.Wait() // the status is looked at
		close(ended)
	}()
	k.kill(first)
	late := false // killed when the second had ended
	select {
	case <-ended:
		late = true
	default:
	}
	<-ended
	k.ended(second)
	// Or killed in a folder that the second was done with. What the first has left then is for the next command.
	if late || k.hasClaimOf(out, first.Process.Pid) {
		k.end(k.begin(out))
	}
}

// hasClaimOf reports whether a process has left a claim.
func (k *killing) hasClaimOf(out string, pid int) bool {
	k.t.Helper()
	claims, err := filepath.Glob(filepath.Join(out, "*", "*", "seed-*", ".claim-*"))
	if err != nil {
		k.t.Fatal(err)
	}
	return slices.ContainsFunc(claims, func(path string) bool {
		return strings.Contains(contents(k.t, path), fmt.Sprintf("\npid %010d\n", pid))
	})
}

// tree returns the files that are the same whenever the command is run. Times in curves do not go back.
func (k *killing) tree(out string) map[string]string {
	k.t.Helper()
	files := timelessTree(k.t, out)
	for name := range files {
		if strings.Contains(name, "tfevents") || strings.HasSuffix(name, ".html") { // which say when they were made
			files[name] = ""
		}
		if filepath.Base(name) != results.CurveFile {
			continue
		}
		last := 0.0
		_, rows := table(k.t, contents(k.t, filepath.Join(out, name)))
		for _, row := range rows {
			elapsed := number(k.t, row["elapsed_s"])
			if elapsed < last {
				k.t.Errorf("%s: %s: elapsed_s %g after %g", k.name, name, elapsed, last)
			}
			last = elapsed
		}
	}
	return files
}
