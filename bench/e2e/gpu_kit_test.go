package e2e

import (
	"bufio"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rollcall/internal/must"
)

// The stand-ins of what nets/gpu/card.sh runs on a card's machine. They do the least by which every stage passes.
var kitStubs = map[string]string{
	"bin/gpu-kit/rollcall": `
command=$1 clients=8
while (($#)); do
  case $1 in --*) name=${1#--}; declare "${name//-/_}=${2:-}" ;; esac
  shift
done
engine=cuda-sm90
[[ ${device:-} != cpu ]] || engine=cpu-avx2
case $command in
  devices)
    [[ -v check ]] || { echo 'cuda:0   Stub, 80 GiB, compute capability 9.0, driver for CUDA 12.4: usable'; exit; }
    printf 'cuda:0  %s\n' 'card      right  0.01 s  Stub' 'launches  right  0.00 s  3 of 3 kernels'
    echo 'cuda:0 (Stub, sm_90): right'
    ;;
  bench)
    mkdir -p "$out"
    [[ -f $out/bench.csv ]] || echo rounds,engine,precision,active,client_steps_per_s >"$out/bench.csv"
    echo "10,$engine,$precision,37.2,40000" >>"$out/bench.csv"
    [[ ! -v profile ]] || echo '  kernel  launches  µs each'
    ;;
  run)
    folder=$out/run/fedawe_stub/seed-${seed:-3} loss=$((1000 + 10 * ${seed:-3}))
    mkdir -p "$folder"
    echo round,active,test_loss,test_acc,engine,precision >"$folder/curve.csv"
    for ((round = 0; round <= rounds; round++)); do
      echo "$round,3,2.$loss,0.5,$engine,$precision" >>"$folder/curve.csv"
    done
    ;;
  *) exit 1 ;;
esac`,
	"bin/gpu-kit/driver.test":  testStub,
	"bin/gpu-kit/kernels.test": testStub,
	"bin/gpu-kit/e2e.test":     testStub,
	"bin/gpu-kit/gpu.test": `
if [[ $* == *TestRevisions* ]]; then
  printf '    revision_test.go:9: cuda-%s lenet5 training: 0aff, equal\n' fp32 sm90-tf32
  printf -- '--- PASS: Test%s (0.00s)\n' Revisions LaunchDigests
  exit
fi
if [[ $* == *-test.bench* ]]; then
  for precision in tf32 fp32 bf16; do
    name=BenchmarkTrain/net=cnn-cifar10/precision=$precision/K=5/kernel=sgd/layer=all
    printf '%s\n%s-16   5  12.5 GB/s  3.1 µs/client-step\n' "$name" "$name"
  done
fi` + testStub,
	"path/nvidia-smi": `echo '| NVIDIA-SMI 550.54   Driver Version: 550.54   CUDA Version: 12.4 |'`,
	"path/ptxas": `
for file; do :; done
sed -nE 's/^\.visible \.entry ([a-z]*).*/ptxas info    : Compiling entry function '"'\1'"' for '"'sm_90'"'\n` +
		`    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n` +
		`ptxas info    : Used 40 registers/p' "$file"`,
	"path/ncu": `
while [[ $1 == --* ]]; do
  [[ $1 != --launch-count ]] || count=$2
  [[ $1 == --clock-control || $1 == --section || $1 == --launch-* ]] && shift
  shift
done
"$@" || exit
for ((i = 0; i < count; i++)); do
  echo "  conv_$((i % 2))_tf32 (1296, 1, 1)x(128, 1, 1), Context 1, Stream 17, Device 0, CC 9.0"
  echo '    Duration                         us        20.26'
done`,
	"path/python3": `
[[ $1 != -c || $2 != 'import torch' ]] || exit 0
[[ $1 == -c ]] && exec /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin python3 "$@"
csv="$*" csv=${csv#*--csv } csv=${csv%% *}
printf '%s\n' net,precision,K,variant,us_per_client_step,ok cnn,tf32,37,loop,2074,True \
  cnn,tf32,37,graph,157.9,True cnn,tf32,37,wrong,1.5,False >"$csv"`,
	"path/compute-sanitizer": `
while [[ $1 == --* ]]; do
  [[ $1 != --tool ]] || tool=$2
  shift 2
done
"$@" || exit
summary='ERROR SUMMARY: 0 errors'
[[ $tool != racecheck ]] || summary='RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'
echo "========= $summary"`,
}

