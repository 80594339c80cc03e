package e2e

// Flags that make runs of the pages short. If a flag is given twice the last one counts, except for lists.
const (
	docsCPU   = " --device cpu"
	docsTrain = docsCPU + " --allow-altered --rounds 2 --clients 4 --eval-every 1"
	docsTiny  = "+ --data synthetic --train-size 60 --test-size 20 --local-steps 1 --batch 4" + docsTrain
	docsRun   = docsTiny + " --net lenet5"
	docsBench = "+ --data leaf --clients 4 --rounds 1 --warmup 0" + docsCPU
	docsTable = docsCPU + " --allow-altered --rounds 3 --clients 4"
	docsSweep = " --data leaf --local-steps 2 --batch 4 --seeds 3" + docsTrain
	docsCross = "rollcall sweep --methods fedavg-active,mifa --availability sine --crossed 5" + docsSweep
	docsCron  = " >track.log 2>&1 || (cat track.log && false)"
	// Two methods of Table 2 on the tiny SVHN.
	docsFedAWE = " --data svhn --availability sine --methods mifa,fedawe --seeds 3 --rounds 1 --clients 3 " +
		"--allow-altered" + docsCPU
)

// Why commands are not run.
const (
	docsNight     = "a night trains at full size for minutes; TestTrackSuite runs a small one"
	docsFedAR     = "evaluates on all of CIFAR-10, whose files cannot be made small: up to minutes, however few rounds"
	docsNVIDIA    = "a tool of NVIDIA's, and a card"
	docsCard      = "a card; TestDevicesCheck runs it on the emulator"
	docsPython    = "a Python with NumPy; TestMethodNew and TestMethodCheckExamples run it"
	docsSlurm     = "a Slurm cluster; TestSlurm submits and collects on one"
	docsKubectl   = "a Kubernetes cluster; TestClusterSchema and the tests beside it read the manifests"
	docsParallel  = "GNU parallel; TestParallel runs it"
	docsBenchstat = "golang.org/x/perf/cmd/benchstat, which is no part of the suite"
)

// The commands of docs/cluster.md that TestParallel runs too.
const (
	docsParallelCards = "parallel -j4 --termseq TERM,25000,KILL,25 --retries 3 --joblog cards.log " +
		"'CUDA_VISIBLE_DEVICES=$(({%}-1)) bin/rollcall table fedawe-2 --device cuda --part {}/8 >{}.log 2>&1' " +
		"::: $(seq 8)"
	docsParallelParts = "parallel -S node1,node2,node3 -j1 --wd /srv/tables --return 'part{}' --retries 3 " +
		"--joblog parts.log 'bin/rollcall table cafed-1 --part {}/3 --out part{} >part{}.log 2>&1' ::: 1 2 3"
)

// docsGuide says why the commands of docs/python.md are not run with those of the other pages.
const docsGuide = "TestPythonGuide runs them, in a virtual environment"

// docsLine is a command as it stands in a page, and what the test runs in its place, or why it runs nothing.
type docsLine struct{ command, instead string }

// docsBefore has commands that run before those of a page, and write the files that these read.
var docsBefore = map[string][]string{
	"docs/commands.md": {"rollcall run --data leaf --out more" + docsTrain, docsCross},
	"examples of --help": {
		"rollcall table fedawe-2" + docsFedAWE,
		"rollcall table fedawe-2 --preset paper --out out-paper" + docsFedAWE,
		"rollcall run --data leaf --out out-v1" + docsTrain, "cp -r out-v1 out-v2",
		"mkdir machine-a machine-b", "cp -r out machine-a/out", "cp -r out-v1 machine-b/out", docsCross,
	},
}

