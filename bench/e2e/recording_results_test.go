package e2e

import "strings"

// What looks at finished runs.
func recordingResults() []recordingCommand {
	list := []recordingCommand{
		{name: "results-list", line: "results list out/run"},
		{name: "results-list-csv", line: "results list rates other --format csv"},
		{name: "results-list-table", line: "results list out/cafed-1"},
		{name: "results-show", line: "results show scaffold_mnist"},
		{name: "results-show-seeds", line: "results show ca-fed_leaf_uniform"},
		{name: "results-show-out", line: "results show mnist --out other"},
		{name: "results-show-several", line: "results show f3ast"},
		{name: "results-show-none", line: "results show nothing"},
		{name: "results-diff-same", line: "results diff out/cafed-1 out/cafed-1 --metric test_acc,test_loss"},
		{name: "results-diff", line: "results diff paper/cafed-1 out/cafed-1 --ignore preset,params --format csv"},
		{name: "results-diff-tables", line: "results diff out/cafed-1 paper/cafed-1 --ignore preset,params " +
			"--level 0.9 --metric test_acc,train_loss"},
		{name: "results-diff-markdown", line: "results diff out/cafed-1 paper/cafed-1 " +
			"--ignore preset,params --format markdown"},
		{name: "results-diff-nothing", line: "results diff out/cafed-1 rates"},
		{name: "results-merge", line: "results merge paper other rates --out all"},
		{name: "results-merge-again", line: "results merge rates paper --out all"},
		{name: "results-list-merged", line: "results list all --format csv"},
		{
			name: "results-merge-differing", line: "results merge other all --out all2",
			before: recordingEdit("all/run/fedavg-active_leaf_stationary_*/seed-4/curve.csv", func(text string) string {
				return strings.Replace(text, ",4,0,0,0,", ",4,0,0,0,1", 1) // another loss
			}),
		},
		{
			name: "fill-fedar-2", line: "results compare fedar-2 none",
			before: recordingEdit("none/fedar-2/summary.csv", recordingFill),
		},
		{
			name: "fill-fedar-3", line: "results compare fedar-3 none",
			before: recordingEdit("none/fedar-3/summary.csv", recordingFill),
		},
		{
			name: "fill-fedawe-2", line: "results compare fedawe-2 none",
			before: recordingEdit("none/fedawe-2/summary.csv", recordingFill),
		},
	}
	for _, format := range []string{"text", "csv", "markdown"} {
		list = append(list,
			recordingCommand{name: "compare-cafed-1-" + format, line: "results compare cafed-1 out --format " + format})
		list = append(list, recordingCommand{
			name: "compare-fedawe-2-" + format,
			line: "results compare fedawe-2 none/fedawe-2 --format " + format,
		})
	}
	for _, format := range []string{"csv", "markdown", "latex"} {
		list = append(
			list,
			recordingCommand{name: "export-cafed-1-" + format, line: "results export cafed-1 out --format " + format},
			recordingCommand{
				name: "export-fedawe-2-" + format,
				line: "results export fedawe-2 none --printed --format " + format,
			},
			recordingCommand{
				name: "export-fedar-2-" + format,
				line: "results export fedar-2 none --printed --format " + format,
			},
		)
	}
	return append(
		list,
		recordingCommand{name: "compare-fedawe-8", line: "results compare fedawe-8 avx2", cpu: "avx2"},
		recordingCommand{name: "export-fedawe-9", line: "results export fedawe-9 avx2", cpu: "avx2"},
		recordingCommand{
			name: "export-caption",
			line: "results export cafed-1 out --format latex --metric test_acc_mean --caption Ours --label tab:ours",
		},
		recordingCommand{name: "report", line: "report out/run"},
		recordingCommand{name: "report-again", line: "report out/run"},
		recordingCommand{name: "report-several", line: "report paper/cafed-1 other --to page"},
		recordingCommand{name: "report-failed", line: "report none"},
	)
}