const testStub = `
printf '=== RUN   TestOne\n    --- PASS: TestOne/case (0.00s)\n--- PASS: TestOne (0.00s)\nPASS\n'`

// kit makes a folder with a kit of stand-ins, some of which a test replaces.
func kit(t *testing.T, replaced map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	t.Cleanup(func() { // a stage that hangs
		_ = exec.Command("pkill", "-KILL", "-f", root).Run()
	})
	card := contents(t, "../../nets/gpu/card.sh")
	files := map[string]string{
		"bin/gpu-kit/card.sh":                           card,
		"bin/gpu-kit/src/nets/gpu/kernels/ptx/one.ptx":  ".visible .entry one(\n.visible .entry two(\n",
		"bin/gpu-kit/src/nets/gpu/kernels/ptx/more.ptx": ".visible .entry three(\n",
		"bin/gpu-kit/src/nets/gpu/driver/.keep":         "",
		"bin/gpu-kit/src/bench/e2e/.keep":               "",
	}
	stubs := maps.Clone(kitStubs)
	maps.Copy(stubs, replaced)
	for name, text := range stubs {
		if text != "" {
			files[name] = "#!/usr/bin/env bash\n" + text + "\n"
		}
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		must.OK(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)))
	}
	return root
}

// cardCommand is card.sh in a kit's folder, with stand-ins before the machine's own programs.
func cardCommand(t *testing.T, root string, args ...string) *exec.Cmd {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("left out: no bash")
	}
	c := exec.CommandContext(t.Context(), "bash", append([]string{"bin/gpu-kit/card.sh", "-o", "card"}, args...)...)
	c.Dir = root
	c.Env = append(os.Environ(), "PATH="+filepath.Join(root, "path")+":/usr/local/bin:/usr/bin:/bin", "TMPDIR="+root,
		"ROLLCALL_DATA=")
	return c
}

// card runs card.sh in a kit's folder. It returns what card.sh prints, and its exit status.
func card(t *testing.T, root string, args ...string) (printed string, status int) {
	t.Helper()
	out, err := cardCommand(t, root, args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Errorf("card.sh %v: %v", args, err)
		return string(out), -1
	}
	if exit != nil {
		status = exit.ExitCode()
	}
	return string(out), status
}

// kitFault is one way in which one program of one stage goes wrong, and what the table then says.
type kitFault struct {
	stage, program, name, text, want string
}

// kitFaults returns, for every stage, each of its programs that fails, that hangs, that does nothing, and that only
// says PASS; and what else can go wrong with a stage.
func kitFaults() (faults []kitFault) {
	programs := map[string][]string{
		"card": {"path/nvidia-smi", "rollcall devices"}, "ptxas": {"path/ptxas"},
		"driver": {"bin/gpu-kit/driver.test"}, "check": {"rollcall devices"}, "kernels": {"bin/gpu-kit/kernels.test"},
		"engine": {"bin/gpu-kit/gpu.test"}, "methods": {"bin/gpu-kit/e2e.test"}, "speed": {"rollcall bench"},
		"digests": {"bin/gpu-kit/gpu.test"}, "ncu": {"path/ncu", "rollcall bench"},
		"peers":    {"python3 bench/peers/cuda_all.py"},
		"fault":    {"bin/gpu-kit/driver.test"},
		"launches": {"bin/gpu-kit/gpu.test"}, "memcheck": {"path/compute-sanitizer", "rollcall run"},
		"racecheck": {"path/compute-sanitizer", "rollcall run"},
		"synccheck": {"path/compute-sanitizer", "rollcall run"}, "curves": {"rollcall run"},
	}
	common := []kitFault{
		{"", "", "fails", "exit 1", "FAILED"},
		{"", "", "crashes", "kill -SEGV $$", "FAILED"},
		{"", "", "hangs", "sleep 60", "timed out"},
		{"", "", "does nothing", "exit 0", "FAILED"},
		{"", "", "says PASS", "echo PASS; exit 0", "FAILED"},
	}
	for stage, names := range programs {
		for _, program := range names {
			for _, f := range common {
				f.stage, f.program = stage, program
				faults = append(faults, f)
			}
		}
	}
	return append(faults, kitOwnFaults...)
}

