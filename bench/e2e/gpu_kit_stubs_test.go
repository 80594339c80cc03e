package e2e

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

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
	"bin/gpu-kit/bench.test":   testStub,
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
		"bench/.keep":                   "",
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
