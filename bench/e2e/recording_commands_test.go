package e2e

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Parts of command lines. A run takes a fraction of a second.
const (
	recordingCPU   = " --device cpu --threads 2"
	recordingFiles = recordingCPU + " --data-dir data --allow-altered" // of tiny MNIST and SVHN
	recordingTiny  = recordingFiles + " --clients 6 --rounds 3 --local-steps 2 --batch 4 --eval-every 1"
	recordingPix   = " --data synthetic --net lenet5 --train-size 60 --test-size 20" + recordingTiny
	recordingMNIST = " --data mnist" + recordingTiny
	recordingLEAF  = " --data leaf" + recordingTiny
	recordingBin   = " --data binary" + recordingTiny
	recordingFew   = recordingFiles + " --rounds 3 --clients 4"
)

// recordingCommands are all, in their order.
func recordingCommands() []recordingCommand {
	return slices.Concat(
		recordingRuns, recordingTables, recordingFigures, recordingSweeps, recordingResults(), recordingOthersToo,
		recordingHelp(), recordingWrong, recordingDamaged,
	)
}

// All methods, all processes, every data set that is generated or can be made tiny, and the options that change what a
// run does.
var recordingRuns = []recordingCommand{
	{name: "run-fedawe", line: "run --method fedawe --data synthetic --train-size 30 --test-size 10 --clients 4 " +
		"--rounds 2 --local-steps 1 --batch 4 --eval-every 1 --availability sine --events" + recordingCPU},
	{name: "run-fedawe-paper", line: "run --method fedawe --preset paper --fedawe-model last --fedawe-clip 0.2 " +
		"--availability sine --gamma 0.4 --period 6" + recordingPix},
	{name: "run-fedavg-active", line: "run --method fedavg-active --leaf-gamma 1 --leaf-delta 0.2" + recordingLEAF},
	{name: "run-fedavg-all", line: "run --method fedavg-all --availability staircase --period 4 " +
		"--low 0.2" + recordingPix},
	{name: "run-fedavg-known", line: "run --method fedavg-known --availability interleaved-sine --cutoff 0.2 " +
		"--gamma 0.5 --period 8" + recordingMNIST},
	{name: "run-fedavg-is", line: "run --method fedavg-is --availability uniform --p-min 0.3" + recordingMNIST},
	{name: "run-fedavg-s", line: "run --method fedavg-s --availability uniform --fedavg-s-limit 2" + recordingMNIST},
	{name: "run-fedau", line: "run --method fedau --fedau-cutoff 2 --availability sine --p 0.5" + recordingLEAF},
	{name: "run-f3ast", line: "run --method f3ast --availability markov --f3ast-limit 2 " +
		"--f3ast-mean --f3ast-beta 0.3" + recordingBin},
	{name: "run-f3ast-memoryless", line: "run --method f3ast --availability clusters --clusters 3 " +
		"--f3ast-memoryless --prior 20" + recordingLEAF},
	{name: "run-mifa", line: "run --method mifa --availability trace --trace data/trace.csv" + recordingLEAF},
	{name: "run-mifa-seconds", line: "run --method mifa --availability trace --trace data/seconds.csv " +
		"--round-seconds 10" + recordingLEAF},
	{name: "run-mifa-wait", line: "run --method mifa-wait --init torch" + recordingPix},
	{name: "run-fedvarp", line: "run --method fedvarp --momentum 0.5 --weight-decay 0.01 --clip 1" + recordingMNIST},
	{name: "run-unbiased", line: "run --method unbiased --availability markov --weights size --server-momentum 0.5 " +
		"--server-weight-decay 0.01 --decisions" + recordingLEAF},
	{name: "run-more-available", line: "run --method more-available --preset paper --availability markov --nu 0.5 " +
		"--epsilon 0.1 --g 0.2 --decisions" + recordingBin},
	{name: "run-adafed", line: "run --method adafed --availability markov --prior 20 --decisions" + recordingLEAF},
	{name: "run-ca-fed", line: "run --method ca-fed --availability markov --decisions" + recordingBin},
	{name: "run-ca-fed-paper", line: "run --method ca-fed --preset paper --availability markov --fstar solved " +
		"--losses held-out --validation 0.3 --kappa 2 --ca-fed-beta 0.5 --ca-fed-tau 0.1 --decisions" + recordingLEAF},
	{name: "run-ca-fed-swapped", line: "run --method ca-fed --availability clusters --clusters 2 --fstar zero " +
		"--losses all --bias-const 3 --swap-pairs 2" + recordingMNIST},
	{name: "run-fedar", line: "run --method fedar --availability uniform --fedar-t0 2 --fedar-b 3 --fedar-rho 0.3 " +
		"--clients 5" + strings.Replace(recordingMNIST, " --clients 6", "", 1)},
	{name: "run-fedar-never-stale", line: "run --method fedar --availability uniform --fedar-t0 none" + recordingMNIST},
	{name: "run-scaffold", line: "run --method scaffold --local-epochs 1" +
		strings.Replace(recordingMNIST, " --local-steps 2", "", 1)},
	{name: "run-numpy", line: "run --method mifa --availability sine --draws numpy --seed 5" + recordingMNIST},
	{name: "run-classes", line: "run --method fedavg-active --split classes --alpha 0.3" + recordingMNIST},
	{name: "run-clusters", line: "run --method fedavg-active --split clusters --clusters 3" + recordingMNIST},
	{name: "run-even", line: "run --method fedavg-active --split even --validation 0.2" + recordingMNIST},
	{name: "run-two-class", line: "run --method mifa --split two-class --eval-train=false" + recordingMNIST},
	{name: "run-rates", line: "run --method fedavg-active --lr 0.02 --lr-schedule constant --server-lr 0.5 " +
		"--augment sample --out rates" + recordingPix},
	{name: "run-svhn", line: "run --method fedawe --data svhn --clients 3 --rounds 1 --local-steps 1 --batch 4 " +
		"--eval-train=false --eval-every 1" + recordingFiles},
	{name: "run-resnet20", line: "run --method fedavg-active --data synthetic --net resnet20 --train-size 20 " +
		"--test-size 2 --clients 1 --rounds 1 --local-steps 1 --batch 2 --p 1 --eval-train=false" + recordingCPU},
	{name: "run-eval-last", line: "run --method mifa --eval-last 2" +
		strings.NewReplacer("--rounds 3", "--rounds 60", "--eval-every 1", "--eval-every 25").Replace(recordingLEAF)},
	{name: "run-dump", line: "run --method fedavg-active --rounds 1 --p 1 --dump dump" +
		strings.Replace(recordingBin, " --rounds 3", "", 1)},
	{name: "run-kept", line: "run --method fedavg-active --leaf-gamma 1 --leaf-delta 0.2" + recordingLEAF},
	{name: "run-kept-events", line: "run --method fedavg-active --leaf-gamma 1 " +
		"--leaf-delta 0.2 --events" + recordingLEAF},
	{name: "run-again", line: "run --method fedavg-active --leaf-gamma 1 --leaf-delta 0.2 --again" + recordingLEAF},
	{name: "run-second-seed", line: "run --method fedavg-active --leaf-gamma 1 " +
		"--leaf-delta 0.2 --seed 4" + recordingLEAF},
	{name: "run-other-rates", line: "run --method fedavg-active --leaf-gamma 1 --leaf-delta 0.2 --seed 4 " +
		"--out other --lr 0.5" + recordingLEAF},
}