// kitOwnFaults are faults of one stage alone. A text that begins with "sed" changes the stand-in that passes.
var kitOwnFaults = []kitFault{
	{"card", "rollcall devices", "second card", `sed s/cuda:0/cuda:1/`, "FAILED .*cuda:0 is not usable"},
	{"card", "rollcall devices", "unusable", `sed s/usable/unusable/`, "FAILED .*cuda:0 is not usable"},
	{"card", "rollcall devices", "no driver", `echo "cuda none: gpu: no driver"; exit 1`, "FAILED .*: gpu: no driver"},
	{"card", "rollcall devices", "old libc", `echo "$0: libc.so.6: version GLIBC_2.34"; exit 1`, "FAILED .*GLIBC_2.34"},
	{"ptxas", "path/ptxas", "kernel missing", `sed s/visible/hidden/`, "FAILED .*0 kernels, want the 3 of 2 files"},
	{"ptxas", "path/ptxas", "one file fails", `[[ $* != *more.ptx ]] || exit 255`, "FAILED .*not assemble"},
	{"ptxas", "path/ptxas", "spills", `sed "s/0 bytes spill l/4 bytes spill l/"`, "FAILED .*spills: three one two"},
	{"driver", "bin/gpu-kit/driver.test", "left out", `sed "s/ PASS:/ SKIP:/g"`, "FAILED .*no test ran"},
	{"check", "rollcall devices", "wrong", `sed 's/): right/): WRONG: tf32/'`, "FAILED .*not a line that says right"},
	{"kernels", "bin/gpu-kit/kernels.test", "two left out", `printf '%s\n' "--- SKIP: "{A,B}`, "FAILED .*2 of 3 tests"},
	{"kernels", "rollcall devices", "lost since", `sed s/usable/lost/`, "FAILED .*cuda:0 is not usable"},
	{"engine", "bin/gpu-kit/gpu.test", "one fails", `sed "s/nPASS/n--- FAIL: TestTwo/"`, "FAILED .*--- FAIL: TestTwo"},
	{"engine", "bin/gpu-kit/gpu.test", "own limit", `echo "panic: test timed out"; exit 2`, "timed out .*panic"},
	{"methods", "bin/gpu-kit/e2e.test", "cut short", `sed "s/nPASS/n/"`, "FAILED .*no line PASS"},
	{"launches", "bin/gpu-kit/gpu.test", "no bf16", `sed s/bf16/tf32/`, "FAILED .*no benchmark ran in bf16"},
	{"launches", "bin/gpu-kit/gpu.test", "names alone", `sed "s/ 5 / --- FAIL/"`, "FAILED .*no benchmark ran in tf32"},
	{"speed", "rollcall bench", "on the CPU", `sed s/cuda-sm90/cpu-avx2/`, "FAILED .*not 5 rows of cuda"},
	{"speed", "rollcall bench", "no speed", `sed s/40000/0/`, "FAILED .*not 5 rows of cuda"},
	{"speed", "rollcall bench", "no kernels", `sed s/kernel/phase/`, "FAILED .*not 3 tables of kernels"},
	{
		"speed", "rollcall bench", "slow", `sed 's/mkdir/[[ $precision != bf16 ]] || sleep 60; mkdir/'`,
		`timed out .*tf32 25.0 \(37\), tf32 25.0 \(37\), tf32 25.0 \(37\)$`,
	},
	{"digests", "bin/gpu-kit/gpu.test", "differs", `sed 's/equal/DIFFERENT from/'`, "FAILED .*no digest was compared"},
	{"digests", "bin/gpu-kit/gpu.test", "unknown", `sed 's/0aff, equal/0aff, not recorded/'`, "FAILED .*not recorded"},
	{
		"digests", "bin/gpu-kit/gpu.test", "other host",
		`sed "s/equal/goldens are recorded on amd64/;s/PASS: Test%/SKIP: Test%/"`,
		"left out .*are recorded on amd64",
	},
	{"digests", "bin/gpu-kit/gpu.test", "one test", `sed 's/ LaunchDigests//'`, "FAILED .*not both tests"},
	{
		"digests", "bin/gpu-kit/gpu.test", "fails",
		`sed "s/PASS: Test%s.*'/a: 2 of 9 digests differ, first %s; all: b'/; s/^  exit/exit 1/"`,
		"FAILED .*2 of 9 digests differ, first LaunchDigests$",
	},
	{"ncu", "path/ncu", "no counters", `sed 's/^for.*/echo "==ERROR== CTRPERM"; exit 1; &/'`, "FAILED .*CTRPERM"},
	{"ncu", "path/ncu", "too few", `sed 's/i < count/i < 3/'`, "FAILED .*3 launches were profiled, want 13"},
	{"peers", "path/python3", "no torch", `sed 's/exit 0/exit 1/'`, "left out .*no PyTorch"},
	{"peers", "path/python3", "all wrong", `sed 's/True/False/g'`, "FAILED .*no variant was measured"},
	{"memcheck", "path/compute-sanitizer", "no program", `sed "s/^.*exit$//"`, "FAILED .*not trained"},
	{"memcheck", "path/compute-sanitizer", "no summary", `sed "s/echo.*summary.*//"`, "FAILED .*not 4 summaries"},
	{"memcheck", "path/compute-sanitizer", "errors", `sed "s/: 0 errors/: 3 errors/"`, "FAILED .*SUMMARY: 3 errors"},
	{"racecheck", "path/compute-sanitizer", "warnings", `sed "s/0 warn/2 warn/"`, "FAILED .*not 4 summaries"},
	{"racecheck", "rollcall run", "on the CPU", `sed s/cuda-sm90/cpu-avx2/`, "FAILED .*engine cpu-avx2"},
	{"synccheck", "rollcall run", "nobody there", `sed 's/\$round,3/$round,0/'`, "FAILED .*no client was active"},
	{"synccheck", "rollcall run", "other precision", `sed 's/\$precision"/fp32"/'`, "FAILED .*precision fp32, want"},
	{"curves", "rollcall run", "not finite", `sed 's/2\.\$loss/NaN/'`, "FAILED .*loss NaN"},
	{"curves", "rollcall run", "ends early", `sed 's/<= rounds/< rounds/'`, "FAILED .*ends after round 59, want 60"},
	{
		"curves", "rollcall run", "fp32 off early", `sed 's/for ((/[[ $device$seed != cuda1 ]] || loss=1050; for ((/'`,
		"FAILED .*fp32 leaves the CPU early",
	},
	{
		"curves", "rollcall run", "fp32 off", `sed 's/; do$/& [[ $device$seed$round != cuda1[1-9]? ]] || loss=4000/'`,
		"FAILED .*fp32 is beyond noise",
	},
	{
		"curves", "rollcall run", "tf32 off", `sed 's/for ((/[[ $precision != tf32 ]] || loss=1200; for ((/'`,
		"FAILED .*tf32 is beyond noise",
	},
	{"curves", "rollcall run", "same seed", `sed 's/loss=.*/loss=1010/'`, "FAILED .*seeds do not differ"},
}

