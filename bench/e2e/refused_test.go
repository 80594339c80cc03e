package e2e

import (
	"slices"
	"strings"
	"testing"

	"rollcall/results/papers"
)

// refusal is a command line that cannot be meant, with what is said of it, in parts between bars.
type refusal struct{ line, want string }

// refusals stand by what they are of. See also [TestUsageErrors].
var refusals = []struct {
	name  string
	of    string // before every line
	lines []refusal
}{
	{"runs at once", "", []refusal{
		{"table fedawe-2 --pack 0", "--pack 0: want 1 … 32"},
		{"table fedawe-2 --pack -1", "--pack -1: want 1 … 32"},
		{"sweep --methods mifa --pack 33", "--pack 33: want 1 … 32"},
		{"figure fedawe-f7 --pack two", `--pack "two": want a whole number`},
		{"figure fedawe-f7 --pack 0", "--pack 0: want 1 … 32"},
		{"run --pack 2", "--pack"},
		{"table fedawe-2 --retries -1", "--retries -1: want 0 or more"},
		{"sweep --methods mifa --retries x", `--retries "x": want a whole number`},
		{"figure fedawe-f7 --retries -1", "--retries -1: want 0 or more"},
	}},
	{"parts and jobs", "sweep --methods mifa --data leaf --device cpu ", []refusal{
		{"--part 4/3", `--part "4/3": want part i of n, such as 2/8, with n at most 10000`},
		{"--part 0/3", `--part "0/3": want part i of n`},
		{"--part 1", `--part "1": want part i of n`},
		{"--time 5", "--time: of no use without --slurm"},
		{"--collect --gres gpu:1", "--gres: of no use without --slurm"},
		{"--slurm --part 1/2", "--part: of no use with --slurm, want one of the two"},
		{"--slurm --again", "--again: of no use with --slurm, want one of the two"},
		{"--slurm --plan", "--plan: of no use with --slurm, want one of the two"},
		{"--collect --plan", "--plan: of no use with --collect, want one of the two"},
		{"--slurm --collect --dry-run", "--dry-run: of no use with --collect, want one of the two"},
		{"--slurm --checkpoint-every 0", "--checkpoint-every 0: a task of --slurm resumes"},
		{"--slurm --array-limit 0", "--array-limit 0: want 1 … 1000"},
		{"--slurm --tasks 1001", "--tasks 1001: want 1 … 1000"},
		{"--slurm --time x", `--time "x": want minutes, M:S, H:M:S, D-H, D-H:M or D-H:M:S, and more than 0`},
		{"--slurm --time 0", `--time "0": want minutes`},
		{"--slurm --time 0:40", "--time 0:40: too short for a task to end in good order within --grace 20s"},
		{"--slurm --sbatch qos=low", `--sbatch "qos=low": want an option in one line, such as`},
	}},
	{"parts of other commands", "", []refusal{
		{"figure fedawe-f4 --part 1/2", "--part: of no use with figure fedawe-f4, which has no folder of a run"},
		{"figure fedar-f1 --slurm", "--slurm: of no use with figure fedar-f1, which has no folder of a run"},
		{"figure fedawe-f6 --collect", "--collect: of no use with figure fedawe-f6, which has no folder of a run"},
		{"tune --methods mifa --part 3/2", `--part "3/2": want part i of n`},
		{"tune --methods mifa --rung 1 --slurm", "--rung: of no use with --slurm, want one of the two"},
		{"tune --methods mifa --rung 1 --again", "--again: of no use with --rung, want one of the two"},
		{"tune --methods mifa --rung 1 --plan", "--plan: of no use with --rung, want one of the two"},
		{"tune --methods mifa --rung 4 --data leaf --device cpu", "--rung 4: want 1 … 3"},
	}},
	{"plans", "", []refusal{
		{"sweep --methods mifi --plan", "did you mean mifa"},
		{"sweep --methods mifa --plan --pack 0", "--pack 0"},
		{"table fedawe-2 --plan --data mnist", "mnist"},
		{"figure fedawe-f6 --plan --methods mifa", "of no use with figure fedawe-f6"},
		{"run --method mifa --data synthetic --plan=", "--plan"},
		{"table cafed-1 --format json", "--format json: of no use without --plan"},
		{"table cafed-1 --plan --format yaml", `--format "yaml"`},
		{"figure fedawe-f6 --plan --format json", "--format: of no use with figure fedawe-f6"},
		{"tune --methods mifa --plan --format json", "--format json: of no use with tune"},
	}},
	{"runs by their ID", "run --device cpu --id ", []refusal{
		{"x", `--id "x": want TABLE/METHOD_DATA_AVAILABILITY_HASH/seed-N`},
		{"../mifa/seed-3", `--id "../mifa/seed-3": want TABLE`},
		{"sweep/mifa/seed-03", `--id "sweep/mifa/seed-03": want TABLE`},
		{someID, "no paper's table or figure has this run as it is, want the whole command"},
		{"cafed-1/mifa_leaf_sine_0123456789/seed-3", "no paper's table or figure has this run as it is"},
		{someID + " --method mifa --data leaf", someID + ": these settings belong to sweep/mifa_leaf_"},
		{someID + " --rates x.csv", "--rates: of no use with --id, want one of the two"},
	}},
	{"sweeps", "sweep --device cpu ", []refusal{
		{"", "--methods: empty"},
		{"--methods fedar,fedr", "did you mean fedar"},
		{"--methods fedar,fedar", "--methods: fedar twice"},
		{"--methods fedar --availability sinus", "did you mean sine"},
		{"--methods fedar --data cifar", "did you mean cifar10"},
		{"--methods fedar --like fedr", "did you mean fedar"},
		{"--methods fedar --nets lenet", "did you mean lenet5"},
		{"--methods fedar --data mnist --nets lenet5", "takes 32×32×3"},
		{"--methods fedar --name ../x", `--name "../x"`},
		{"--methods fedar --name fedar-2", `--name "fedar-2"`},
		{"--methods fedar --name run", `--name "run"`},
		{"--methods fedar --rates mifa=0.1", "of a method in --methods"},
		{"--methods fedar --rates fedar", "METHOD=LR"},
		{"--methods fedar --rates fedar=0", "positive"},
		{"--methods fedar --rates fedar=1/2/3", "positive"},
		{"--methods fedar --fedau-cutoff 3", "of no use in any cell"},
		{"--methods fedar --seeds=", "--seeds"},
		{"--methods fedar --availability trace", "want both trace and a file"},
		{"--methods fedar --p-min 0 --availability uniform", "smallest probability 0"},
	}},
	{"tunings", "tune --device cpu ", []refusal{
		{"", "--methods: empty"},
		{"--methods fedor", "did you mean fedar"},
		{"--methods fedar --seeds 3", "--seeds 3: tables and figures such as fedawe-2 have it"},
		{"--methods fedar --seeds 10", "--seeds 10: tables and figures such as cafed-f1a have it"},
		{"--methods fedar --seed-split 3", "--seed-split 3: tables and figures such as fedawe-2 have it"},
		{"--methods fedar --seed-init fast", "--seed-init"},
		{"--methods fedar --lrs 0.1,0", "--lrs 0: want finite numbers above 0"},
		{"--methods fedar --lrs 0.1,0.1", "--lrs: 0.1 twice"},
		{"--methods fedar --lrs fast", `--lrs "fast": want numbers, separated by commas`},
		{"--methods fedar --server-lrs NaN", "--server-lrs NaN: want finite numbers above 0"},
		{"--methods fedar --hold-out 0", "--hold-out 0: want a share above 0"},
		{"--methods fedar --hold-out 1", "--hold-out 1"},
		{"--methods fedar --lr 0.1", "unknown flag --lr, did you mean --lrs"},
		{"--methods fedar --draws numpy", "--draws numpy: with --hold-out 0.1"},
		{"--methods fedar --name fedar-2", `--name "fedar-2"`},
		{"--methods fedar --fedau-cutoff 3", "of no use in any cell"},
	}},
	{"figures", "figure ", []refusal{
		{"fedawe-f8", `figure "fedawe-f8" | did you mean | want one of`},
		{"", "0 figures named"},
		{"fedawe-f6 --rounds 0", "--rounds 0 | want 1"},
		{"fedawe-f7 --ema NaN", "--ema NaN | want 0 … 1"},
		{"fedawe-f7 --methods mifx", `--methods "mifx" | did you mean mifa`},
		{"fedawe-f7 --methods fedau", `--methods "fedau"`},
		{"fedawe-f5 --data synthetic,cifar10", "--data | want one"},
		{"fedawe-f6 --seeds 4294967296", "--seeds 4294967296"},
		{"fedawe-f5 --data synthetic --clients 0", "--clients 0"},
		{"fedar-f5 --clients 5 --seeds 3", "--clients 5: figure fedar-f5 varies clients itself, want it without"},
		{"fedar-f1 --ema 0.5", "--ema: of no use with figure fedar-f1, want it with fedawe-f7"},
	}},
	{"results", "results ", []refusal{
		{"lst", `"lst" | did you mean list`},
		{"list . --format json", `"json" | text, csv`},
		{"list . --watch --failed", "--watch: of no use with --failed"},
		{"list . --watch --format csv", "--watch: of no use with | --format"},
		{"show", "0 cells named"},
		{"diff a", "1 folders named | want two"},
		{"diff a b --metric acc", `"acc" | test_acc`},
		{"diff a b --level 1", "--level 1"},
		{"diff a b --ignore seed", `"seed" | method`},
		{"merge --out x", "no folder named"},
		{"merge x", "--out"},
		{"export fedawe-2", "1 arguments"},
		{"export fedawe-2 . --format word", `"word" | latex`},
		{
			"export sweep . --format markdown --label x",
			"--label: of no use with --format markdown, want it with --format latex",
		},
		{"export sweep . --format csv --label x", "--label: of no use with --format csv, want it with --format latex"},
		{
			"export sweep . --format csv --caption x",
			"--caption: of no use with --format csv, want it with --format latex or markdown",
		},
		{`export sweep . --format latex --label a}b`, `--label  | want none of {}\%`},
		{`export sweep . --format latex --label a{b`, `--label  | want none of {}\%`},
		{`export sweep . --format latex --label a\b`, `--label  | want none of {}\%`},
		{`export sweep . --format latex --label a%b`, `--label  | want none of {}\%`},
		{`export sweep . --format latex --label a#b`, `--label  | want none of {}\%`},
		{`export sweep . --format latex --label a~b`, `--label  | want none of {}\%`},
		{`export sweep . --format latex --label a,b`, `--label  | want none of {}\%`},
		{"show . --out .", "--out .: of no use with a cell's folder"},
		{"compare fedawe-2", "1 argument | want a table and a folder"},
		{"compare fedawe-3 .", `table "fedawe-3" | did you mean`},
		{"compare fedawe-2 . --format tex", `--format "tex" | markdown`},
		{"scoreboard a b", "results scoreboard: 2 folders named, want one at most"},
		{"scoreboard . --format tex", `--format "tex" | markdown | csv`},
		{"fill", "want a page"},
	}},
	{"presets that a paper does not have", "", []refusal{
		{"run --method ca-fed --preset code", "outside the papers' tables and figures, want code-no-momentum or paper"},
		{"run --method f3ast --preset code-no-momentum", "of no use with --method f3ast outside"},
		{"sweep --methods fedawe --like adafed --preset code", "--method adafed outside"},
		{"sweep --methods ca-fed --preset code-no-momentum", "of no use with --method fedawe outside"},
		{"table fedawe-2 --preset code-no-momentum", "table fedawe-2 has no such reading, want code or paper"},
		{"table fedar-2 --preset code-no-momentum", "table fedar-2 has no such reading, want code or paper"},
		{"figure fedar-f2 --preset code-no-momentum", "figure fedar-f2 has no such reading, want code or paper"},
		{"figure cafed-f1a --preset code-no", "did you mean code"},
	}},
	{"settings that another one overrides, or that nothing looks at", "", []refusal{
		{"run --data leaf --leaf-augmentation", "--availability stationary --g 0.4 no client is known"},
		{"run --data leaf --leaf-augmentation --availability markov --g 0", "--g 0 no client is known"},
		{"run --leaf-iid", "--leaf-iid true: of no use with"},
		{"run --data leaf --leaf-iid --availability markov --classes half", `--classes "half": unknown`},
		{"run --classes drawn", "want it with --availability markov and drawn"},
		{"run --data leaf --augment sample", "--augment sample: of no use with"},
		{"run --data leaf --init torch", "--init torch: of no use with"},
		{
			"availability --kind sine --nu 0.5",
			"--nu 0.5: of no use with --kind sine --data synthetic, want it with --availability markov",
		},
		{"availability --kind markov --p 0.5", "--p 0.5: of no use with --kind markov"},
		{"availability --data leaf --train-size 100", "--train-size 100: of no use with --kind stationary --data leaf"},
		{"availability --trace x.csv", "--trace"},
		{"run --draws numpy --availability markov", "--draws numpy | markov"},
		{"run --draws nunpy", `"nunpy" | did you mean numpy`},
		{
			"sweep --methods mifa,fedau --rates mifa=0.1,fedau=0.2 --lr 0.3",
			"--lr 0.3: --rates gives every method its own",
		},
		{
			"sweep --methods mifa --rates mifa=0.1/2 --server-lr 0.3",
			"--server-lr 0.3: --rates gives every method its own",
		},
		{"sweep --methods mifa --rates mifa=0.1,mifa=0.2", `--rates "mifa=0.2": mifa twice, want it once`},
		{
			"sweep --methods mifa --data leaf --augment batch",
			"--augment batch: of no use in any cell of this sweep, want it with images",
		},
	}},
}