var recordingOthersToo = []recordingCommand{
	{name: "availability", line: "availability --clients 4 --rounds 3 --train-size 60"},
	{name: "availability-staircase", line: "availability --kind staircase --period 4 --low 0.3 --clients 4 " +
		"--rounds 6 --train-size 60 --csv new/staircase.csv"},
	{name: "availability-sine-numpy", line: "availability --kind sine --draws numpy --gamma 0.5 --clients 4 " +
		"--rounds 6 --train-size 60 --seed 5"},
	{name: "availability-interleaved-sine", line: "availability --kind interleaved-sine --cutoff 0.2 --clients 4 " +
		"--rounds 6 --train-size 60 --alpha 1"},
	{name: "availability-markov", line: "availability --kind markov --nu 0.5 --g 0.3 --epsilon 0.1 " +
		"--clients 6 --rounds 6 --data leaf"},
	{name: "availability-clusters", line: "availability --kind clusters --clusters 2 --clients 6 --rounds 4 " +
		"--data binary --preset paper"},
	{name: "availability-uniform", line: "availability --kind uniform --p-min 0.4 --clients 5 " +
		"--rounds 4 --train-size 60"},
	{name: "availability-trace", line: "availability --kind trace --trace data/seconds.csv --round-seconds 10 " +
		"--clients 3 --rounds 5 --trace-end empty --train-size 60"},
	{name: "availability-p", line: "availability --p 0.5 --clients 3 --rounds 4 --train-size 60 --seed 9"},
	{name: "data-list", line: "data list"},
	{name: "data-list-dir", line: "data list --data-dir data"},
	{name: "data-verify", line: "data verify mnist --data-dir data"},
	{name: "data-fetch", line: "data fetch synthetic"},
	{name: "version", line: "version"},
	{name: "complete-methods", line: "__complete sweep --methods f"},
	{name: "complete-tables", line: "__complete table f"},
	{name: "complete-figures", line: "__complete figure f"},
}

func recordingHelp() (list []recordingCommand) {
	for _, command := range []string{
		"", "run", "table", "figure", "sweep", "results", "results list", "results show", "results diff",
		"results merge", "results export", "results compare", "report", "bench", "track", "track run", "track compare",
		"track plot", "availability", "data", "data list", "data fetch", "data verify", "devices", "version",
	} {
		name := "help" + strings.ReplaceAll(" "+command, " ", "-")
		list = append(list, recordingCommand{name: name, line: strings.TrimSpace(command + " --help")})
	}
	return list
}