// stub returns the stand-in with its fault: the whole program, or one command of rollcall.
func (f kitFault) stub(t *testing.T) map[string]string {
	t.Helper()
	program, command, _ := strings.Cut(f.program, " ")
	switch program {
	case "rollcall":
		program = "bin/gpu-kit/rollcall"
	case "python3":
		program = "path/python3"
	}
	good := kitStubs[program]
	if strings.HasPrefix(f.text, "sed ") {
		c := exec.CommandContext(t.Context(), "bash", "-c", f.text)
		c.Stdin = strings.NewReader(good)
		out, err := c.Output()
		if err != nil || string(out) == good {
			t.Errorf("%s: %v, or it changes nothing", f.text, err)
		}
		return map[string]string{program: string(out)}
	}
	if command != "" {
		return map[string]string{program: "[[ $1 != " + command + " ]] || { " + f.text + "; }" + good}
	}
	return map[string]string{program: f.text + "\n" + good}
}

// stagesOf returns the stages that card.sh runs by default.
func stagesOf(t *testing.T) []string {
	t.Helper()
	found := regexp.MustCompile(`(?s)\nall=\((.*?)\)\n`).FindStringSubmatch(contents(t, "../../nets/gpu/card.sh"))
	if found == nil {
		t.Fatal("card.sh: no list of all stages")
	}
	return strings.Fields(found[1])
}

