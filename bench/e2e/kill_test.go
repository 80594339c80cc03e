package e2e

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
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

// killedLines returns the commands that are killed, TRACE, FINISHED and the output folder to be added. Those that train
// end with --rounds and what follows it.
func killedLines() (lines []string) {
	lines = []string{
		"run --method ca-fed --availability markov --decisions --events " + leafRun,
		"run --method fedawe --momentum 0.9 --save-model=all " + strings.Replace(resnetRun, "rounds 20", "rounds 8", 1),
		"sweep --methods fedawe,mifa --seeds 3,4 --pack 2 --data leaf --clients 4 --rounds 60 --eval-every 1",
		"figure cafed-i2 --rounds 40 --clients 6 --seeds 3",
		"table cafed-1 --rounds 40 --clients 6 --seeds 3 --methods ca-fed,unbiased --data binary --pack 2",
		"tune --methods fedawe,mifa --availability sine --data leaf --clients 8 --rounds 60 --local-steps 2 " +
			"--batch 8 --eval-every 10 --hold-out 0.2 --lrs 0.3,0.03 --server-lrs 1,3",
		"results merge FINISHED --out",
		"report FINISHED --to",
	}
	if !longtest.On() {
		return lines
	}
	lines = append(lines, "figure cafed-f1a --rounds 40 --clients 6 --seeds 3 --pack 2")
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
		net := []string{leafRun, binaryRun, lenetRun, resnetRun}[i%4]
		lines = append(lines, line+" "+more[i%len(more)]+" "+net)
	}
	return append(lines, "run --method fedawe --draws numpy "+lenetRun, "run --method mifa --draws numpy "+resnetRun)
}

// Killed at random, once to three times, and repeated, or with a second process beside, with and without flock: the
// same bytes as of a command that nobody disturbed, and nothing else. Where a checkpoint is left, the run goes on from
// there.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees one process alone, and -short is for it")
	}
	top := quickFolder(t)
	trace, finished := filepath.Join(top, "trace.csv"), filepath.Join(top, "finished")
	must.OK(t, os.WriteFile(trace, []byte("client,start,end\n0,0,9\n1,2,5\n2,3,20\n3,0,4\n3,7,19\n"), 0o666))
	pass(t, smallSweep(finished, "--methods", "fedawe,mifa,fedvarp", "--seeds", "3,4")...)
	draw := rand.New(rand.NewPCG(1, 1))
	var killings []*killing
	for i, line := range killedLines() {
		k := &killing{
			t: t, draw: draw, name: fmt.Sprint(i, " ", line), out: filepath.Join(top, fmt.Sprint(i)),
			line: strings.NewReplacer("TRACE", trace, "FINISHED", finished).Replace(line) + " ",
		}
		if strings.Contains(line, "--rounds") {
			k.line += "--device cpu --threads 1 --checkpoint-every 1ms --out "
		}
		k.undisturbed()
		killings = append(killings, k)
	}
	trials := 2 * len(killings)
	if longtest.On() {
		trials = 300
	}
	killedOften(t, killings, trials, 8)
}

// MIFA and FedVARP, whose sum is added anew in rounds 100 and 200, with rows in memory and in a file: in half of the
// rounds nobody is there.
func TestSumKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees one process alone, and -short is for it")
	}
	top := quickFolder(t)
	var killings []*killing
	for i, line := range []string{
		"mifa --memory raw --rows file", "mifa --memory rate", "fedvarp --memory raw",
		"fedvarp --memory rate --rows file",
	} {
		k := &killing{
			t: t, draw: rand.New(rand.NewPCG(3, uint64(i))), name: line, out: filepath.Join(top, fmt.Sprint(i)),
			line: "run --p 0.1 --method " + line + " " + leafRun +
				" --device cpu --threads 1 --checkpoint-every 1ms --out ",
		}
		k.undisturbed()
		killings = append(killings, k)
	}
	enough := 4
	if longtest.On() {
		enough = 80
	}
	killedOften(t, killings, 2*enough, enough)
}