// docsElsewhere are the commands that no test can run, and why. The test still checks their flags of rollcall.
var docsElsewhere = []docsLine{
	{"python3 -m venv env", docsGuide},
	{"env/bin/pip install numpy", docsGuide},
	{"env/bin/pip install --no-index --find-links bin/wheel rollcall-fl", docsGuide},
	{"env/bin/rollcall method check fedaum.py", docsGuide},
	{"env/bin/rollcall tune --methods fedaum.py,fedau,fedawe,mifa --data leaf --availability sine --rounds 40 " +
		"--lrs 0.1,0.03 --server-lrs 0.3,1", docsGuide},
	{"env/bin/rollcall sweep --methods fedaum.py,fedau,fedawe,mifa --data leaf --availability sine --rounds 40 " +
		"--seeds 3,4,6 --rates out/tune/rates.csv", docsGuide},
	{"env/bin/rollcall report out/sweep", docsGuide},
	{"env/bin/rollcall results export sweep out --format latex", docsGuide},
	{"docker build -f Dockerfile.cuda -t rollcall .", "Docker and the network"},
	{"docker run --rm --gpus all -v rollcall-data:/data rollcall", "Docker and a card"},
	{"tensorboard --logdir out", "TensorBoard; results/events reads its own files back"},
	{"python3 bench/peers/replay.py --dump DIR --data …/cifar-10-batches-bin", "PyTorch"},
	{
		"python3 bench/peers/released_fedawe.py FEDAWE CIFAR --method fedawe --lr 0.1 --total_rounds 50 " +
			"--eval_freq 10 --seeds 3,4,6",
		"PyTorch and the released code",
	},
	{"apt-get install clang-19", "root and the network"},
	{
		"pip install numpy pandas && pip install --no-index --find-links bin/wheel rollcall-fl",
		"PyPI; TestWheel installs them",
	},
	{"nvidia-smi -lgc", docsNVIDIA},
	{
		"ncu --set full --import-source on -k regex:conv_backward_filter_tf32 --launch-skip 20 " +
			"--launch-count 2 -o filter bin/rollcall bench --data cifar10 --rounds 1 --warmup 0 --profile",
		docsNVIDIA,
	},
	{"ncu --import filter.ncu-rep --page details | less", docsNVIDIA},
	{"nsys profile --cuda-graph-trace=node bin/rollcall bench --data cifar10 --rounds 3", docsNVIDIA},
	{"benchstat before.txt after.txt", docsBenchstat},
	{"benchstat -col /precision before.txt", docsBenchstat},
	{"go test", "the words of a sentence, no command of its own"},
	{"… change …", "no command: whoever tunes puts their change there"},
	{"max(K · FLOP / (c · peak), K · bytes / (m · bandwidth), about 2 µs)", "a formula"},
	{"MAILTO=you@example.org", "a line of a crontab"},
	{"bin/rollcall devices --check", docsCard},
	{"bin/gpu-kit/card.sh -o card -t 110 card ptxas driver check kernels", docsCard},
	{"bin/gpu-kit/card.sh -o card -t 290 engine methods", docsCard},
	{"bin/gpu-kit/card.sh -o card -t 290 speed launches", docsCard},
	{"bin/gpu-kit/card.sh -o card -t 190 memcheck racecheck synccheck", docsCard},
	{"bin/gpu-kit/card.sh -o card -t 580 curves", docsCard},
	{"rollcall devices --check", docsCard},
	{
		"bin/rollcall table fedawe-2 --data cifar10 --slurm --partition gpu --gres gpu:1 --time 4:00:00 " +
			"--array-limit 8",
		docsSlurm,
	},
	{"bin/rollcall table fedawe-2 --data cifar10 --collect", docsSlurm},
	{"kubectl apply -f docs/cluster/data.yaml", docsKubectl},
	{"kubectl wait --for=condition=complete --timeout=1h job/rollcall-data", docsKubectl},
	{"kubectl apply -f docs/cluster/job.yaml", docsKubectl},
	{"kubectl apply -f docs/cluster/look.yaml", docsKubectl},
	{"kubectl cp look:/rollcall/out copy", docsKubectl},
	{docsParallelCards, docsParallel},
	{docsParallelParts, docsParallel},
	{"rollcall method check FILE", docsPython},
	{"rollcall method check fedaum.py", docsPython},
	{"rollcall method check fedaum.py --equals fedavg-active", docsPython},
	{"rollcall devices --check --device cuda:1 --nets cnn-cifar10,resnet18", docsCard},
	{"rollcall table fedar-2 --data cifar10", docsFedAR},
	{"rollcall table fedar-3", docsFedAR},
	{"for f in f1 f2 f3 f4 f5; do rollcall figure fedar-$f; done", docsFedAR},
	{"rollcall track run", docsNight},
	{
		"rollcall track run --device cuda:0 --precision tf32 --history /srv/rollcall/history",
		"a card; " + docsNight,
	},
}