// All tables. FedAWE's train with batches of 128 on pictures, which plain Go is too slow for, hence AVX2; FedAR's have
// nets or data that are too large for any CPU, so that they are recorded without data alone.
var recordingTables = []recordingCommand{
	{name: "table-cafed-1", line: "table cafed-1 --seeds 3,4 --events" + recordingFew},
	{name: "table-cafed-1-kept", line: "table cafed-1 --seeds 3,4" + recordingFew},
	{name: "table-cafed-1-paper", line: "table cafed-1 --preset paper --data binary --methods ca-fed,unbiased " +
		"--seeds 3,4 --pack 2 --out paper" + recordingFew},
	{name: "table-fedawe-2", line: "table fedawe-2 --data svhn --availability sine --methods mifa,fedawe --seeds 3 " +
		"--rounds 1 --clients 3 --out avx2" + recordingFiles, cpu: "avx2"},
	{name: "table-fedawe-8", line: "table fedawe-8 --data svhn --methods mifa,fedawe --seeds 3 --rounds 1 " +
		"--clients 3 --out avx2" + recordingFiles, cpu: "avx2"},
	{name: "table-fedawe-9", line: "table fedawe-9 --methods mifa --seeds 3 --rounds 2 --clients 3 --out avx2" +
		recordingFiles, cpu: "avx2"},
	{name: "table-fedawe-10", line: "table fedawe-10 --methods f3ast --seeds 3 --rounds 1 --clients 2 --out avx2" +
		recordingFiles, cpu: "avx2"},
	{name: "table-without-data", line: "table fedawe-2 --data svhn,cifar10 --availability sine,staircase " +
		"--methods mifa,fedawe --seeds 3,4 --out none" + recordingCPU},
	{name: "table-fedar-2-without-data", line: "table fedar-2 --data svhn --methods mifa --seeds 3 --rounds 1 " +
		"--out none" + recordingCPU},
	{name: "table-fedar-3-without-data", line: "table fedar-3 --seeds 3 --rounds 1 --out none" + recordingCPU},
}

