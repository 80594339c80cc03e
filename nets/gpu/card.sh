#!/usr/bin/env bash
# card.sh [-o FOLDER] [-t SECONDS] [-e LIBRARY] [STAGE …]: checks and times the CUDA engine on the first card of a
# machine, which needs no Go.
#
# `make gpu-kit` packs this script, the program and the test binaries into bin/gpu-kit.tar.xz. Unpack that in the root
# of a checkout on the card's machine, and run bin/gpu-kit/card.sh there. A stage passes only if it proves that it ran:
# the line that its end adds to FOLDER/table.txt says how. FOLDER/logs.tar.gz has the logs, and the files of the runs.
# A second call with the same FOLDER adds to both. The stages, which all run by default, in this order:
#
#   card        the card, its driver, and that the program can use it
#   ptxas       the assembler on every kernel: registers and spills
#   driver      every symbol of the driver, a device, a launch
#   check       `rollcall devices --check`: every kernel, small rounds of six nets beside the CPU
#   kernels     every kernel beside the CPU's code
#   engine      the engine beside the CPU engine
#   methods     every method beside the CPU engine
#   speed       `rollcall bench --profile` in each precision; more and fewer clients
#   launches    every launch of cnn-cifar10 alone
#   memcheck    rounds under compute-sanitizer: accesses beside memory
#   racecheck   rounds under compute-sanitizer: races in shared memory
#   synccheck   rounds under compute-sanitizer: barriers that threads miss
#   curves      60 rounds on both engines: fp32 follows the CPU, tf32 stays within the noise of seeds
#
# -o FOLDER   where the results go, default card-DATE-TIME;  -t SECONDS  the longest that a stage may take, default 480
# -e LIBRARY  no card but the emulator, whose libcuda.so this is: the smallest sizes, to see that the stages run
all=(card ptxas driver check kernels engine methods speed launches memcheck racecheck synccheck curves)
set -uo pipefail
usage() { echo "card.sh: $1" >&2; exit 2; }

# ---- What stages are made of. A stage runs in a process of its own, and its output goes to $log.

# fail WHY ends a stage as failed. left_out WHY ends it without a verdict. proof WHAT says what has run: without such a
# line no stage passes.
fail() { echo "card.sh: $*"; exit 1; }
left_out() { echo "left out: $*"; exit 77; }
proof() { echo "proof: $*"; }

# tool NAME prints where a program of the CUDA toolkit is, which seldom is in PATH.
tool() { type -P "$1" || ls /usr/local/cuda*/bin/"$1" 2>/dev/null | head -1 | grep .; }

# usable prints the line of `rollcall devices` on the first card, which must be usable: tests skip without one.
usable() { "$kit/rollcall" devices | grep '^cuda:0 .*: usable$' || fail 'rollcall devices: cuda:0 is not usable'; }

# test_binary FOLDER BINARY [ARGUMENT …] runs a test binary in the folder where go test would run it. The binary ends
# itself shortly before the stage's time is over, and then says where it hung.
test_binary() {
  usable
  (cd "$1" && "$kit/$2" -test.timeout "$((limit * 950))ms" "${@:3}") || fail "$2: exit status $?"
}

# tests FOLDER BINARY [ARGUMENT …] runs tests, and counts those that passed.
tests() {
  test_binary "$1" "$2" -test.v "${@:3}"
  grep -qx PASS "$log" || fail "$2: no line PASS"
  local top left
  top=$(grep -c '^--- PASS: ' "$log") left=$(grep -c '^--- SKIP: ' "$log")
  ((top > 0)) || fail "$2: no test ran"
  ((left <= top)) || fail "$2: $left of $((top + left)) tests were left out"
  proof "$(grep -c '^ *--- PASS: ' "$log") tests, $left left out"
}

# trained CURVE ENGINE PRECISION ROUNDS fails unless a curve ends after so many rounds of this engine and precision,
# some of which had active clients, and all losses are finite.
trained() {
  awk -F, -v engine="$2" -v precision="$3" -v rounds="$4" '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { last = $at["round"]; active += $at["active"] }
    index($at["engine"], engine) != 1 { wrong = "engine " $at["engine"] ", want " engine }
    $at["precision"] != precision { wrong = "precision " $at["precision"] ", want " precision }
    $at["test_loss"] !~ /^[0-9.]+(e[-+]?[0-9]+)?$/ { wrong = "round " last ": loss " $at["test_loss"] }
    END {
      if (wrong == "" && last != rounds) wrong = "ends after round " last ", want " rounds
      if (wrong == "" && active == 0) wrong = "no client was active"
      if (wrong != "") { print "card.sh: " FILENAME ": " wrong; exit 1 }
    }' "$1" || fail "$1: not trained"
}

