package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/bench/cli"
	"rollcall/internal/must"
)

// oneLineError checks that a command line failed as it should: one line, after the log, that says what was found and
// what is wanted.
func oneLineError(t *testing.T, o outcome, status int, parts ...string) {
	t.Helper()
	var complaints []string
	for line := range strings.Lines(o.stderr) {
		if strings.HasPrefix(line, "rollcall: ") {
			complaints = append(complaints, line)
		} else if !strings.HasPrefix(line, "device: ") && !strings.Contains(line, ": round ") {
			t.Errorf("stray line on stderr: %q", line)
		}
	}
	if o.status != status || len(complaints) != 1 || strings.Contains(o.stdout+o.stderr, "Usage:") {
		t.Fatalf("status %d, stderr %q, want %d and one line that starts with `rollcall: `", o.status, o.stderr, status)
	}
	for _, part := range parts {
		if !strings.Contains(complaints[0], part) {
			t.Errorf("error %q, want %q in it", complaints[0], part)
		}
	}
}

// Every command line that cannot be meant ends with status 2 before anything is written.
func TestUsageErrors(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		// names
		{"tabel", []string{`"tabel"`, "did you mean table", "run, sweep, table"}},
		{"zzzzzzzz", []string{`"zzzzzzzz"`, "want one of"}},
		{"run --metod fedawe", []string{"--metod", "did you mean --method"}},
		{"run --zzzzzzzz 1", []string{"--zzzzzzzz", "rollcall run --help"}},
		{"run -x", []string{"-x"}},
		{"run --method fedawi", []string{`"fedawi"`, "did you mean fedawe", "fedvarp"}},
		{"run --method FedAWE", []string{`"FedAWE"`, "did you mean fedawe"}},
		{"run --data cifar", []string{`"cifar"`, "did you mean cifar10", "synthetic"}},
		{"run --net cnn-cifar", []string{`"cnn-cifar"`, "did you mean cnn-cifar10"}},
		{"run --preset papper", []string{`"papper"`, "did you mean paper"}},
		{"run --availability sinus", []string{`"sinus"`, "did you mean sine"}},
		{"run --weights none", []string{`"none"`, "equal, size"}},
		{"run --augment crop", []string{`"crop"`, "batch, sample, none"}},
		{"run --fedawe-model first", []string{`"first"`, "mean, last"}},
		{"run --device gpu", []string{`"gpu"`, "auto, cpu, cuda"}},
		{"run --device cuda:", []string{`"cuda:"`, "cuda[:i]"}},
		{"run --device cuda:x", []string{`"cuda:x"`, "cuda[:i]"}},
		{"run --device cpu:0", []string{`"cpu:0"`, "cuda[:i]"}},
		{"run --precision fp64", []string{`"fp64"`, "tf32, fp32, bf16 or bf16x3"}},
		{"run --device cpu --precision tf32", []string{"--precision tf32", "has fp32, bf16 and bf16x3"}},
		{"bench --format json", []string{`"json"`, "text, csv, gobench"}},
		{"table fedawe2", []string{`"fedawe2"`, "did you mean fedawe-2"}},
		{"table", []string{"0 tables", "fedawe-2"}},
		{"table fedawe-2 fedawe-8", []string{"2 tables", "fedawe-2"}},
		{"table fedawe-2 --methods fedawe,mifi", []string{`"mifi"`, "did you mean mifa"}},
		{"table fedawe-2 --data synthetic", []string{`"synthetic"`, "cifar10"}},
		{"table fedawe-2 --availability sinus", []string{`"sinus"`, "did you mean sine"}},
		{"availability --kind sinus", []string{`"sinus"`, "did you mean sine"}},
		{"data lst", []string{`"lst"`, "did you mean list"}},
		{"data fetch", []string{"0 data sets"}},
		{"data fetch cifar", []string{`"cifar"`, "did you mean cifar10"}},
		{"help tabel", []string{`"tabel"`, "did you mean table"}},
		{"completion bash x", []string{`completion bash: unexpected argument "x"`, "want none"}},
		{"completion basch", []string{`"basch"`, "did you mean bash"}},

		// nothing where a name belongs
		{"run --method=", []string{`--method ""`}},
		{"run --data=", []string{`--data ""`}},
		{"run --net=", []string{`--net ""`}},
		{"run --preset=", []string{`--preset ""`}},
		{"run --availability=", []string{`--availability ""`}},
		{"run --device=", []string{`--device ""`}},
		{"run --out=", []string{"--out"}},
		{"table fedawe-2 --methods=", []string{"--methods"}},
		{"table fedawe-2 --seeds=", []string{"--seeds"}},

		// numbers
		{"run --clients 0", []string{"--clients 0", "1 … "}},
		{"run --clients -1", []string{"--clients -1", "1 … "}},
		{"run --clients 1e9", []string{`--clients "1e9"`, "whole number"}},
		{"run --clients 1000000000", []string{"--clients 1000000000", "1 … "}},
		{"run --clients=", []string{`--clients ""`, "whole number"}},
		{"run --alpha 0", []string{"--alpha 0"}},
		{"run --alpha -1", []string{"--alpha -1"}},
		{"run --alpha NaN", []string{"--alpha NaN"}},
		{"run --alpha Inf", []string{"--alpha +Inf"}},
		{"run --alpha 1e-320", []string{"--alpha 1e-320", "1e-300"}},
		{"run --batch 0", []string{"--batch 0"}},
		{"run --batch 1000000000", []string{"--batch 1000000000"}},
		{"run --local-steps 0", []string{"--local-steps 0"}},
		{"run --local-steps 1000000", []string{"--local-steps 1000000", "--batch 8", "product"}},
		{"run --lr 0", []string{"--lr 0"}},
		{"run --lr -1", []string{"--lr -1"}},
		{"run --lr NaN", []string{"--lr NaN"}},
		{"run --lr Inf", []string{"--lr +Inf"}},
		{"run --lr fast", []string{`--lr "fast"`, "a number"}},
		{"run --server-lr 0", []string{"--server-lr 0"}},
		{"run --gamma 2", []string{"--gamma 2", "0 … 1"}},
		{"run --low NaN", []string{"--low NaN", "0 … 1"}},
		{"run --cutoff -1", []string{"--cutoff -1", "0 … 1"}},
		{"run --period 0", []string{"--period 0"}},
		{"run --rounds 0", []string{"--rounds 0"}},
		{"run --eval-every 0", []string{"--eval-every 0"}},
		{"run --train-size 0", []string{"--train-size 0"}},
		{"run --test-size 2000000000", []string{"--test-size 2000000000"}},
		{"run --threads 0", []string{"--threads 0"}},
		{"run --threads 1000000", []string{"--threads 1000000"}},
		{"run --memory-limit 8", []string{`--memory-limit "8"`, "a size such as 8GB", "or off"}},
		{"table fedawe-2 --memory-limit -1GB", []string{`--memory-limit "-1GB"`, "a size such as 8GB"}},
		{"bench --memory-limit none", []string{`--memory-limit "none"`, "or off"}},
		{"run --seed -1", []string{`--seed "-1"`, "0 … 4294967295"}},
		{"run --seed 4294967296", []string{`--seed "4294967296"`, "0 … 4294967295"}},
		{"run --seed", []string{"--seed"}},
		{"run --method fedar --fedar-rho 1.5", []string{"--fedar-rho 1.5", "0 … 1"}},
		{"run --method fedar --fedar-t0 0", []string{"--fedar-t0 0", "positive"}},
		{"run --method fedar --fedar-b 2", []string{"--fedar-b 2", "above 2"}},
		{"run --method mifa --fedar-b 3", []string{"--fedar-b 3", "--method fedar"}},
		{"run --method fedar --fedar-t0 none --fedar-b 3", []string{"--fedar-b 3", "--fedar-t0"}},
		{"run --method fedavg-s --fedavg-s-limit 101 --clients 100", []string{"--fedavg-s-limit 101", "1 … 100"}},
		{"run --method fedavg-s --fedavg-s-limit 0", []string{"--fedavg-s-limit 0"}},
		{"run --availability uniform --p-min 1.5", []string{"1.5", "at most 1"}},
		{"run --net lenet5 --dropout 0.2", []string{"--dropout"}},
		{"figure fedar-f1 --rounds 6", []string{"--rounds 6", "more than 6"}},
		{"figure fedar-f1 --clients 11", []string{"--clients 11", "at most 10"}},
		{"figure fedar-f1 --methods mifa", []string{"--methods", "of no use"}},
		{"run --clip abc", []string{`--clip "abc"`, "a number or none"}},
		{"run --clip 0", []string{"--clip 0"}},
		{"run --fedawe-clip NaN", []string{"--fedawe-clip NaN"}},
		{"run --momentum 1", []string{"--momentum 1"}},
		{"run --weight-decay -1", []string{"--weight-decay -1"}},
		{"run --fedau-cutoff 0", []string{"--fedau-cutoff 0"}},
		{"run --f3ast-beta 0", []string{"--f3ast-beta 0"}},
		{"run --f3ast-limit 1.5", []string{"--f3ast-limit 1.5"}},
		{"run --availability markov --g 0.5", []string{"g 0.5", "below 0.5"}},
		{"run --availability clusters --clients 15", []string{"10 clusters for 15 clients"}},
		{"run --availability uniform --p-min 0", []string{"0"}},
		{"run --availability trace", []string{"--trace", "want both"}},
		{"run --trace x.csv", []string{"--trace", "want both"}},
		{"run --method ca-fed --kappa -1", []string{"--kappa -1"}},
		{"run --method ca-fed --ca-fed-beta 0", []string{"--ca-fed-beta 0"}},
		{"run --method ca-fed --fstar mn", []string{`"mn"`, "did you mean min"}},
		{"run --method ca-fed --prior 0.5", []string{"--prior 0.5"}},
		{"run --server-momentum 1", []string{"--server-momentum 1"}},
		{"run --availability markov --nu -9", []string{"client ", "lambda -9", "no chain of two states"}},
		{"run --availability markov --g NaN", []string{"g NaN"}},
		{"run --local-epochs 0", []string{"--local-epochs 0", "want a whole number 1"}},
		{"run --local-epochs 1.5", []string{"--local-epochs 1.5", "whole number"}},
		{"run --lr-schedule cosine", []string{`"cosine"`, "decay, constant"}},
		{"run --init xavier", []string{`"xavier"`, "kaiming, torch"}},
		{"run --split even --validation 1", []string{"--validation 1", "below 1"}},
		{"run --split evn", []string{`"evn"`, "did you mean even"}},
		{"run --swap-pairs 6", []string{"--swap-pairs 6", "0 … 5"}},
		{"run --swap-pairs 2 --clients 5", []string{"--clients 5", "even number"}},
		{"run --split clusters --clusters 4", []string{"4 clusters for 6 clients", "divisor of 6"}},
		{"table cafed-1 --rounds 2", []string{"--rounds 2", "at least 3"}},
		{"table cafed-1 --clients 5", []string{"--clients 5", "even number"}},
		{"run --eval-train=maybe", []string{`--eval-train "maybe"`, "true or false"}},
		{"bench --rounds 0", []string{"--rounds 0"}},
		{"bench --warmup -1", []string{"--warmup -1"}},
		{"bench --profile --evaluate=false", []string{"--evaluate=false", "--profile"}},
		{"bench --max-seconds NaN", []string{"--max-seconds NaN"}},
		{"table fedawe-2 --rounds 0", []string{"--rounds 0"}},
		{"table fedawe-2 --clients 0", []string{"--clients 0"}},
		{"table fedawe-2 --seeds 3,-4", []string{"--seeds", "-4"}},
		{"table fedawe-2 --seeds 4294967296", []string{"4294967296"}},
		{"availability --rounds 0", []string{"--rounds 0"}},
		{"availability --alpha NaN", []string{"--alpha NaN"}},

		// what the run would not look at
		{"run --method fedavg-active --prior 20", []string{
			"--prior 20", "of no use with --method fedavg-active", "ca-fed",
		}},
		{"run --method mifa --kappa 2", []string{"--kappa 2", "--method ca-fed --bias-const none"}},
		{"run --method ca-fed --kappa 2 --bias-const 1", []string{"--kappa 2", "--bias-const none"}},
		{"run --method fedavg-active --f3ast-beta 0.5", []string{"--f3ast-beta 0.5", "want it with --method f3ast"}},
		{"run --availability sine --nu 0.5", []string{"--nu 0.5", "want it with --availability markov"}},
		{"run --availability markov --gamma 0.2", []string{"--gamma 0.2", "sine or interleaved-sine"}},
		{"run --availability markov --p 0.5", []string{"--p 0.5", "--availability markov"}},
		{"run --leaf-gamma 1", []string{"--leaf-gamma 1", "want it with --data leaf"}},
		{"run --split even --alpha 0.3", []string{"--alpha 0.3", "--split clients, classes or clusters"}},
		{"run --local-epochs 2", []string{"--local-steps 2", "--local-epochs none"}},

		// what does not fit
		{"run --net linear-mnist", []string{"--net linear-mnist", "28×28×1", "--data synthetic has 32×32×3"}},
		{"run --net linear-binary", []string{"--net linear-binary", "in 2 classes"}},
		{"run --method ca-fed --fstar solved", []string{"--fstar solved", "want a linear net"}},
		{"run --method ca-fed --losses held-out", []string{"--losses held-out", "want --validation above 0"}},
		{"run --method mifa --decisions", []string{"--decisions", "mifa", "ca-fed"}},
		{"run --draws numpy --split classes", []string{"--draws numpy", "--split clients"}},
		{"run --local-epochs 1 --rounds 1 --dump d", []string{"--local-steps 2", "--local-epochs none"}},
		{"run --dump d --rounds 2", []string{"--dump", "--rounds 1"}},
		{"run fedawe", []string{`"fedawe"`}},
		{"bench fast", []string{`"fast"`}},
		{"availability sine", []string{`"sine"`}},
		{"data list cifar10", []string{`"cifar10"`}},
		{"devices all", []string{`"all"`}},
		{"devices --nets lenet5", []string{"--nets", "want it with --check"}},
		{"devices --device cuda", []string{"--device", "want it with --check"}},
		{"devices --check --nets lenet", []string{`"lenet"`, "did you mean lenet5"}},
		{"devices --check --device cpu", []string{`"cpu"`, "want auto or cuda[:i]"}},
		{"devices --check --device cuda:x", []string{`"cuda:x"`, "want auto or cuda[:i]"}},
		{"version 2", []string{`"2"`}},
	} {
		t.Run(c.line, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			args := strings.Fields(c.line)
			if rest, ok := strings.CutPrefix(c.line, "run "); ok {
				args = append(small(out), strings.Fields(rest)...)
				if strings.HasPrefix(rest, "--out") {
					args = strings.Fields(c.line)
				}
			}
			t.Chdir(t.TempDir()) // "out" of commands without --out
			oneLineError(t, rollcall(t, args...), statusUsage, c.want...)
			if _, err := os.Stat(out); err == nil {
				for _, f := range filesBelow(t, out) {
					t.Errorf("%s is left over", f)
				}
			}
		})
	}
}