// tableOf returns the stages of a table, in its order, and the state of each.
func tableOf(t *testing.T, root string) (stages []string, state map[string]string) {
	t.Helper()
	state = map[string]string{}
	line := regexp.MustCompile(`(?m)^(\w+) +(passed|FAILED|timed out|left out) +\d+ s  \S.*$`)
	for _, m := range line.FindAllStringSubmatch(contents(t, filepath.Join(root, "card", "table.txt")), -1) {
		stages = append(stages, m[1])
		state[m[1]] = m[2]
	}
	return stages, state
}

// Every stage passes with programs that do their work, in the order of the list, and none passes with a program that
// goes wrong in any way.
func TestGPUKitStages(t *testing.T) {
	root := kit(t, nil)
	printed, status := card(t, root)
	stages, _ := tableOf(t, root)
	if status != 0 || strings.Count(printed, " passed ") != len(stages) || !slices.Equal(stages, stagesOf(t)) {
		t.Fatalf("card.sh: status %d, want 0 and the stages of its list, passed:\n%s", status, printed)
	}
	var wait sync.WaitGroup
	running := make(chan struct{}, 8) // a stage that hangs only waits
	for _, f := range kitFaults() {
		root, limit := kit(t, f.stub(t)), "60"
		if f.name == "hangs" || f.name == "slow" {
			limit = "1"
		}
		wait.Go(func() {
			running <- struct{}{}
			defer func() { <-running }()
			printed, status := card(t, root, "-t", limit, f.stage)
			want, wantStatus := `(?m)^`+f.stage+` +`+f.want, 1
			if strings.HasPrefix(f.want, "left out") {
				wantStatus = 0
			}
			if status != wantStatus || !regexp.MustCompile(want).MatchString(printed) {
				t.Errorf("%s, %s, %s: status %d, want %d and a line %s:\n%s",
					f.stage, f.program, f.name, status, wantStatus, want, printed)
			}
		})
	}
	wait.Wait()
}

// hanging is a kit in which a stage hangs until a file is there.
func hanging(t *testing.T) (root, goOn string) {
	t.Helper()
	goOn = filepath.Join(t.TempDir(), "go-on")
	return kit(t, map[string]string{
		"bin/gpu-kit/kernels.test": "until [[ -f " + goOn + " ]]; do sleep 0.05; done" + testStub,
	}), goOn
}

// until waits for something that other processes do.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a minute has passed, and not ", what)
		}
	}
}

// hangs waits until the stage that hangs has begun.
func hangs(t *testing.T, root string) {
	t.Helper()
	until(t, "kernels.log", func() bool {
		_, err := os.Stat(filepath.Join(root, "card", "logs", "kernels.log"))
		return err == nil
	})
}

// The line of a stage is there as soon as the stage ends. The stages run on when their caller is killed; another call
// follows them, for as long as it is patient, and does not run again what has a verdict.
func TestGPUKitRunsOn(t *testing.T) {
	root, goOn := hanging(t)
	c := cardCommand(t, root, "card", "kernels", "driver")
	stdout := must.Get(c.StdoutPipe())(t)
	must.OK(t, c.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "card       passed") {
		t.Errorf("first line %q, %v, want of stage card", line, err)
	}
	hangs(t, root)
	must.OK(t, c.Process.Kill())
	_ = c.Wait() // it was killed
	if printed, status := card(t, root, "-w", "1", "card", "kernels", "driver"); status != 3 ||
		!strings.Contains(printed, "follows the stages of another call") || !strings.Contains(printed, "run on") {
		t.Errorf("while the stages run: status %d, want 3:\n%s", status, printed)
	}
	logs := filepath.Join(root, "card", "logs.tar.gz")
	list := must.Get(exec.CommandContext(t.Context(), "tar", "-tzf", logs).Output())(t)
	if !slices.Contains(strings.Fields(string(list)), "logs/card.log") {
		t.Errorf("logs.tar.gz after the first stage: %q, want logs/card.log", list)
	}
	must.OK(t, os.WriteFile(goOn, nil, 0o600))
	printed, status := card(t, root, "card", "kernels", "driver")
	stages, _ := tableOf(t, root)
	if status != 0 || !slices.Equal(stages, []string{"card", "kernels", "driver"}) {
		t.Errorf("collected: status %d, stages %v, want 0 and three:\n%s", status, stages, printed)
	}
	if printed, status := card(t, root, "kernels"); status != 0 || strings.Count(printed, "kernels    passed") != 1 {
		t.Errorf("a stage that is named runs again: status %d, want 0:\n%s", status, printed)
	}
	if stages, _ := tableOf(t, root); !slices.Equal(stages, []string{"card", "kernels", "driver"}) {
		t.Errorf("stages %v, want each once, in the order of the stages", stages)
	}
	must.OK(t, os.Remove(filepath.Join(root, "bin/gpu-kit/kernels.test"))) // it is not needed any more
	printed, status = card(t, root)
	if _, state := tableOf(t, root); status != 0 || len(state) != len(stagesOf(t)) || state["kernels"] != "passed" {
		t.Errorf("without names: status %d, want 0 and all stages, kernels from before:\n%s", status, printed)
	}
	if printed, status := card(t, root); status != 0 || strings.Count(printed, " passed ") != len(stagesOf(t)) {
		t.Errorf("nothing is left to run: status %d, want 0 and the table:\n%s", status, printed)
	}
}