// killedOften disturbs the commands in turn so many times, and then as often as it takes for enough kills, a quarter of
// which left a checkpoint: a moment drawn may lie before the first checkpoint or behind the end, on a busy machine
// often.
func killedOften(t *testing.T, killings []*killing, trials, enough int) {
	t.Helper()
	kills, resumed, made := 0, 0, [4]int{}
	for n := 0; n < trials || n < 10*trials && (kills < enough || resumed < kills/4); n++ {
		try := n / len(killings)
		k := killings[n%len(killings)]
		way := (n + try) % 4 // so that every command comes in every way
		if !canRefuseFlock {
			way %= 2
		}
		k.disturbed(try, way)
		made[way]++
		kills, resumed = 0, 0
		for _, k := range killings {
			kills, resumed = kills+k.kills, resumed+k.resumed
		}
	}
	t.Logf("%d trials with flock, %d with two processes, %d without flock, %d of these with two processes; "+
		"%d kills, after which %d runs went on from a checkpoint", made[0], made[1], made[2], made[3], kills, resumed)
	if kills < enough || resumed < kills/4 {
		t.Errorf("%d kills, %d runs gone on, want %d and a quarter of that at least: the test is of nothing",
			kills, resumed, enough)
	}
}

// flockRefused is the variable under which a child has no flock, where the tests can refuse it.
const flockRefused = "ROLLCALL_TEST_NO_FLOCK"

var canRefuseFlock bool

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

func (k *killing) begin(out string, more ...string) *exec.Cmd {
	k.t.Helper()
	cmd := process(k.t, append(strings.Fields(k.line), out)...)
	cmd.Env = append(cmd.Env, more...)
	must.OK(k.t, cmd.Start())
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

// disturbed runs the command in a folder of its own, killed and repeated, or (1 and 3) killed with a second process
// beside, with flock or (2 and 3) without.
func (k *killing) disturbed(try, way int) {
	k.t.Helper()
	out := fmt.Sprint(k.out, "-", try)
	var env []string
	if way >= 2 {
		env = []string{flockRefused + "=1"}
	}
	if way%2 == 1 {
		k.beside(out, env)
	} else {
		for range 1 + k.draw.IntN(3) {
			k.kill(k.begin(out, env...))
			if _, err := os.Stat(out); err == nil {
				if o := rollcall(k.t, "results", "list", out); o.status != statusOK {
					k.t.Errorf("%s: list of what was killed: %s", k.name, o.stderr)
				}
			}
		}
		k.last(out, env)
	}
	tree := k.tree(out)
	if way >= 2 {
		tree = withoutTemps(tree)
	}
	sameTree(k.t, fmt.Sprintf("%s: try %d, way %d", k.name, try, way), tree, k.files)
	must.OK(k.t, os.RemoveAll(out))
}

// last runs the command to its end. It must resume every run that has a checkpoint and is not complete; a tuning may
// have dropped it.
func (k *killing) last(out string, env []string) {
	k.t.Helper()
	saved := map[string]bool{}
	for _, path := range must.Get(filepath.Glob(filepath.Join(out, "*", "*", "seed-*", "checkpoint-*")))(k.t) {
		dir := filepath.Dir(path)
		info, err := results.ReadRunInfo(filepath.Join(dir, results.RunFile))
		saved[dir] = err != nil || info.Status != results.RunComplete && info.Status != results.RunDiverged
	}
	cmd := k.begin(out, env...)
	_ = cmd.Wait() // the status is looked at
	k.ended(cmd)
	for dir, unfinished := range saved {
		if unfinished && !strings.HasPrefix(k.line, "tune ") &&
			!strings.Contains(fmt.Sprint(cmd.Stderr), dir+": resumes from round ") {
			k.t.Errorf("%s: %s has a checkpoint, want it resumed:\n%s", k.name, dir, cmd.Stderr)
		}
	}
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
	k.resumed += strings.Count(fmt.Sprint(cmd.Stderr), ": resumes from round ")
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

// beside kills a process beside which another one works, or waits.
func (k *killing) beside(out string, env []string) {
	k.t.Helper()
	first, second := k.begin(out, env...), k.begin(out, env...)
	ended := make(chan struct{})
	go func() {
		_ = second.Wait() // the status is looked at
		close(ended)
	}()
	k.kill(first)
	if k.draw.IntN(2) == 0 { // soon after, as by the end of a job
		time.Sleep(time.Duration(k.draw.Float64() * float64(k.took) / 4))
		_ = second.Process.Kill() // it may be over
	}
	<-ended
	if second.ProcessState.ExitCode() < 0 {
		k.kills++
		k.count(second)
	} else {
		k.ended(second)
	}
	k.last(out, env) // the first may have been killed in a folder that the second was done with
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

// keeper is a method whose state has all that a checkpoint can hold: rows, of the server and of each client, arrays of
// whole numbers and of others, single numbers, and random draws.
const keeper = "testdata/fedaum.py"

// keeperIn returns a copy of the method's file in a folder: its path then tells the processes of this test from those
// of others.
func keeperIn(t *testing.T, dir string) string {
	t.Helper()
	return script(t, dir, "fedaum", contents(t, keeper))
}

// runningWith returns the processes that have a text in their command line.
func runningWith(t *testing.T, text string) (found []string) {
	t.Helper()
	for _, path := range must.Get(filepath.Glob("/proc/[0-9]*/cmdline"))(t) {
		line, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(line), text) { // it may be gone
			found = append(found, fmt.Sprintf("%s: %q", path, line))
		}
	}
	return found
}

// nonePython checks that the processes of a method in a file have ended, or do so within seconds.
func nonePython(t *testing.T, file string) {
	t.Helper()
	var left []string
	for until := time.Now().Add(5 * time.Second); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if left = runningWith(t, file); len(left) == 0 {
			return
		}
	}
	t.Errorf("5 s after the last command ended, these are still there:\n%s", strings.Join(left, "\n"))
}

// needsProc skips a test that lists processes where it cannot.
func needsProc(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skipf("left out: %v, in which processes are looked for", err)
	}
}