# sanitize TOOL runs small rounds under a tool of compute-sanitizer, with every buffer an allocation of its own.
sanitize() {
  local nets=(cnn-cifar10 resnet20) net precision sanitizer out=$work/$1 runs=0
  [[ -z $library ]] || nets=(lenet5)
  sanitizer=$(tool compute-sanitizer) || left_out 'no compute-sanitizer'
  rm -rf "$out"
  for net in "${nets[@]}"; do
    for precision in tf32 bf16; do
      echo "== $1 of $net in $precision"
      ROLLCALL_GPU_ARENA=guard "$sanitizer" --tool "$1" --error-exitcode 1 --target-processes all \
        --launch-timeout 120 "$kit/rollcall" run --data synthetic --device cuda --net $net --precision $precision \
        --rounds 1 --clients 8 --local-steps 1 --batch 8 --train-size 400 --test-size 10 --eval-train=false --again \
        --out "$out/$net-$precision" ||
        fail "$1 of $net in $precision: exit status $?"
      trained "$(echo "$out/$net-$precision"/run/*/seed-*/curve.csv)" cuda-sm $precision 1
      runs=$((runs + 1))
    done
  done
  local clean='^=+ (ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards displayed \(0 errors, 0 warnings\))'
  (($(grep -cE "$clean" "$log") == runs)) || fail "$1: not $runs summaries without an error"
  proof "$runs rounds, no error"
}

# ---- The stages.
stage_card() {
  if [[ -n $library ]]; then
    echo "emulator: $library"
  elif type -P nvidia-smi >/dev/null; then
    nvidia-smi || fail "nvidia-smi: exit status $?"
    grep -q 'Driver Version' "$log" || fail 'nvidia-smi: no line "Driver Version"'
  fi
  "$kit/rollcall" devices || fail "rollcall devices: exit status $?"
  usable
  proof "$(sed -nE 's/^cuda:0 +(.*): usable$/\1/p' "$log" | tail -1)"
}