// docsShort makes commands of the pages short. The flags behind "+ " are added to every call of rollcall in a command;
// any other text replaces the command. Commands that are not listed run as they stand in the page.
var docsShort = []docsLine{
	{"rollcall method new NAME", "rollcall method new fedmine"},
	// README.md
	{"bin/rollcall table cafed-1 --data binary", "+" + docsTable},
	{
		"bin/rollcall sweep --data leaf --methods fedavg-active,fedau,fedawe,mifa,fedvarp " +
			"--availability sine --rounds 100 --seeds 3,4,6",
		"bin/rollcall sweep --methods fedau,mifa --availability sine" + docsSweep,
	},
	{"bin/rollcall run --method fedawe --data cifar10 --availability sine --rounds 20", docsRun},
	{
		"bin/rollcall table fedawe-2 --data cifar10 --availability sine --rounds 100 --seeds 3 --plan",
		"bin/rollcall table cafed-1 --plan --data binary" + docsTable,
	},

	// docs/commands.md
	{"rollcall run", docsRun},
	{"rollcall table TABLE", "rollcall table cafed-1 --seeds 3" + docsTable},
	{"rollcall figure FIGURE", "rollcall figure cafed-i1" + docsTable},
	{"rollcall sweep", "+ --methods fedawe,ca-fed --availability markov" + docsSweep},
	{"rollcall tune", "+ --methods mifa --data leaf --lrs 0.1,0.03 --server-lrs 1" + docsTrain},
	{"rollcall results show CELL", "rollcall results show out/run/*_*"},
	{"rollcall results compare TABLE DIR", "rollcall results compare cafed-1 out"},
	{"rollcall results verify DIR", "rollcall results verify out"},
	{"rollcall results scoreboard", "mkdir -p out && rollcall results scoreboard out"},
	{
		"rollcall results fill docs/reproduction.md",
		"mkdir docs && printf '%s\\n' '<!-- rollcall results compare fedawe-2 out -->' '<!-- end -->' " +
			">docs/reproduction.md && rollcall results fill docs/reproduction.md && grep mifa docs/reproduction.md",
	},
	{"rollcall results diff A B", "rollcall results diff out/sweep out/sweep"},
	{"rollcall results power DIR", "rollcall results power out/sweep"},
	{"rollcall results merge OUT… --out ALL", "rollcall results merge out more --out all"},
	{"rollcall results export TABLE DIR", "rollcall results export cafed-1 out"},
	{"rollcall results summarise TABLE DIR", "rollcall results summarise cafed-1 out/cafed-1"},
	{
		"rollcall results fill PAGE",
		"printf '%s\\n' '<!-- rollcall results export cafed-1 out -->' '<!-- end -->' >page.md && " +
			"rollcall results fill page.md && grep ca-fed page.md",
	},
	{"rollcall bench", docsBench},
	{`rollcall track run\|compare\|plot`, "rollcall track compare && rollcall track plot"},
	{"rollcall availability", "+ --rounds 3 --clients 4 --data leaf"},
	{
		`rollcall data list\|fetch\|verify`,
		"rollcall data list && rollcall data fetch leaf && rollcall data verify leaf",
	},
	{`rollcall completion bash\|zsh\|fish`, "for s in bash zsh fish; do rollcall completion $s; done"},
	{"rollcall COMMAND --help", "rollcall figure --help"},

	// docs/seeds.md
	{
		"bin/rollcall sweep --data leaf --methods fedawe,mifa --availability sine --rounds 100 " +
			"--seeds 3,4,6 --seed-split 3",
		"+" + docsTrain,
	},
	{
		"bin/rollcall sweep --methods fedavg-active,mifa --data mnist --availability sine --rounds 100 --crossed 11",
		"bin/" + docsCross,
	},

	// docs/replay.md, docs/runs.md, docs/files.md, docs/data.md, docs/architecture.md
	{"bin/rollcall run --method fedavg-active --rounds 1 --dump DIR", docsRun + " --rounds 1"},
	{"bin/rollcall table fedawe-2 --data cifar10 --plan", "bin/rollcall table fedawe-2 --plan" + docsFedAWE},
	{"bin/rollcall table fedawe-2 --data cifar10 --retries 3", "bin/rollcall table fedawe-2 --retries 3" + docsFedAWE},
	{"bin/rollcall table cafed-1 --out all", "+" + docsTable},
	{
		"bin/rollcall results merge part1 part2 part3 --out all",
		"for i in 1 2 3; do bin/rollcall table cafed-1 --part $i/3 --out part$i" + docsTable + "; done && " +
			"bin/rollcall results merge part1 part2 part3 --out all",
	},
	{
		"bin/rollcall run --method fedawe --data cifar10 --net resnet20 --rounds 20 --save-model",
		docsTiny + " && cp out/run/fedawe_*/seed-3/model.safetensors net.safetensors",
	},
	{
		"bin/rollcall run --method fedar --data cifar10 --net resnet20 --rounds 20 --init-from net.safetensors",
		docsTiny,
	},

	{
		"bin/rollcall tune --methods fedavg-active,fedawe --availability sine --data leaf --rounds 40 " +
			"--lrs 0.1,0.03,0.01 --server-lrs 0.5,1,3",
		"+" + docsTrain,
	},
	{
		"bin/rollcall sweep --methods fedavg-active,fedawe --availability sine --data leaf --rates out/tune/rates.csv",
		"+" + docsTrain,
	},
	{
		"bin/rollcall run --method fedawe --availability sine --data leaf --rates out/tune/rates.csv",
		"+" + docsTrain,
	},
	{
		"bin/rollcall table fedawe-2 --rates out/tune/rates.csv",
		"bin/rollcall tune --methods mifa,fedawe --availability sine --data svhn --lrs 0.1 --server-lrs 1 " +
			"--rounds 1 --clients 3 --allow-altered && bin/rollcall table fedawe-2 --rates out/tune/rates.csv" +
			docsFedAWE,
	},
	{"bin/rollcall run --data leaf --rounds 20", "+" + docsTrain},
	{"rollcall data fetch mnist", "rollcall data fetch leaf"},
	{"rollcall data verify mnist", "rollcall data verify leaf"},

	// docs/performance.md, docs/cuda.md, docs/tuning.md
	{"bin/rollcall bench --data cifar10", docsBench},
	{"bin/rollcall bench --data cifar10 --format gobench >> a.txt", docsBench},
	{"bin/rollcall bench --data cifar10 --format gobench", docsBench},
	{"bin/rollcall bench --data cifar10 --profile", docsBench},
	{"rollcall bench --profile", docsBench},
	{"rollcall table --pack n", "rollcall table cafed-1 --pack 2 --data binary --seeds 3" + docsTable},

	// docs/reproduction.md
	{
		"for seed in 3 4 6; do rollcall run --method fedavg-active --availability stationary --draws numpy " +
			"--rounds 20 --eval-every 5 --seed $seed; done",
		docsRun,
	},
	{
		"for seed in 3 4 6; do rollcall run --method fedawe --availability sine --draws numpy " +
			"--rounds 50 --eval-every 5 --seed $seed; done",
		docsRun,
	},
	{
		"for seed in 3 4 6; do for lr in 0.1 0.05; do rollcall run --method fedavg-known --lr $lr --rounds 150 " +
			"--availability sine --draws numpy --eval-every 10 --eval-train=false --seed $seed; " +
			"rollcall run --method fedavg-all --lr $lr --rounds 100 " +
			"--availability sine --draws numpy --eval-every 10 --eval-train=false --seed $seed; done; done",
		docsRun,
	},
	{"rollcall table cafed-1", "+ --seeds 3" + docsTable},
	{"rollcall figure cafed-f1a", "+ --seeds 1" + docsTable},
	{"rollcall figure cafed-f1b", "+ --seeds 1" + docsTable},
	{"rollcall figure cafed-f5a --seeds 1,2,3,4,5,6,7,8,9,10", "rollcall figure cafed-f5a --seeds 1,2 --rounds 3 " +
		"--clients 20 --allow-altered" + docsCPU},
	{"rollcall table cafed-1 --preset paper", "+ --seeds 3" + docsTable},
	{"rollcall table cafed-1 --preset code-no-momentum", "+ --seeds 3" + docsTable},
	{"rollcall figure cafed-f1a --preset code", "+ --seeds 1" + docsTable},
	{"rollcall figure cafed-f1b --preset code", "+ --seeds 1" + docsTable},
	{
		"for t0 in 10 25 100 none; do rollcall sweep --name fedar-t0-$t0 --like fedar --methods fedar " +
			"--availability uniform --nets lenet5 --rounds 1000 --eval-every 5 --seeds 3,4,6 --fedar-t0 $t0; done",
		docsTiny,
	},
	{
		"for b in 2.5 8; do rollcall sweep --name fedar-b-$b --like fedar --methods fedar --availability uniform " +
			"--nets lenet5 --rounds 1000 --eval-every 5 --seeds 3,4,6 --fedar-b $b; done",
		docsTiny,
	},

	// docs/tracking.md
	{
		"17 3 * * *  cd /srv/rollcall && . ./webhook.env && bin/rollcall track run >track.log 2>&1 || cat track.log",
		". ./webhook.env && bin/rollcall track compare --history results/history" + docsCron,
	},

	// examples
	{"rollcall availability --kind sine --rounds 80 --csv sine.csv", "+ --data leaf"},
	{"rollcall bench --data synthetic --rounds 20 --format gobench", docsBench},
	{
		"rollcall bench --data synthetic --net resnet20 --batch 32 --local-steps 2 --clients 6",
		"rollcall bench --data synthetic --net resnet20 --batch 4 --local-steps 1 --clients 1 --rounds 1 --warmup 0" +
			" --test-size 50" + docsCPU,
	},
	{"rollcall bench --data cifar10", docsBench},
	{
		"rollcall figure fedawe-f7 --data cifar10 --rounds 100 --seeds 3",
		"rollcall figure fedawe-f7 --data svhn --methods fedawe --seeds 3 --rounds 1 --clients 2 " +
			"--allow-altered" + docsCPU,
	},
	{
		"rollcall results show out/run/fedawe_cifar10_sine_1a2b3c4d5e",
		"rollcall results show out/fedawe-2/fedawe_svhn_sine_*",
	},
	{"rollcall results show 1a2b3c4d5e", "rollcall results show $(echo out/fedawe-2/fedawe_* | tail -c 11)"},
	{"rollcall run --method fedawe --data cifar10 --availability sine --rounds 20", docsRun},
	{"rollcall run --method mifa --data synthetic --clients 20 --rounds 5 --seed 3", docsRun},
	{
		"rollcall sweep --methods fedawe,ca-fed,fedar,scaffold --availability markov " +
			"--data cifar10 --rounds 200 --seeds 3,4,6",
		"rollcall sweep --methods fedawe,ca-fed,fedar,scaffold --availability markov" + docsSweep,
	},
	{
		"rollcall sweep --methods fedar,mifa --availability uniform,trace --trace log.csv " +
			"--like fedar --nets lenet5,cnn-cifar10",
		docsTiny + " --seeds 3",
	},
	{
		"rollcall sweep --methods fedavg-active,mifa --data mnist --availability sine --rounds 100 --crossed 11",
		docsCross,
	},
	{
		"rollcall tune --methods fedavg-active,fedawe --availability sine,stationary --data cifar10 --plan",
		"rollcall tune --methods fedavg-active --data leaf --plan" + docsTrain,
	},
	{
		"rollcall tune --methods fedawe,mifa --data leaf --rounds 40 --lrs 0.1,0.03,0.01 --server-lrs 1,3",
		"+" + docsTrain,
	},
	{
		"rollcall table fedawe-2 --data cifar10 --availability sine " +
			"--methods fedawe,fedavg-active --rounds 100 --seeds 3",
		"rollcall table fedawe-2" + docsFedAWE,
	},
	{
		"rollcall track compare --fingerprint 3fa9 --nights 7 --format json",
		"rollcall track compare --fingerprint FINGERPRINT --nights 7 --format json",
	},
	{
		"rollcall track plot round/cifar10 --fingerprint 3fa9",
		"rollcall track plot round/cifar10 --fingerprint FINGERPRINT",
	},
}