// A run of a method in Python that is killed at random and repeated, or taken over, has the bytes of one that nobody
// disturbed, and no process of the method outlives the command.
func TestPythonKilled(t *testing.T) {
	ofProcesses(t)
	needsPython(t)
	needsProc(t)
	top := quickFolder(t)
	file := keeperIn(t, top)
	line := "run --method " + file + " --availability sine --momentum 0.9 --fedaum-cutoff 5 "
	// Rounds enough that most of the time is theirs, and not that of two Pythons that start.
	killings := []*killing{{line: line + strings.Replace(leafRun, "rounds 200", "rounds 1000", 1)}}
	enough := 5
	if longtest.On() {
		enough = 100
		killings = append(killings, &killing{line: line + resnetRun}) // with running statistics
	}
	for i, k := range killings {
		k.t, k.draw, k.name = t, rand.New(rand.NewPCG(2, uint64(i))), k.line
		k.out = filepath.Join(top, fmt.Sprint(i))
		k.line += " --device cpu --threads 1 --checkpoint-every 1ms --out "
		k.undisturbed()
	}
	killedOften(t, killings, 4*len(killings), enough)
	nonePython(t, file)
}

// Ctrl-C reaches the whole group of processes. The command ends in good order at any moment: with a checkpoint if the
// run has begun, and without a traceback of Python, also if Python was just starting.
func TestPythonInterrupted(t *testing.T) {
	ofProcesses(t)
	needsPython(t)
	needsProc(t)
	top := quickFolder(t)
	file := keeperIn(t, top)
	long := "run --method " + file + longRun + "--grace 20s --out "

	// At work: the Python process is there, and ends with the command.
	out := filepath.Join(top, "at-work")
	run := startUntil(t, ": round 20/", long+out)
	if found := runningWith(t, file+"\x00"); len(found) < 2 { // the command itself has it behind --method
		t.Errorf("%q are there, want the command and a process of the method: the test is of nothing", found)
	}
	log, _ := run.endBy(t, syscall.SIGINT, statusInterrupted)
	if strings.Contains(log, "Traceback") || !strings.HasSuffix(log, resumesLine) {
		t.Errorf("%q, want that it was interrupted", log)
	}
	nonePython(t, file)
	left := must.Get(filepath.Glob(filepath.Join(out, "run/*/seed-*/checkpoint-*.safetensors")))(t)
	if len(left) == 0 {
		t.Errorf("no checkpoint in %s, want one", out)
	}
	startUntil(t, ": resumes from round ", long+out).endBy(t, syscall.SIGINT, statusInterrupted)

	// At any moment, by the terminal.
	moments := 4
	if longtest.On() {
		moments = 60
	}
	for i := range moments {
		out := filepath.Join(top, fmt.Sprint("moment-", i))
		cmd := process(t, strings.Fields(long+out)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		stderr := new(strings.Builder)
		cmd.Stdout, cmd.Stderr = io.Discard, stderr
		must.OK(t, cmd.Start())
		// The test binary is up after 0.1 s as a rule; Python then starts twice within a second.
		after := 150*time.Millisecond + time.Duration(i)*time.Second/time.Duration(moments)
		time.Sleep(after)
		must.OK(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGINT))
		_ = cmd.Wait() // the status is looked at
		status := cmd.ProcessState.ExitCode()
		if status < 0 { // before the command minded signals
			status = statusInterrupted
		}
		if status != statusInterrupted || strings.Contains(stderr.String(), "Traceback") ||
			strings.Contains(stderr.String(), "has ended") {
			t.Errorf("SIGINT after %s: %v, want status 130 without a traceback:\n%s", after, cmd.ProcessState, stderr)
		}
	}
	nonePython(t, file)
}