stage_ptxas() {
  local ptxas capability kernels files want spills
  ptxas=$(tool ptxas) || left_out 'no ptxas'
  usable
  capability=$(sed -nE 's/^cuda:0 .*compute capability ([0-9]+)\.([0-9]+).*/\1\2/p' "$log")
  files=$(ls nets/gpu/kernels/ptx/*.ptx | wc -l) want=$(cat nets/gpu/kernels/ptx/*.ptx | grep -c '^\.visible \.entry')
  mkdir -p "$work/ptxas"
  # Each file's messages go to a file of its own: several are assembled at a time.
  printf '%s\n' nets/gpu/kernels/ptx/*.ptx | xargs -P "$(nproc)" -I{} sh -c \
    '"$0" -v -arch="sm_$1" -o /dev/null "$3" >"$2/$(basename "$3").txt" 2>&1' "$ptxas" "$capability" "$work/ptxas" {}
  local status=$?
  cat "$work"/ptxas/*.txt
  ((status == 0)) || fail 'ptxas: does not assemble every file'
  kernels=$(grep -c 'Compiling entry function' "$log")
  ((kernels == want)) || fail "ptxas: $kernels kernels, want the $want of $files files"
  spills=$(awk -F"'" '
    /Compiling entry function/ { kernel = $2 }
    /bytes spill stores/ { if (!/ 0 bytes spill stores, 0 bytes spill loads/) list = list " " kernel }
    END { print list }' "$log")
  [[ -z $spills ]] || fail "ptxas: spills:$spills"
  proof "$kernels kernels of $files files for sm_$capability, at most" \
    "$(grep -oE 'Used [0-9]+ registers' "$log" | sort -k2n | tail -1 | cut -d' ' -f2) registers, no spills"
}

stage_driver() {
  [[ -z $library ]] || left_out "the emulator is no hardware"
  tests nets/gpu/driver driver.test -test.run Hardware
}
stage_check() {
  usable
  "$kit/rollcall" devices --check --device cuda:0 ${library:+--nets lenet5} || fail "devices --check: exit status $?"
  grep -q '^cuda:0 (.*): right$' "$log" || fail 'devices --check: not a line that says right'
  proof "$(grep -c '^cuda:0 .* right  ' "$log") checks, $(sed -nE 's/^cuda:0  launches .* s  //p' "$log") launched"
}
stage_kernels() { tests nets/gpu/kernels kernels.test ${library:+-test.short}; }
stage_engine() { tests nets/gpu gpu.test ${library:+-test.short -test.run 'Train|Evaluate|Estimate'}; }
stage_methods() { tests bench/e2e e2e.test -test.run "${library:+Methods.*}CUDA"; }

stage_speed() {
  local out=$work/speed flags=("${data[@]}") rows
  rm -rf "$out"
  [[ -z $library ]] || flags=(--data leaf --rounds 3)
  bench() {
    "$kit/rollcall" bench "${flags[@]}" --device cuda --out "$out" "$@" || fail "rollcall bench: exit status $?"
  }
  for precision in tf32 fp32 bf16; do bench --precision $precision --profile; done
  for clients in 14 86 270; do bench --clients $clients; done # about 5, 32 and 100 active; the launches go up to 500
  rows=$(awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $at["engine"] ~ /^cuda-sm/ && $at["rounds"] > 0 && $at["client_steps_per_s"] > 0 {
      rows = rows sprintf("%s%s %.0f", rows ? ", " : "", $at["precision"], $at["client_steps_per_s"]); n++
    }
    END { if (n == 6) print rows }' "$out/bench.csv")
  [[ -n $rows ]] || fail "bench.csv has not 6 rows of cuda"
  proof "client-steps/s: $rows"
}

stage_launches() {
  local net=cnn-cifar10 times=5x precision n total=0
  [[ -z $library ]] || net=lenet5 times=1x
  test_binary nets/gpu gpu.test -test.run '^$' -test.bench "/net=$net/" -test.benchtime $times
  for precision in tf32 fp32 bf16; do
    n=$(grep -cE "^Benchmark[^ ]*/precision=$precision/[^ ]*[[:space:]]+[0-9]+[[:space:]].*GB/s" "$log")
    ((n > 0)) || fail "gpu.test: no benchmark ran in $precision"
    total=$((total + n))
  done
  proof "$total benchmarks"
}

stage_memcheck() { sanitize memcheck; }
stage_racecheck() { sanitize racecheck; }
stage_synccheck() { sanitize synccheck; }

# stage_curves trains the same run on the CPU and on the card in fp32 and in tf32, and two more seeds in fp32, which say
# what noise is. In the first two rounds, fp32 keeps the CPU's loss to 0.1 %: rounding errors have not grown yet. Over
# all rounds the mean distance of fp32 and of tf32 from the CPU is at most the mean distance between the least and the
# greatest loss of the three seeds.
stage_curves() {
  local rounds=60 flags=("${data[@]}") run curves=()
  [[ -z $library ]] || rounds=6 flags=(--data synthetic --net lenet5 --clients 8 --local-steps 2 --batch 4
    --train-size 400 --test-size 100)
  rm -rf "$work"/curves-*
  for run in cpu-fp32-1 cuda-fp32-1 cuda-tf32-1 cuda-fp32-2 cuda-fp32-3; do
    IFS=- read -r device precision seed <<<"$run"
    "$kit/rollcall" run "${flags[@]}" --device "$device" --precision "$precision" --rounds $rounds --eval-every 1 \
      --eval-last none --eval-train=false --seed "$seed" --again --out "$work/curves-$run" ||
      fail "rollcall run: exit status $?"
    curves+=("$(echo "$work/curves-$run"/run/*/seed-"$seed"/curve.csv)")
    trained "${curves[-1]}" "${device/cuda/cuda-sm}" "$precision" $rounds
  done
  awk -F, '
    function abs(x) { return x < 0 ? -x : x }
    FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; file++; n = 0; next }
    { round[file, ++n] = $at["round"]; loss[file, n] = $at["test_loss"]; acc[file, n] = $at["test_acc"] }
    END {
      print "round; loss and accuracy: CPU, fp32, tf32; loss of two more seeds"
      for (k = 1; k <= n; k++) {
        for (f = 2; f <= 5; f++) if (round[f, k] != round[1, k]) { print "card.sh: curves of other rounds"; exit 1 }
        print round[1, k], loss[1, k], acc[1, k], loss[2, k], acc[2, k], loss[3, k], acc[3, k], loss[4, k], loss[5, k]
        low = high = loss[2, k]
        for (f = 4; f <= 5; f++) { if (loss[f, k] < low) low = loss[f, k]; if (loss[f, k] > high) high = loss[f, k] }
        noise += (high - low) / n
        fp32 += abs(loss[2, k] - loss[1, k]) / n
        tf32 += abs(loss[3, k] - loss[1, k]) / n
        early = abs(loss[2, k] - loss[1, k]) / loss[1, k]
        if (round[1, k] <= 2 && early > most) most = early
      }
      if (noise == 0) wrong = wrong " seeds do not differ;"
      if (most > 1e-3) wrong = wrong " fp32 leaves the CPU early;"
      if (fp32 > noise) wrong = wrong " fp32 is beyond noise;"
      if (tf32 > noise) wrong = wrong " tf32 is beyond noise;"
      printf "%s until round 2 fp32 is off by %.1e of the loss; mean distances fp32 %.2g, tf32 %.2g, seeds %.2g\n",
        wrong ? "card.sh:" wrong : "proof:", most, fp32, tf32, noise
      exit wrong != ""
    }' "${curves[@]}" || fail 'the curves differ'
}

