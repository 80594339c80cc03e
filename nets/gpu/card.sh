#!/usr/bin/env bash
# card.sh [-o FOLDER] [STAGE …]: checks and times the CUDA engine on the first card of a machine, which needs no Go.
#
# `make gpu-kit` packs this script, the program and the test binaries into bin/gpu-kit.tar.gz. Unpack that in the root
# of a checkout on the card's machine, and run bin/gpu-kit/card.sh there. Each stage writes FOLDER/STAGE.log. A table
# at the end says which stages passed. The stages, which all run by default, in this order:
#
#   driver      every symbol of the driver, a device, a launch
#   kernels     every kernel beside the CPU's code
#   ptxas       registers and spills of every kernel
#   engine      the engine beside the CPU engine
#   methods     every method beside the CPU engine
#   memcheck    a round under compute-sanitizer: accesses beside memory
#   racecheck   a round under compute-sanitizer: races in shared memory
#   speed       `rollcall bench --profile` in each precision
#   launches    every launch of cnn-cifar10 alone
#   curves      200 rounds of two methods on both engines
all=(driver kernels ptxas engine methods memcheck racecheck speed launches curves)
set -u
kit=$(cd "$(dirname "$0")" && pwd) root=$PWD out=card-$(date +%Y%m%d-%H%M%S)
while getopts o: option; do
  case $option in o) out=$OPTARG ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
stages=("${@:-${all[@]}}")
for stage in "${stages[@]}"; do
  [[ " ${all[*]} " == *" $stage "* ]] || { echo "card.sh: stage $stage: unknown, want some of ${all[*]}" >&2; exit 2; }
done
[[ -d nets/gpu/kernels ]] || { echo "card.sh: $root: not the root of a checkout of rollcall" >&2; exit 2; }
[[ -x $kit/rollcall ]] || {
  echo "card.sh: $kit: no rollcall beside it: make gpu-kit packs what is needed" >&2
  exit 2
}
"$kit/rollcall" devices | grep -q '^cuda:.*: usable$' || {
  echo "card.sh: $("$kit/rollcall" devices | tail -1)" >&2
  exit 1
}
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2
export ROLLCALL_TEST_GPU=1 LC_ALL=C
data=(--data synthetic) # unless the machine has CIFAR-10: it may have no network to fetch it
[[ -n ${ROLLCALL_DATA:-} ]] && "$kit/rollcall" data verify cifar10 >/dev/null 2>&1 && data=(--data cifar10)

# tests FOLDER BINARY [ARGUMENT …] runs a test binary in the folder where go test would run it.
tests() { (cd "nets/gpu/$1" && "$kit/$2" -test.v -test.timeout 30m "${@:3}"); }
bench_tests() { (cd bench && "$kit/bench.test" -test.v -test.timeout 30m "$@"); }
# round [COMMAND …] runs one small round under a command, with every buffer an allocation of its own.
round() {
  ROLLCALL_GPU_ARENA=guard "$@" "$kit/rollcall" run --data synthetic --device cuda --net cnn-cifar10 --rounds 1 \
    --clients 20 --local-steps 2 --train-size 2000 --test-size 500 --out "$out/round"
}
# sanitize TOOL runs the round under a tool of compute-sanitizer.
sanitize() {
  type -P compute-sanitizer >/dev/null || { echo 'left out: no compute-sanitizer'; return 77; }
  round compute-sanitizer --tool "$1" --error-exitcode 1
}

stage_driver() { tests driver driver.test -test.run Hardware; }
stage_kernels() { tests kernels kernels.test; }
stage_engine() { tests . gpu.test; }
stage_methods() { bench_tests -test.run CUDA; }
stage_memcheck() { sanitize memcheck; }
stage_racecheck() { sanitize racecheck; }
stage_launches() { tests . gpu.test -test.run '^$' -test.bench 'net=cnn-cifar10/' -test.benchtime 20x; }

stage_ptxas() {
  local tool arch spilled=0
  tool=$(type -P ptxas || ls /usr/local/cuda*/bin/ptxas 2>/dev/null | head -1)
  [[ -n $tool ]] || { echo 'left out: no ptxas'; return 77; }
  arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | tr -d .)
  for source in nets/gpu/kernels/ptx/*.ptx; do
    "$tool" -v -arch="sm_${arch:-80}" -o /dev/null "$source" 2>&1 || return 1
  done | tee "$out/ptxas.txt"
  grep -E '[1-9][0-9]* bytes spill' "$out/ptxas.txt" && spilled=1
  return $spilled
}

stage_speed() {
  for precision in tf32 fp32 bf16; do
    "$kit/rollcall" bench "${data[@]}" --device cuda --precision $precision --profile --out "$out" || return 1
  done
  for clients in 14 86 270; do # about 5, 32 and 100 active; the launches go up to 500
    "$kit/rollcall" bench "${data[@]}" --device cuda --clients $clients --out "$out" || return 1
  done
}

# curves prints the curves of the engines side by side. fp32 follows the loss of the CPU until rounding errors have
# grown. The other precisions stay within the noise of seeds.
stage_curves() {
  local method engine
  for method in fedavg-active fedawe; do
    for engine in cpu cuda:fp32 cuda:tf32; do
      local flags=(--device "${engine%:*}")
      [[ $engine == *:* ]] && flags+=(--precision "${engine#*:}")
      "$kit/rollcall" run "${data[@]}" "${flags[@]}" --method $method --rounds 200 --eval-every 20 \
        --out "$out/curves-$engine" || return 1
    done
    echo "$method: round, then test loss and accuracy on the CPU, CUDA fp32, CUDA tf32"
    paste -d, "$out"/curves-{cpu,cuda:fp32,cuda:tf32}/run/${method}_*/seed-*/curve.csv | awk -F, '
      NR > 1 { print $10, $15, $16, $(NF/3+15), $(NF/3+16), $(2*NF/3+15), $(2*NF/3+16) }'
  done
}

telling='--- FAIL|^panic|ERROR SUMMARY: [1-9]|spill|left out|rollcall: ' # the line of a log that says what failed
failed=0 table=
for stage in "${stages[@]}"; do
  begun=$SECONDS
  "stage_$stage" >"$out/$stage.log" 2>&1
  case $? in
    0) state=passed ;;
    77) state='left out' ;;
    *) state=FAILED failed=1 ;;
  esac
  cause=$(grep -m1 -E -- "$telling" "$out/$stage.log" | cut -c1-90)
  table+=$(printf '%-10s %-9s %5d s  %s' "$stage" "$state" $((SECONDS - begun)) "$cause")$'\n'
done
printf '\n%s\nlogs: %s\n' "$table" "$out"
exit $failed