// A worker that is killed leaves the table of what has ended. The next call ends the stage that was left running, and
// goes on with it.
func TestGPUKitKilled(t *testing.T) {
	root, goOn := hanging(t)
	c := cardCommand(t, root, "-T", "500", "card", "kernels", "driver")
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	must.OK(t, c.Start())
	hangs(t, root)
	worker := strings.TrimSpace(contents(t, filepath.Join(root, "card", "logs", "worker")))
	must.OK(t, exec.CommandContext(t.Context(), "kill", "-KILL", worker).Run())
	if err := c.Wait(); err == nil || c.ProcessState.ExitCode() != 1 ||
		!strings.Contains(out.String(), "not run: kernels driver") {
		t.Errorf("killed: %v, want status 1 and what has not run:\n%s", err, out.String())
	}
	left := strings.TrimSpace(contents(t, filepath.Join(root, "card", "logs", "stage")))
	must.OK(t, os.WriteFile(goOn+".not", nil, 0o600))
	// The second time the stage goes on at once.
	must.OK(t, os.WriteFile(filepath.Join(root, "bin/gpu-kit/kernels.test"), []byte("#!/bin/bash\n"+testStub), 0o700))
	printed, status := card(t, root)
	if _, state := tableOf(t, root); status != 0 || len(state) != len(stagesOf(t)) {
		t.Errorf("called anew: status %d, want 0 and all stages:\n%s", status, printed)
	}
	until(t, "the stage that was left is gone", func() bool {
		_, err := os.Stat("/proc/" + left)
		return errors.Is(err, os.ErrNotExist)
	})
}

// Ctrl-C ends the stages.
func TestGPUKitInterrupted(t *testing.T) {
	root, _ := hanging(t)
	c := cardCommand(t, root, "card", "kernels")
	must.OK(t, c.Start())
	hangs(t, root)
	left := strings.TrimSpace(contents(t, filepath.Join(root, "card", "logs", "stage")))
	must.OK(t, c.Process.Signal(os.Interrupt))
	if err := c.Wait(); err == nil || c.ProcessState.ExitCode() != 130 {
		t.Errorf("interrupted: %v, want status 130", err)
	}
	until(t, "the stage is gone", func() bool {
		_, err := os.Stat("/proc/" + left)
		return errors.Is(err, os.ErrNotExist)
	})
	if stages, _ := tableOf(t, root); !slices.Equal(stages, []string{"card"}) {
		t.Errorf("stages %v, want card alone", stages)
	}
}

// -T bounds all stages together: one that does not end in time is ended, and what is behind it is left out.
func TestGPUKitBudget(t *testing.T) {
	t.Parallel() // it waits
	root, _ := hanging(t)
	begun := time.Now()
	printed, status := card(t, root, "-T", "7", "card", "kernels", "driver", "engine")
	took := time.Since(begun)
	_, state := tableOf(t, root)
	if status != 1 || state["card"] != "passed" || state["kernels"] != "timed out" || state["driver"] != "left out" ||
		state["engine"] != "left out" || !strings.Contains(printed, "no time") || took > 30*time.Second {
		t.Errorf("-T 7: status %d after %v, want 1 and no time for driver and engine:\n%s", status, took, printed)
	}
}

