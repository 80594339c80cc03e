#!/usr/bin/env bash
# card.sh [-o FOLDER] [-T SECONDS] [-t SECONDS] [-w SECONDS] [-e LIBRARY] [STAGE …]
# card.sh data
#
# Checks and times the CUDA engine on the first card of a machine, which needs no Go and no checkout.
#
# `make gpu-kit` packs the program, the test binaries and the files that they read into bin/gpu-kit.tar.xz. Copy that
# and bin/card.sh into a folder of the card's machine and run card.sh there, which unpacks what lies beside it. A stage
# passes only if it proves that it ran: its line in FOLDER/table.txt says how. FOLDER/logs.tar.gz has the logs, and the
# files of the runs. Both are whole after every stage. The stages, the most telling first:
#
#   card        the card, its driver, and that the program can use it
#   check       `rollcall devices --check`: every kernel, small rounds of six nets beside the CPU
#   speed       `rollcall bench`: tf32 with about 37, 5 and 100 clients, bf16 and fp32, then kernel by kernel
#   digests     the bytes that the emulator predicts, net by net and launch by launch
#   ncu         one step of cnn-cifar10 under Nsight Compute
#   peers       the same work in PyTorch and JAX, where they are installed
#   kernels     every kernel beside the CPU's code
#   engine      the engine beside the CPU engine
#   driver      every symbol of the driver, a device, a launch
#   ptxas       the assembler on every kernel: registers and spills
#   launches    every launch of cnn-cifar10 alone
#   memcheck    rounds under compute-sanitizer: accesses beside memory
#   racecheck   rounds under compute-sanitizer: races in shared memory
#   synccheck   rounds under compute-sanitizer: barriers that threads miss
#   methods     every method beside the CPU engine
#   curves      60 rounds on both engines: fp32 follows the CPU, tf32 stays within the noise of seeds
#   fault       a kernel that writes to an invalid address, which the host logs: runs only if it is named
#
# The stages run on if the call that started them ends in another way than by Ctrl-C. A call with the same FOLDER then
# follows them, and once they have ended it runs the stages that have no verdict yet; a stage that is named runs again.
#
# -o FOLDER   where the results go, default card-DATE-TIME
# -T SECONDS  for all stages of this call; what does not fit is left out
# -t SECONDS  the longest that any stage may take, in place of each stage's own limit
# -w SECONDS  how long this call waits for the stages; status 3 if they run on
# -e LIBRARY  no card but the emulator, whose libcuda.so this is: the smallest sizes, to see that the stages run
#
# card.sh data takes the pieces of CIFAR-10 that lie beside it (`make gpu-data`) to $ROLLCALL_DATA, default
# rollcall-data in $TMPDIR, and joins them once all are there. Pieces may come one by one, each in a call of its own.
all=(card check speed digests ncu peers kernels engine driver ptxas launches memcheck racecheck synccheck methods
  curves)
declare -A limits=([card]=60 [check]=180 [speed]=150 [digests]=150 [ncu]=150 [peers]=150 [kernels]=300 [engine]=300
  [driver]=60 [ptxas]=90 [launches]=200 [memcheck]=200 [racecheck]=300 [synccheck]=200 [methods]=200 [curves]=580
  [fault]=60)
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
usable() {
  local said
  said=$("$kit/rollcall" devices 2>&1)
  grep '^cuda:0 .*: usable$' <<<"$said" && return
  fail "cuda:0 is not usable: $(grep -m1 -E '^cuda|^rollcall|GLIBC_' <<<"$said" || tail -1 <<<"$said")"
}

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
  usable
  proof "$(sed -nE 's/^cuda:0 +(.*): usable$/\1/p' "$log" | tail -1)"
}

stage_check() {
  usable
  "$kit/rollcall" devices --check --device cuda:0 ${library:+--nets lenet5} || fail "devices --check: exit status $?"
  grep -q '^cuda:0 (.*): right$' "$log" || fail 'devices --check: not a line that says right'
  proof "$(grep -c '^cuda:0 .* right  ' "$log") checks, $(sed -nE 's/^cuda:0  launches .* s  //p' "$log") launched"
}

