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
    [[ -f $out/bench.csv ]] || echo rounds,engine,precision,client_steps_per_s >"$out/bench.csv"
    echo "10,$engine,$precision,1000.5" >>"$out/bench.csv"
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

// kit makes the root of a checkout with a kit of stand-ins, some of which a test replaces.
func kit(t *testing.T, replaced map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	card := contents(t, "../../nets/gpu/card.sh")
	files := map[string]string{
		"bin/gpu-kit/card.sh":           card,
		"nets/gpu/kernels/ptx/one.ptx":  ".visible .entry one(\n.visible .entry two(\n",
		"nets/gpu/kernels/ptx/more.ptx": ".visible .entry three(\n",
		"nets/gpu/driver/.keep":         "",
		"bench/e2e/.keep":               "",
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
	c.Env = append(os.Environ(), "PATH="+filepath.Join(root, "path")+":/usr/local/bin:/usr/bin:/bin", "TMPDIR="+root)
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
	{"speed", "rollcall bench", "on the CPU", `sed s/cuda-sm90/cpu-avx2/`, "FAILED .*not 6 rows of cuda"},
	{"speed", "rollcall bench", "no speed", `sed s/1000.5/0/`, "FAILED .*not 6 rows of cuda"},
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
	if program == "rollcall" {
		program = "bin/gpu-kit/rollcall"
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

// Every stage passes with programs that do their work, and none passes with a program that goes wrong in any way.
func TestGPUKitStages(t *testing.T) {
	printed, status := card(t, kit(t, nil))
	stages := regexp.MustCompile(`(?m)^\w+ +passed +\d+ s  \S.*$`).FindAllString(printed, -1)
	if status != 0 || len(stages) != 13 {
		t.Fatalf("card.sh: status %d, want 0 and 13 stages that passed and say how:\n%s", status, printed)
	}
	var wait sync.WaitGroup
	running := make(chan struct{}, 8) // a stage that hangs only waits
	for _, f := range kitFaults() {
		root, limit := kit(t, f.stub(t)), "60"
		if f.name == "hangs" {
			limit = "1"
		}
		wait.Go(func() {
			running <- struct{}{}
			defer func() { <-running }()
			printed, status := card(t, root, "-t", limit, f.stage)
			want := `(?m)^` + f.stage + ` +` + f.want
			if status != 1 || !regexp.MustCompile(want).MatchString(printed) {
				t.Errorf("%s, %s, %s: status %d, want 1 and a line %s:\n%s",
					f.stage, f.program, f.name, status, want, printed)
			}
		})
	}
	wait.Wait()
}

// The line of a stage is there as soon as the stage ends. A second call adds to the table and to the archive of the
// first, also if that was interrupted.
func TestGPUKitCalls(t *testing.T) {
	root := kit(t, map[string]string{"bin/gpu-kit/driver.test": "sleep 60"})
	c := cardCommand(t, root, "card", "driver")
	stdout := must.Get(c.StdoutPipe())(t)
	must.OK(t, c.Start())
	// driver.test hangs: the line of the first stage does not wait for it.
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "card       passed") {
		t.Errorf("first line %q, %v, want of stage card", line, err)
	}
	for log := filepath.Join(root, "card", "logs", "driver.log"); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(log); err == nil {
			break
		}
	}
	must.OK(t, c.Process.Signal(os.Interrupt))
	if err := c.Wait(); err == nil || c.ProcessState.ExitCode() != 130 {
		t.Errorf("interrupted: %v, want status 130", err)
	}
	if printed, status := card(t, root, "kernels"); status != 0 {
		t.Errorf("second call: status %d, want 0:\n%s", status, printed)
	}
	tableText := contents(t, filepath.Join(root, "card", "table.txt"))
	if !regexp.MustCompile(`^card .*\nkernels .*\n$`).MatchString(tableText) {
		t.Errorf("table.txt: %q, want lines of card and kernels", tableText)
	}
	logs := filepath.Join(root, "card", "logs.tar.gz")
	list := must.Get(exec.CommandContext(t.Context(), "tar", "-tzf", logs).Output())(t)
	names := strings.Fields(string(list))
	for _, want := range []string{"logs/card.log", "logs/driver.log", "logs/kernels.log"} {
		if !slices.Contains(names, want) {
			t.Errorf("logs.tar.gz: %q, want %s", names, want)
		}
	}
	left, err := os.ReadDir(filepath.Join(root, "card"))
	if err != nil || len(left) != 2 {
		t.Errorf("%v, %v, want table.txt and logs.tar.gz alone", left, err)
	}
}

// What a machine lacks leaves a stage out, which is no failure.
func TestGPUKitLeftOut(t *testing.T) {
	for _, tool := range []string{"ptxas", "compute-sanitizer"} {
		for _, folder := range []string{"/usr/local/cuda*/bin", "/usr/local/bin", "/usr/bin", "/bin"} {
			if found, err := filepath.Glob(filepath.Join(folder, tool)); err != nil || len(found) > 0 {
				t.Skipf("left out: %v, this machine has %v", err, found)
			}
		}
	}
	root := kit(t, map[string]string{"path/ptxas": "", "path/compute-sanitizer": ""})
	printed, status := card(t, root, "ptxas", "racecheck")
	if status != 0 || strings.Count(printed, "left out") != 2 ||
		!strings.Contains(printed, "no ptxas\n") || !strings.Contains(printed, "no compute-sanitizer\n") {
		t.Errorf("without tools: status %d, want 0 and what is left out:\n%s", status, printed)
	}
}

// What a user gets wrong is said.
func TestGPUKitRefusals(t *testing.T) {
	root := kit(t, nil)
	for _, c := range []struct{ args, want string }{
		{"speeed", "card.sh: stage speeed: unknown, want some of card ptxas"},
		{"-t 8m card", "card.sh: -t 8m: want a number of seconds"},
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
	must.OK(t, os.RemoveAll(filepath.Join(root, "nets/gpu/kernels")))
	if printed, status := card(t, root, "card"); status != 2 || !strings.Contains(printed, "not the root of a check") {
		t.Errorf("without a checkout: status %d, %q", status, printed)
	}
}