func TestFailures(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.OK(t, os.WriteFile(file, nil, 0o666))
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		// no driver, no such card, or no CUDA in the build
		{"device", small(dir, "--device", "cuda:99"), []string{"device cuda:99", "gpu: "}},
		{"out is a file", small(file), []string{file, "want a folder"}},
		{"out below a file", small(filepath.Join(file, "x")), []string{file, "want a folder"}},
		{"dump is a file", small(dir, "--rounds", "1", "--dump", file), []string{"dump", file, "want a folder"}},
		{"table into a file", []string{"table", "fedawe-2", "--out", file}, []string{file, "want a folder"}},
		{"bench into a file", []string{"bench", "--data", "synthetic", "--out", file}, []string{file, "want a folder"}},
		{"bench from no file", []string{"bench", "--data", "leaf", "--init-from", "none", "--out", dir}, []string{
			"--init-from", "none", "no such file",
		}},
		{"availability below a file", []string{
			"availability", "--train-size", "100", "--csv", filepath.Join(file, "x.csv"),
		}, []string{file, "want a folder"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			oneLineError(t, rollcall(t, c.args...), statusFailure, c.want...)
		})
	}
	if left := filesBelow(t, dir); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}

func TestUnknownKernels(t *testing.T) {
	t.Setenv("ROLLCALL_CPU", "foo")
	for _, args := range [][]string{small(t.TempDir()), {"devices"}, {
		"bench", "--data", "synthetic", "--out", t.TempDir(),
	}} {
		oneLineError(t, rollcall(t, args...), statusFailure, "ROLLCALL_CPU=foo", "want generic")
	}
}

// A folder without permission to write; root may write anywhere.
func TestReadOnlyOut(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write anywhere")
	}
	dir := t.TempDir()
	must.OK(t, os.Chmod(dir, 0o555))
	oneLineError(t, rollcall(t, small(filepath.Join(dir, "out"))...), statusFailure, dir, "permission denied")
}

// A full disk under standard output.
func TestFullStdout(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full: ", err)
	}
	defer full.Close() // nothing was written
	for _, args := range [][]string{
		{"version"},
		{"devices"},
		{"availability", "--train-size", "100"},
		{"data", "list"},
		small(t.TempDir()),
		{"--help"},
		{"help", "run"},
		{"run", "--help"},
		{"results"},
		{"completion", "bash"},
		{"completion", "zsh"},
	} {
		t.Run(strings.Join(args[:min(2, len(args))], " "), func(t *testing.T) {
			var stderr strings.Builder
			status := cli.Run(t.Context(), args, full, &stderr)
			oneLineError(t, outcome{status, "", stderr.String()}, statusFailure, "no space left")
		})
	}
}