// What a machine lacks leaves a stage out, which is no failure.
func TestGPUKitLeftOut(t *testing.T) {
	for _, tool := range []string{"ptxas", "compute-sanitizer", "ncu"} {
		for _, folder := range []string{"/usr/local/cuda*/bin", "/usr/local/bin", "/usr/bin", "/bin"} {
			if found, err := filepath.Glob(filepath.Join(folder, tool)); err != nil || len(found) > 0 {
				t.Skipf("left out: %v, this machine has %v", err, found)
			}
		}
	}
	root := kit(t, map[string]string{"path/ptxas": "", "path/compute-sanitizer": "", "path/ncu": ""})
	printed, status := card(t, root, "ptxas", "racecheck", "ncu")
	if status != 0 || strings.Count(printed, "left out") != 3 || !strings.Contains(printed, "no ptxas\n") ||
		!strings.Contains(printed, "no compute-sanitizer\n") || !strings.Contains(printed, "no ncu\n") {
		t.Errorf("without tools: status %d, want 0 and what is left out:\n%s", status, printed)
	}
}

// What a user gets wrong is said.
func TestGPUKitRefusals(t *testing.T) {
	root := kit(t, nil)
	for _, c := range []struct{ args, want string }{
		{"speeed", "card.sh: stage speeed: unknown, want some of card check"},
		{"-t 8m card", "card.sh: -t 8m: want a number of seconds"},
		{"-T 0 card", "card.sh: -T 0: want a number of seconds"},
		{"-w x card", "card.sh: -w x: want a number of seconds"},
		{"-e no/lib card", "no/lib"},
		{"-x card", "card.sh: see the first lines of bin/gpu-kit/card.sh"},
	} {
		printed, status := card(t, root, strings.Fields(c.args)...)
		if status != 2 || !strings.Contains(printed, c.want) {
			t.Errorf("card.sh %s: status %d, %q, want 2 and %q", c.args, status, printed, c.want)
		}
	}
	must.OK(t, os.Remove(filepath.Join(root, "bin/gpu-kit/rollcall")))
	if printed, status := card(t, root, "card"); status != 2 || !strings.Contains(printed, "make gpu-kit packs") {
		t.Errorf("without rollcall: status %d, %q", status, printed)
	}
}

// card.sh unpacks the archive beside it, once, with xz or Python, and again if another archive lies there.
func TestGPUKitUnpacks(t *testing.T) {
	python, err := exec.LookPath("python3")
	if _, noXZ := exec.LookPath("xz"); err != nil || noXZ != nil {
		t.Skip("left out: no Python, or no xz to pack with")
	}
	for _, without := range []string{"python3", "xz"} {
		root := kit(t, map[string]string{"path/python3": ""})
		pack := func() {
			c := exec.CommandContext(t.Context(), "tar", "-cJf", "gpu-kit.tar.xz", "gpu-kit")
			c.Dir = filepath.Join(root, "bin")
			must.OK(t, c.Run())
			must.OK(t, os.RemoveAll(filepath.Join(root, "bin/gpu-kit")))
		}
		pack()
		must.OK(t, os.WriteFile(filepath.Join(root, "bin/rollcall"), nil, 0o700)) // make build
		// A PATH of links to all programs but one.
		path := filepath.Join(root, "programs")
		must.OK(t, os.Mkdir(path, 0o700))
		for _, folder := range []string{"/bin", "/usr/bin"} {
			for _, e := range must.Get(os.ReadDir(folder))(t) {
				if !strings.HasPrefix(e.Name(), without) {
					_ = os.Symlink(filepath.Join(folder, e.Name()), filepath.Join(path, e.Name())) // the first one
				}
			}
		}
		if without == "xz" {
			_ = os.Symlink(python, filepath.Join(path, "python3")) // if it is elsewhere
		}
		script := []byte(contents(t, "../../nets/gpu/card.sh"))
		must.OK(t, os.WriteFile(filepath.Join(root, "bin/card.sh"), script, 0o600))
		run := func() (string, int) {
			c := cardCommand(t, root)
			c.Args = []string{"bash", "bin/card.sh", "-o", "card", "check"}
			c.Env = append(c.Env, "PATH="+filepath.Join(root, "path")+":"+path)
			out, _ := c.CombinedOutput() // its status says it
			return string(out), c.ProcessState.ExitCode()
		}
		if printed, status := run(); status != 0 || !strings.Contains(printed, "check      passed") {
			t.Errorf("without %s: status %d, want 0:\n%s", without, status, printed)
		}
		must.OK(t, os.Remove(filepath.Join(root, "bin/gpu-kit/driver.test")))
		if printed, status := run(); status != 0 || !strings.Contains(printed, "check      passed") {
			t.Errorf("without %s, again: status %d, want 0:\n%s", without, status, printed)
		}
		if _, err := os.Stat(filepath.Join(root, "bin/gpu-kit/driver.test")); err == nil {
			t.Errorf("without %s: the second call unpacked the same archive again", without)
		}
	}
}