// someID is an ID that is well-formed.
const someID = "sweep/mifa_leaf_sine_0123456789/seed-3"

// What cannot be meant is refused by name, before anything is made.
func TestRefused(t *testing.T) {
	for _, group := range refusals {
		for _, c := range group.lines {
			t.Run(group.name+"/"+c.line, func(t *testing.T) {
				refuse(t, group.of+c.line, strings.Split(c.want, " | ")...)
			})
		}
	}
}

// refuse runs a command line in an empty folder, where it has to be refused and leave nothing.
func refuse(t *testing.T, line string, parts ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	oneLineError(t, rollcall(t, strings.Fields(line)...), statusUsage, parts...)
	if left := filesBelow(t, "."); len(left) > 0 {
		t.Errorf("left %q, want nothing", left)
	}
}

// A precision that the engine lacks is a usage error of every command that opens one, with or without a card.
func TestPrecisionsRefused(t *testing.T) {
	for _, command := range []string{
		"run", "bench", "track run", "table fedawe-2", "figure cafed-i1", "sweep --methods mifa",
	} {
		for _, c := range []struct{ device, precision, want string }{
			{"cpu", "foo", `--precision "foo": want tf32, fp32, bf16 or bf16x3`},
			{"cuda", "foo", `--precision "foo": want tf32, fp32, bf16 or bf16x3`},
			{"cpu", "tf32", "--precision tf32: the CPU engine, which runs here, has fp32, bf16 and bf16x3"},
			{"cuda", "bf16x3", "--precision bf16x3: the CUDA engine, which runs here, has tf32, fp32 and bf16"},
			{"cuda:7", "bf16x3", "--precision bf16x3: the CUDA engine, which runs here, has tf32, fp32 and bf16"},
		} {
			line := command + " --device " + c.device + " --precision " + c.precision
			t.Run(line, func(t *testing.T) { refuse(t, line, c.want) })
		}
	}
}

// A flag that makes no difference to a figure is refused by its name, of all figures and all flags; the others are
// tested in package run, and no flag is in neither test.
func TestFiguresRefuseFlags(t *testing.T) {
	values := map[string]string{
		"data": "cifar10", "methods": "ca-fed", "seeds": "5", "preset": "code", "rounds": "5", "clients": "5",
		"eval-every": "2", "ema": "0.5", "loss-as-coded": "true",
	}
	known := slices.Clone(papers.FigureFlags())
	for _, f := range papers.Figures() {
		for _, o := range f.Options {
			known = append(known, o.Name)
		}
	}
	for _, f := range papers.Figures() {
		taken := f.Measure.Takes()
		for _, o := range f.Options {
			taken = append(taken, o.Name)
		}
		for _, flag := range known {
			if !slices.Contains(taken, flag) {
				refuse(t, "figure "+f.ID+" --"+flag+"="+values[flag], "--"+flag+": of no use with figure "+f.ID)
			}
		}
		if f.OneSeed {
			refuse(t, "figure "+f.ID+" --seeds 1,2", "--seeds: 2 seeds, want one: figure "+f.ID+" shows a single run")
		}
	}
}