# ---- One stage, in the process that the loop at the end starts.
if [[ -n ${ROLLCALL_CARD_STAGE:-} ]]; then
  data=(--data synthetic) # unless the machine has CIFAR-10: it may have no network to fetch it
  [[ -n ${ROLLCALL_DATA:-} ]] && "$kit/rollcall" data verify cifar10 >/dev/null 2>&1 && data=(--data cifar10)
  "stage_$ROLLCALL_CARD_STAGE"
  exit
fi

# ---- All stages.

kit=$(cd "$(dirname "$0")" && pwd) root=$PWD out=card-$(date +%Y%m%d-%H%M%S) limit=480 library=
while getopts o:t:e: option; do
  case $option in
    o) out=$OPTARG ;;
    t) limit=$OPTARG ;;
    e) library=$(realpath -e "$OPTARG") || exit 2 ;;
    *) usage "see the first lines of $0" ;;
  esac
done
shift $((OPTIND - 1))
stages=("${@:-${all[@]}}")
for stage in "${stages[@]}"; do
  [[ " ${all[*]} " == *" $stage "* ]] || usage "stage $stage: unknown, want some of ${all[*]}"
done
[[ $limit =~ ^[1-9][0-9]*$ ]] || usage "-t $limit: want a number of seconds"
[[ -d nets/gpu/kernels ]] || usage "$root: not the root of a checkout of rollcall"
[[ -x $kit/rollcall ]] || usage "$kit: no rollcall beside it: make gpu-kit packs what is needed"
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2
work=$out/logs
[[ ! -f $out/logs.tar.gz ]] || tar -C "$out" --skip-old-files -xzf "$out/logs.tar.gz" || exit 2
mkdir -p "$work" || exit 2

export kit work limit library LC_ALL=C ROLLCALL_TEST_GPU=1
# The driver keeps what it has compiled here, for all stages: tests have a home folder of their own.
export CUDA_CACHE_PATH=${CUDA_CACHE_PATH:-${TMPDIR:-/tmp}/rollcall-jit} CUDA_CACHE_MAXSIZE=4000000000
[[ -z $library ]] || export ROLLCALL_LIBCUDA=$library ROLLCALL_TEST_GPU=0 ROLLCALL_BENCH_EMULATED=1

running=
pack() { [[ ! -d $work ]] || tar -C "$out" -czf "$out/logs.tar.gz" logs && rm -rf "$work"; }
trap pack EXIT
trap '[[ -z $running ]] || kill "$running"; exit 130' INT TERM

# why_not LOG prints the line of a log that says best why a stage has not passed, and the stage's own verdict.
why_not() {
  local lines='--- FAIL|^panic|SUMMARY: [1-9]|^rollcall: |GLIBC_|^ptxas (fatal|error)' line verdict
  line=$(grep -m1 -E -- "$lines" "$1" || tail -1 "$1") verdict=$(sed -n 's/^card.sh: //p' "$1" | head -1)
  [[ $line != "card.sh: "* ]] || line=
  echo "${verdict:-no proof that anything ran}${line:+: $line}"
}

failed=0
for stage in "${stages[@]}"; do
  begun=$SECONDS
  export log=$work/$stage.log ROLLCALL_CARD_STAGE=$stage
  timeout -k 10 "$limit" bash "$kit/card.sh" >"$log" 2>&1 </dev/null &
  running=$!
  wait "$running"
  status=$? running= took=$((SECONDS - begun)) said=$(sed -n 's/^proof: //p' "$log" | tail -1)
  if ((status == 0)) && [[ -n $said ]]; then
    state=passed
  elif ((status == 77)); then
    state='left out' said=$(sed -n 's/^left out: //p' "$log" | tail -1)
  elif ((status == 124 || status == 137 && took >= limit)) || grep -q '^panic: test timed out' "$log"; then
    state='timed out' said=$(why_not "$log") failed=1
  else
    state=FAILED said=$(why_not "$log") failed=1
  fi
  said=$(tr -d '\r' <<<"${library:+emulator: }$said" | cut -c1-200)
  printf '%-10s %-9s %5d s  %s\n' "$stage" "$state" "$took" "$said" | tee -a "$out/table.txt"
done
echo "results: $out"
exit $failed