var recordingFigures = []recordingCommand{
	{name: "figure-fedawe-f2", line: "figure fedawe-f2"},
	{name: "figure-fedawe-f3", line: "figure fedawe-f3 --seeds 4 --rounds 1 --clients 1 --out avx2" +
		recordingFiles, cpu: "avx2"},
	{name: "figure-fedawe-f5", line: "figure fedawe-f5 --data synthetic --clients 20"},
	{name: "figure-fedawe-f6", line: "figure fedawe-f6 --rounds 12"},
	{name: "figure-fedawe-f7", line: "figure fedawe-f7 --data svhn --methods mifa,fedawe --seeds 3 --rounds 1 " +
		"--clients 3 --ema 0.5 --loss-as-coded --out avx2" + recordingFiles, cpu: "avx2"},
	{name: "figure-cafed-i1", line: "figure cafed-i1 --seeds 5" + recordingFew},
	{name: "figure-cafed-i2", line: "figure cafed-i2 --seeds 5" + recordingFew},
	{name: "figure-cafed-i3", line: "figure cafed-i3 --seeds 3,4" + recordingFew},
	{name: "figure-cafed-f1a", line: "figure cafed-f1a --seeds 1,2" + recordingFew},
	{name: "figure-cafed-f1b", line: "figure cafed-f1b --seeds 1 --methods ca-fed,adafed" + recordingFew},
	{name: "figure-cafed-f1c-without-data", line: "figure cafed-f1c --seeds 1 --rounds 2" + recordingCPU},
	{name: "figure-cafed-f1d", line: "figure cafed-f1d --seeds 1,2" + recordingFew},
	{name: "figure-cafed-f2a", line: "figure cafed-f2a --seeds 1,2" + recordingFew},
	{name: "figure-cafed-f2b", line: "figure cafed-f2b --seeds 1,2" + recordingFew},
	{name: "figure-cafed-f3", line: "figure cafed-f3 --seeds 1 --methods ca-fed" + recordingFew},
	{name: "figure-cafed-f4a", line: "figure cafed-f4a --seeds 1,2" + recordingFew},
	{name: "figure-cafed-f4b", line: "figure cafed-f4b --seeds 1 --methods ca-fed,unbiased" + recordingFew},
	{name: "figure-cafed-f5a", line: "figure cafed-f5a --rounds 3 --clients 20" + recordingFiles},
	{name: "figure-cafed-f5b", line: "figure cafed-f5b --rounds 3 --clients 20" + recordingFiles},
	{name: "figure-cafed-f5c", line: "figure cafed-f5c --rounds 3 --clients 20" + recordingFiles},
	{name: "figure-cafed-f5d", line: "figure cafed-f5d --rounds 3 --clients 20 --seeds 1,2 " +
		"--methods ca-fed,f3ast" + recordingFiles},
	{name: "figure-fedar-f1-without-data", line: "figure fedar-f1 --rounds 7 --clients 2 --seeds 3" + recordingCPU},
	{name: "figure-fedar-f2-without-data", line: "figure fedar-f2 --rounds 1 --seeds 3" + recordingCPU},
	{name: "figure-fedar-f3-without-data", line: "figure fedar-f3 --rounds 1 --seeds 3" + recordingCPU},
	{name: "figure-fedar-f4-without-data", line: "figure fedar-f4 --rounds 1 --seeds 3" + recordingCPU},
	{name: "figure-fedar-f5-without-data", line: "figure fedar-f5 --rounds 1 --seeds 3" + recordingCPU},
}

var recordingSweeps = []recordingCommand{
	{name: "sweep", line: "sweep --methods fedawe,ca-fed,scaffold --availability markov,uniform --seeds 3,4 " +
		"--rates fedawe=0.2/2,scaffold=0.05" + recordingLEAF},
	{name: "sweep-kept", line: "sweep --methods fedawe,ca-fed,scaffold --availability markov,uniform --seeds 3,4 " +
		"--rates fedawe=0.2/2,scaffold=0.05" + recordingLEAF},
	{name: "sweep-like-fedar", line: "sweep --methods fedar,mifa --like fedar --data mnist,leaf " +
		"--availability uniform --name like --pack 2 --clients 5 --rounds 2 --eval-every 1 --batch 8 " +
		"--fedar-rho 0.5" + recordingFiles},
	{name: "sweep-paper-nets", line: "sweep --methods fedau --preset paper --nets linear-mnist --name nets " +
		"--eval-train=false" + recordingMNIST},
}

// recordingOnly returns the one file that matches a pattern.
func recordingOnly(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q, %v, want one file", pattern, found, err)
	}
	return found[0]
}

// recordingEdit returns a step that changes one file.
func recordingEdit(pattern string, change func(text string) string) func(t *testing.T) {
	return func(t *testing.T) {
		t.Helper()
		path := recordingOnly(t, pattern)
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, []byte(change(string(text))), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// recordingFill makes a summary of failed cells one of cells that have numbers.
func recordingFill(text string) string {
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(records) < 2 {
		return fmt.Sprintf("no summary: %v", err)
	}
	for i, r := range records[1:] {
		for k, name := range records[0] {
			switch name {
			case "n":
				r[k] = "2"
			case "mean":
				r[k] = fmt.Sprintf("0.%03d", 7*i+3)
			case "status":
				r[k] = "ok"
			case "error":
				r[k] = ""
			}
		}
	}
	var out strings.Builder
	if err := csv.NewWriter(&out).WriteAll(records); err != nil {
		return err.Error()
	}
	return out.String()
}