// `make gpu-data` packs CIFAR-10 in pieces, and `card.sh data` takes them one by one, in any order, and joins them.
func TestGPUKitData(t *testing.T) {
	root := kit(t, nil)
	bin, store := filepath.Join(root, "bin"), filepath.Join(root, "store")
	must.OK(t, os.MkdirAll(filepath.Join(root, "cifar-10-batches-bin"), 0o700))
	batch := filepath.Join("cifar-10-batches-bin", "data_batch_1.bin")
	text := strings.Repeat("ship\n", 4000)
	must.OK(t, os.WriteFile(filepath.Join(root, batch), []byte(text), 0o600))
	c := exec.CommandContext(t.Context(), "bash", "-ec", `tar -cz cifar-10-batches-bin >whole
split -d -a 2 -n 4 whole bin/gpu-data.; cd bin; sha256sum gpu-data.0? >gpu-data.sums`)
	c.Dir = root
	must.OK(t, c.Run())
	must.OK(t, os.Mkdir(filepath.Join(root, "away"), 0o700))
	var pieces []string
	for _, path := range must.Get(filepath.Glob(filepath.Join(bin, "gpu-data.0*")))(t) {
		pieces = append(pieces, filepath.Base(path))
		must.OK(t, os.Rename(path, filepath.Join(root, "away", filepath.Base(path))))
	}
	take := func() (string, int) {
		c := cardCommand(t, root)
		c.Args = []string{"bash", "bin/gpu-kit/../card.sh", "data"}
		c.Env = append(c.Env, "ROLLCALL_DATA="+store)
		out, _ := c.CombinedOutput() // its status says it
		return string(out), c.ProcessState.ExitCode()
	}
	must.OK(t, os.WriteFile(filepath.Join(bin, "card.sh"), []byte(contents(t, "../../nets/gpu/card.sh")), 0o600))
	damaged := filepath.Join(bin, pieces[0])
	must.OK(t, os.WriteFile(damaged, []byte("other"), 0o600))
	if printed, status := take(); status != 1 || !strings.Contains(printed, "not what was packed") {
		t.Errorf("a damaged piece: status %d, %q, want 1", status, printed)
	}
	must.OK(t, os.Remove(damaged))
	for i, k := range []int{2, 0, 3, 1} {
		at := filepath.Join(bin, pieces[k])
		must.OK(t, os.Rename(filepath.Join(root, "away", pieces[k]), at))
		printed, status := take()
		want := []string{"1 of 4 pieces", "2 of 4 pieces", "missing: gpu-data.01", "CIFAR-10 is there"}[i]
		if status != 0 || !strings.Contains(printed, want) {
			t.Errorf("piece %d: status %d, %q, want 0 and %q", k, status, printed, want)
		}
		must.OK(t, os.Remove(at))
	}
	if printed, status := take(); status != 0 || !strings.Contains(printed, "CIFAR-10 is there") {
		t.Errorf("again: status %d, %q, want 0 and that it is there", status, printed)
	}
	if got := contents(t, filepath.Join(store, batch)); got != text {
		t.Errorf("joined: %d bytes, want the %d that were packed", len(got), len(text))
	}
}

// The kit and the checkout can be sent together where 64 MiB may travel, with some room for what else a checkout has.
func TestGPUKitSize(t *testing.T) {
	packed, err := os.Stat("../../bin/gpu-kit.tar.xz")
	if err != nil {
		t.Skip("left out: make gpu-kit has not run")
	}
	list, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "ls-files", "-z").Output()
	if err != nil {
		t.Skip("left out: no git checkout")
	}
	size := packed.Size()
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		if info, err := os.Lstat(filepath.Join("../..", name)); err == nil {
			size += info.Size()
		}
	}
	t.Logf("kit %.1f MiB, with the tracked files %.1f MiB", float64(packed.Size())/(1<<20), float64(size)/(1<<20))
	if size > 60<<20 {
		t.Errorf("kit and tracked files have %d bytes, want 60 MiB at the most", size)
	}
}