// Command lines that cannot be meant, or not on these data.
var recordingWrong = []recordingCommand{
	{name: "wrong-command", line: "tabel"},
	{name: "wrong-results-command", line: "results lst"},
	{name: "wrong-method", line: "run --method fedawi" + recordingLEAF},
	{name: "wrong-process", line: "run --availability sinus" + recordingLEAF},
	{name: "wrong-data", line: "run --data cifar"},
	{name: "wrong-preset", line: "run --preset papper" + recordingLEAF},
	{name: "wrong-net", line: "run --net linear-mnist" + recordingLEAF},
	{name: "wrong-flag", line: "run --metod fedawe"},
	{name: "wrong-argument", line: "run fedawe"},
	{name: "wrong-number", line: "run --lr fast"},
	{name: "wrong-clients", line: "run --data leaf --clients 0"},
	{name: "wrong-alpha", line: "run --data synthetic --alpha NaN"},
	{name: "wrong-seed", line: "run --seed 4294967296"},
	{name: "wrong-threads", line: "run --data leaf --threads 0"},
	{name: "wrong-precision", line: "run --precision tf32" + recordingLEAF},
	{name: "wrong-device", line: "run --data leaf --device cpu:0"},
	{name: "wrong-empty-method", line: "run --method= --data leaf"},
	{name: "wrong-product", line: "run --data leaf --device cpu --local-steps 1000000 --batch 8"},
	{name: "wrong-chain", line: "run --availability markov --nu -9" + recordingLEAF},
	{name: "wrong-fedar", line: "run --method fedar --fedar-b 2" + recordingMNIST},
	{name: "wrong-swap", line: "run --swap-pairs 2" + strings.Replace(recordingMNIST, "--clients 6", "--clients 5", 1)},
	{name: "wrong-clusters", line: "run --split clusters --clusters 4" + recordingMNIST},
	{name: "unused-prior", line: "run --method fedavg-active --prior 20" + recordingLEAF},
	{name: "unused-gamma", line: "run --availability markov --gamma 0.2" + recordingLEAF},
	{name: "unused-decisions", line: "run --method mifa --decisions" + recordingLEAF},
	{name: "unused-kappa", line: "run --method ca-fed --kappa 2 --bias-const 1" + recordingLEAF},
	{name: "unused-steps", line: "run --local-epochs 2" + recordingLEAF},
	{name: "numpy-split", line: "run --draws numpy --split classes" + recordingMNIST},
	{name: "solved-net", line: "run --method ca-fed --fstar solved" + recordingPix},
	{name: "dump-rounds", line: "run --method fedavg-active --dump dump2" + recordingLEAF},
	{name: "trace-none", line: "run --availability trace" + recordingLEAF},
	{name: "trace-missing", line: "run --availability trace --trace data/none.csv" + recordingLEAF},
	{name: "trace-backwards", line: "run --availability trace --trace data/backwards.csv" + recordingLEAF},
	{name: "trace-columns", line: "run --availability trace --trace data/columns.csv" + recordingLEAF},
	{name: "altered", line: "run --data mnist --data-dir data --clients 4 --rounds 1" + recordingCPU},
	{name: "no-data", line: "run --data cifar10 --rounds 1" + recordingCPU},
	{name: "out-is-a-file", line: "run --out data/trace.csv/x" + recordingLEAF},
	{name: "table-unknown", line: "table fedawe2"},
	{name: "table-none", line: "table"},
	{name: "table-rounds", line: "table cafed-1 --rounds 2" + recordingCPU},
	{name: "table-methods", line: "table fedawe-2 --methods fedawe,mifi"},
	{name: "table-seeds", line: "table fedawe-2 --seeds="},
	{name: "figure-unknown", line: "figure fedawe-f8"},
	{name: "figure-method", line: "figure fedawe-f7 --methods fedau"},
	{name: "figure-ema", line: "figure fedawe-f7 --ema NaN"},
	{name: "figure-stale", line: "figure fedar-f1 --rounds 6"},
	{name: "sweep-none", line: "sweep"},
	{name: "sweep-rates", line: "sweep --methods fedar --rates fedar=1/2/3" + recordingCPU},
	{name: "sweep-rates-of-another", line: "sweep --methods fedar --rates mifa=0.1" + recordingCPU},
	{name: "sweep-unused", line: "sweep --methods fedar --fedau-cutoff 3" + recordingCPU},
	{name: "sweep-name", line: "sweep --methods fedar --name fedar-2" + recordingCPU},
	{name: "compare-nothing", line: "results compare fedawe-2 rates"},
	{name: "export-format", line: "results export fedawe-2 . --format word"},
	{name: "diff-metric", line: "results diff out other --metric acc"},
	{name: "merge-nowhere", line: "results merge out"},
	{name: "report-nothing", line: "report data"},
	{name: "report-missing", line: "report missing"},
	{name: "availability-kind", line: "availability --kind sinus"},
}

// What is left when a file is damaged.
var recordingDamaged = []recordingCommand{
	{
		name: "damaged-list", line: "results list paper",
		before: recordingEdit("paper/cafed-1/unbiased_*/seed-3/curve.csv", func(text string) string {
			return text[:len(text)-20]
		}),
	},
	{name: "damaged-merge", line: "results merge paper other --out whole"},
	{name: "damaged-report", line: "report paper other --to damaged"},
	{name: "damaged-diff", line: "results diff paper/cafed-1 paper/cafed-1"},
	{
		name: "damaged-settings", line: "results show fedvarp_mnist",
		before: recordingEdit("out/run/fedvarp_mnist_*/seed-3/run.json", func(string) string { return "{" }),
	},
	{
		name: "damaged-again", line: "run --method fedvarp --momentum 0.5 --weight-decay 0.01 --clip 1" +
			recordingMNIST,
	},
	{
		name: "damaged-replaced", line: "run --method fedvarp --momentum 0.5 --weight-decay 0.01 --clip 1" +
			recordingMNIST + " --replace",
	},
}