# stage_speed says what it has measured after every row: a stage that time ends has its first rows. Kernels are timed in
# runs of their own, whose rounds take longer. Fewer rounds than 40 of few clients end before the card is at its clock.
stage_speed() {
  local out=$work/speed flags=("${data[@]}" --warmup 5) rounds=40 run rows precision
  rm -rf "$out" "$work/profile"
  [[ -z $library ]] || flags=(--data leaf) rounds=3
  for run in tf32 'tf32 --clients 14' 'tf32 --clients 270' bf16 fp32; do
    # --clients: about 5 and 100 active; without, about 37.
    # shellcheck disable=SC2086 # the words of a run
    "$kit/rollcall" bench "${flags[@]}" --device cuda --out "$out" --rounds $rounds --precision $run ||
      fail "rollcall bench: exit status $?"
    rows=$(awk -F, '
      NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
      $at["engine"] ~ /^cuda-sm/ && $at["rounds"] > 0 && $at["client_steps_per_s"] > 0 {
        rows = rows sprintf("%s%s %.1f (%.0f)", n++ ? ", " : "", $at["precision"], 1e6 / $at["client_steps_per_s"],
          $at["active"])
      }
      END { print n + 0, rows }' "$out/bench.csv")
    echo "so far: ${rows#* }"
  done
  [[ $rows == 5\ * ]] || fail 'bench.csv has not 5 rows of cuda'
  for precision in tf32 bf16 fp32; do
    "$kit/rollcall" bench "${flags[@]}" --device cuda --out "$work/profile" --rounds $((rounds < 10 ? rounds : 10)) \
      --precision $precision --profile || fail "rollcall bench --profile: exit status $?"
  done
  (($(grep -cE '^ *kernel +launches ' "$log") == 3)) || fail 'rollcall bench --profile: not 3 tables of kernels'
  proof "µs a client-step (active clients): ${rows#* }"
}

stage_digests() {
  test_binary nets/gpu gpu.test -test.v -test.run '^(TestRevisions|TestLaunchDigests)$' ${library:+-test.short}
  local equal classes
  equal=$(grep -c ': [0-9a-f]*, equal$' "$log")
  classes=$(sed -nE 's/.* (cuda-[a-z0-9-]+) .*: [0-9a-f]+, equal$/\1/p' "$log" | sort -u | paste -sd' ')
  ! grep -q '^--- SKIP: ' "$log" || left_out "$(grep -m1 -h ' are recorded on ' "$log")"
  grep -q ', not recorded$' "$log" && fail "$(grep -m1 -o 'cuda-.*, not recorded$' "$log")"
  [[ $(grep -c -E '^--- PASS: Test(Revisions|LaunchDigests) ' "$log") == 2 ]] || fail 'gpu.test: not both tests passed'
  ((equal > 0)) || fail 'gpu.test: no digest was compared'
  proof "$equal digests equal: $classes"
}

# stage_ncu profiles the launches of one step, behind one that opens the round and two steps that warm the card up. All
# steps of the first group of clients come before the second group's, whose launches are the same.
stage_ncu() {
  local ncu launches=13 flags=(--data synthetic) profiled kernels
  ncu=$(tool ncu) || left_out 'no ncu'
  usable
  rm -rf "$work/ncu"
  [[ -z $library ]] || flags=(--data leaf)
  "$ncu" --clock-control none --section SpeedOfLight --section Occupancy --section WarpStateStats \
    --launch-skip $((1 + 2 * launches)) --launch-count $launches \
    "$kit/rollcall" bench "${flags[@]}" --device cuda --rounds 1 --warmup 0 --profile --out "$work/ncu" ||
    fail "ncu: exit status $?"
  profiled=$(grep -cE '^ +Duration +' "$log")
  kernels=$(sed -nE 's/^ +([a-z0-9_]+) (\([0-9, ]+\)x?){2}, Context .*/\1/p' "$log" | sort -u | wc -l)
  grep -q ',cuda-sm' "$work/ncu/bench.csv" || fail 'bench.csv has no row of cuda'
  ((profiled == launches)) || fail "ncu: $profiled launches were profiled, want $launches"
  proof "$profiled launches of $kernels kernels"
}

stage_peers() {
  local seconds=$((limit * 9 / 10 - 5)) csv=$work/peers.csv flags=() measured
  python3 -c 'import torch' 2>/dev/null || left_out 'no PyTorch'
  usable
  [[ -z $library ]] || flags=(--device cpu --only lenet5)
  ((seconds > 120)) && seconds=120
  rm -f "$csv"
  python3 bench/peers/cuda_all.py --budget $seconds --csv "$csv" "${flags[@]}" || fail "cuda_all.py: exit status $?"
  measured=$(python3 -c '
import csv, sys
rows = [r for r in csv.DictReader(open(sys.argv[1])) if r["us_per_client_step"] and r["ok"] == "True"]
best = {}
for r in rows:
    best.setdefault((r["net"], r["precision"], r["K"]), []).append((float(r["us_per_client_step"]), r["variant"]))
print(len(rows), "variants, the best:", ", ".join("%s %s %s %.1f µs (%s)" % (*k, *min(v)) for k, v in best.items()))
' "$csv") || fail "$csv: exit status $?"
  [[ $measured != 0\ * ]] || fail 'cuda_all.py: no variant was measured and agrees with float64'
  proof "$measured"
}

stage_kernels() { tests nets/gpu/kernels kernels.test ${library:+-test.short}; }
stage_engine() { tests nets/gpu gpu.test ${library:+-test.short -test.run 'Train|Evaluate|Estimate'}; }
stage_driver() {
  [[ -z $library ]] || left_out "the emulator is no hardware"
  tests nets/gpu/driver driver.test -test.run Hardware -test.skip HardwareLost
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
stage_methods() { tests bench/e2e e2e.test -test.run "${library:+Methods.*}CUDA"; }

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

stage_fault() {
  [[ -z $library ]] || left_out "the emulator is no hardware"
  ROLLCALL_TEST_FAULT=1 tests nets/gpu/driver driver.test -test.run HardwareLost
}

# ---- One stage, in the process that the worker below starts.
if [[ -n ${ROLLCALL_CARD_STAGE:-} ]]; then
  data=(--data synthetic) # unless the machine has CIFAR-10: it may have no network to fetch it
  [[ -n ${ROLLCALL_DATA:-} ]] && "$kit/rollcall" data verify cifar10 >/dev/null 2>&1 && data=(--data cifar10)
  cd "$kit/src" || exit
  "stage_$ROLLCALL_CARD_STAGE"
  exit
fi

# ---- The worker, a process of its own session: one stage after the other. It holds a lock as long as it lives, and no
# stage holds it.

# why_not LOG prints the line of a log that says best why a stage has not passed, or how far it has come, and the
# stage's own verdict.
why_not() {
  local lines='--- FAIL|^panic|SUMMARY: [1-9]|^rollcall: |GLIBC_|^ptxas (fatal|error)|^==ERROR==' line verdict
  verdict=$(sed -n 's/^card.sh: //p' "$1" | head -1)
  line=$(sed -nE 's/.*: ([0-9]+ of [0-9]+ digests differ, first .*); all: .*/\1/p' "$1" | tail -1) # launch by launch
  [[ -n $line || -n $verdict ]] || line=$(grep '^so far: ' "$1" | tail -1)
  line=${line:-$(grep -E -- "$lines" "$1" | grep -v -m1 '^rollcall: load average ')}
  line=${line:-$(tail -1 "$1")}
  [[ $line != "card.sh: "* ]] || line=
  echo "${verdict:-no proof that anything ran}${line:+: $line}"
}

# kill_stage ends the stage that runs, or that a worker left behind when it was killed.
kill_stage() {
  local group
  group=$(cat "$work/stage" 2>/dev/null) || return
  ! grep -qz "^work=$work$" "/proc/$group/environ" 2>/dev/null || kill -KILL -- "-$group" 2>/dev/null
  rm -f "$work/stage"
}

# verdict STAGE STATE SECONDS WHAT writes the stage's line into the table, which has the order of the stages, and packs
# the logs.
verdict() {
  local line other
  line=$(printf '%-10s %-9s %5d s  %s' "$@")
  for other in "${all[@]}" fault; do
    if [[ $other == "$1" ]]; then echo "$line"; else grep "^$other " "$out/table.txt" 2>/dev/null; fi
  done >"$out/table.part"
  mv "$out/table.part" "$out/table.txt"
  tar -C "$out" -czf "$out/logs.part" logs && mv "$out/logs.part" "$out/logs.tar.gz"
  echo "$line"
}

run_stages() {
  local stage begun took rest said state status own=$limit
  trap 'kill_stage; exit 130' TERM
  kill_stage
  for stage in "${stages[@]}"; do
    limit=${own:-${limits[$stage]}} rest=$((${budget:-1000000} - SECONDS))
    if ((rest < 5)); then
      verdict "$stage" 'left out' 0 "no time: $budget s are over"
      continue
    fi
    ((limit <= rest)) || limit=$rest
    begun=$SECONDS
    export limit log=$work/$stage.log ROLLCALL_CARD_STAGE=$stage
    timeout -k 10 "$limit" bash "$kit/card.sh" >"$log" 2>&1 </dev/null 9>&- &
    echo $! >"$work/stage"
    wait $!
    status=$? took=$((SECONDS - begun)) said=$(sed -n 's/^proof: //p' "$log" | tail -1)
    rm -f "$work/stage"
    if ((status == 0)) && [[ -n $said ]]; then
      state=passed
    elif ((status == 77)); then
      state='left out' said=$(sed -n 's/^left out: //p' "$log" | tail -1)
    elif ((status == 124 || status == 137 && took >= limit)) || grep -q '^panic: test timed out' "$log"; then
      state='timed out' said=$(why_not "$log")
    else
      state=FAILED said=$(why_not "$log")
    fi
    verdict "$stage" "$state" $took "$(tr -d '\r' <<<"${library:+emulator: }$said" | cut -c1-240)"
  done
}

if [[ -n ${ROLLCALL_CARD_WORKER:-} ]]; then
  unset ROLLCALL_CARD_WORKER
  read -ra stages <<<"$selected"
  run_stages >"$work/progress" 2>&1
  exit
fi

# ---- A call: it unpacks the kit, starts a worker if there is none, and follows it.

kit=$(cd "$(dirname "$0")" && pwd)
store=${ROLLCALL_DATA:-${TMPDIR:-/tmp}/rollcall-data} # CIFAR-10, outside of a checkout that each call may replace

# take_data moves the pieces of CIFAR-10 that are beside this script to $store, and joins them once all are there.
take_data() {
  local sum name missing=() pieces=()
  [[ -f $kit/gpu-data.sums ]] || usage "$kit: no gpu-data.sums: make gpu-data packs CIFAR-10"
  mkdir -p "$store" || exit 2
  if cmp -s "$kit/gpu-data.sums" "$store/gpu-data.sums"; then
    echo "card.sh: $store: CIFAR-10 is there"
    exit
  fi
  while read -r sum name; do
    if [[ -f $kit/$name ]]; then
      sha256sum --status -c <<<"$sum  $kit/$name" || { echo "card.sh: $kit/$name: not what was packed" >&2; exit 1; }
      cp "$kit/$name" "$store/$name.part" && mv "$store/$name.part" "$store/$name" || exit 1
    fi
    pieces+=("$store/$name")
    [[ -f $store/$name ]] && sha256sum --status -c <<<"$sum  $store/$name" || missing+=("$name")
  done <"$kit/gpu-data.sums"
  if ((${#missing[@]})); then
    echo "card.sh: $((${#pieces[@]} - ${#missing[@]})) of ${#pieces[@]} pieces are in $store, missing: ${missing[*]}"
    exit
  fi
  cat "${pieces[@]}" | tar -C "$store" -xz && cp "$kit/gpu-data.sums" "$store/" || exit 1
  rm "${pieces[@]}"
  echo "card.sh: $store: CIFAR-10 is there"
}

# unpack unpacks the kit that lies beside this script, unless it is there, and goes on with the script in it.
unpack() {
  local archive=$kit/gpu-kit.tar.xz to=$kit/gpu-kit sum
  [[ -f $archive ]] || usage "$kit: neither a kit nor a gpu-kit.tar.xz: make gpu-kit packs what is needed"
  sum=$(sha256sum <"$archive") || exit 2
  if [[ $sum != "$(cat "$to/archive" 2>/dev/null)" ]]; then
    rm -rf "$to" "$to.part" && mkdir "$to.part" || exit 2
    if type -P xz >/dev/null; then
      tar -C "$to.part" -xJf "$archive"
    elif type -P python3 >/dev/null; then
      python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$archive" "$to.part"
    else
      usage 'neither xz nor python3 to unpack with'
    fi || usage "$archive: cannot be unpacked"
    echo "$sum" >"$to.part/gpu-kit/archive"
    mv "$to.part/gpu-kit" "$to" && rm -r "$to.part" || exit 2
  fi
  exec bash "$to/card.sh" "$@"
}

if [[ ${1:-} == data ]]; then
  (($# == 1)) || usage "data takes nothing more"
  take_data
  exit
fi
[[ -x $kit/rollcall && -d $kit/src ]] || unpack "$@" # bin of a checkout may have a rollcall of its own

out=card-$(date +%Y%m%d-%H%M%S) limit='' budget='' patience='' library=''
while getopts o:t:T:w:e: option; do
  case $option in
    o) out=$OPTARG ;;
    t) limit=$OPTARG ;;
    T) budget=$OPTARG ;;
    w) patience=$OPTARG ;;
    e) library=$(realpath -e "$OPTARG") || exit 2 ;;
    *) usage "see the first lines of $0" ;;
  esac
done
shift $((OPTIND - 1))
for option in "t$limit" "T$budget" "w$patience"; do
  [[ ${option:1} =~ ^([1-9][0-9]{0,6})?$ ]] || usage "-${option:0:1} ${option:1}: want a number of seconds"
done
for stage in "$@"; do
  [[ -v limits[$stage] ]] || usage "stage $stage: unknown, want some of ${all[*]} fault"
done
mkdir -p "$out" && out=$(cd "$out" && pwd) && mkdir -p "$out/logs" || exit 2
work=$out/logs

# has_verdict STAGE tells whether a stage has passed or failed in this folder; one that was left out has not.
has_verdict() { grep -qE "^$1 +(passed|FAILED|timed out) " "$out/table.txt" 2>/dev/null; }

chosen=("${@:-${all[@]}}") stages=("$@")
if (($# == 0)); then
  for stage in "${all[@]}"; do has_verdict "$stage" || stages+=("$stage"); done
fi

exec 9>"$out/lock" || exit 2
if ! flock -n 9; then
  echo "card.sh: follows the stages of another call in $out"
elif ((${#stages[@]} == 0)); then
  cp "$out/table.txt" "$work/progress"
else
  export kit work out limit budget library selected="${stages[*]}" LC_ALL=C ROLLCALL_TEST_GPU=1
  # The driver keeps what it has compiled here, for all stages: tests have a home folder of their own.
  export CUDA_CACHE_PATH=${CUDA_CACHE_PATH:-${TMPDIR:-/tmp}/rollcall-jit} CUDA_CACHE_MAXSIZE=4000000000
  [[ -z $library ]] ||
    export ROLLCALL_LIBCUDA=$library ROLLCALL_TEST_GPU=0 ROLLCALL_BENCH_EMULATED=1 ROLLCALL_TEST_LONG=
  [[ ! -d $store/cifar-10-batches-bin ]] || export ROLLCALL_DATA=$store
  : >"$work/progress"
  ROLLCALL_CARD_WORKER=1 setsid bash "$kit/card.sh" </dev/null >"$work/worker.log" 2>&1 &
  echo $! >"$work/worker"
  exec 9>&-
  exec 9>"$out/lock"
fi
trap 'kill -TERM "$(cat "$work/worker")" 2>/dev/null; flock 9; exit 130' INT

# say_new prints what the worker has said since the last time.
shown=0
say_new() {
  local lines
  mapfile -t -s "$shown" lines <"$work/progress"
  ((${#lines[@]} == 0)) || printf '%s\n' "${lines[@]}"
  shown=$((shown + ${#lines[@]}))
}
until flock -n 9; do
  say_new
  if [[ -n $patience ]] && ((SECONDS >= patience)); then
    echo "card.sh: the stages run on: the same call follows them; results: $out"
    exit 3
  fi
  sleep 0.2
done
say_new
failed=0 missing=()
for stage in "${chosen[@]}"; do
  grep -q "^$stage " "$out/table.txt" 2>/dev/null || missing+=("$stage")
  ! grep -qE "^$stage +(FAILED|timed out) " "$out/table.txt" 2>/dev/null || failed=1
done
echo "results: $out"
((${#missing[@]} == 0)) || { echo "card.sh: not run: ${missing[*]}: the same call goes on"; failed=1; }
exit $failed
