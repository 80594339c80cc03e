package cli

import (
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/bench/many"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/memory"
)

// registerMachine adds the flags of every command that opens an engine. They are no settings of a run, and are not
// in the hash that names its folder: --device and --precision change the last digits of its numbers, and the others
// change none of its numbers.
func registerMachine(fs *pflag.FlagSet, m *run.Machine) {
	settings.Under(settings.Usual, fs, func(fs *pflag.FlagSet) {
		deviceFlag(fs, &m.Device, "auto, cpu, or cuda[:i]; gpu is cuda")
		fs.StringVar(&m.Out, "out", "out", "folder of everything that is written")
	})
	settings.Under(settings.Workers, fs, func(fs *pflag.FlagSet) {
		fs.StringVar(&m.Precision, "precision", "", "of matrix products: on the CPU fp32, bf16 or bf16x3 (default "+
			"fp32), on CUDA tf32, fp32 or bf16 (default tf32)")
		// Not the number of processors: GOMAXPROCS obeys a container's limit and $GOMAXPROCS.
		fs.IntVar(&m.Threads, "threads", runtime.GOMAXPROCS(0),
			"threads of the CPU engine; fewer than the cores limit the whole program; results do not depend on them")
		fs.Var(&m.Memory, memory.Flag, "refuse runs that would hold more memory, such as 8GB, or off (default: what "+
			"the system and its limits leave)")
		fs.StringVar(&m.Rows, "rows", run.RowsInMemory,
			"where the CPU engine has the models that a method keeps of its clients: memory, or file, in --out, for "+
				"more of them than the memory holds")
	})
	settings.Under(settings.DataSplit, fs, func(fs *pflag.FlagSet) {
		fs.StringVar(&m.DataDir, "data-dir", "",
			"folder of the data sets (default: $ROLLCALL_DATA, then the user's cache folder)")
		fs.BoolVar(&m.Altered, "allow-altered", false,
			"accept well-formed data files that are not the official ones; run.json records their checksum")
	})
}

// deviceFlag adds --device, whose default is auto.
func deviceFlag(fs *pflag.FlagSet, into *string, help string) {
	*into = "auto"
	fs.Var((*device)(into), "device", help)
}

// device is the value of --device. The word gpu is cuda from here on: in files, names and messages.
type device string

// Set implements [pflag.Value].
func (d *device) Set(text string) error {
	kind, which, of := strings.Cut(text, ":")
	if kind == "gpu" {
		kind = "cuda"
	}
	if *d = device(kind); of {
		*d += device(":" + which)
	}
	return nil
}

// String implements [pflag.Value].
func (d *device) String() string { return string(*d) }

// Type implements [pflag.Value].
func (d *device) Type() string { return "string" }

// limitThreads limits the whole program to --threads cores, if the command has that flag. The engine limits itself, but
// Go would prepare batches for the next round on all other cores, where they get in the way of other processes.
func limitThreads(cmd *cobra.Command) {
	if n, err := cmd.Flags().GetInt("threads"); err == nil && n > 0 && n < runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(n)
	}
}

// registerEnd adds the flags that say what an interrupted run leaves, and how long it may take to end. The command
// bench has none of them, since it makes no checkpoint.
func registerEnd(fs *pflag.FlagSet, m *run.Machine) {
	settings.Under(settings.Workers, fs, func(fs *pflag.FlagSet) {
		fs.DurationVar(&m.Methods.Timeout, "method-timeout", 5*time.Minute,
			"of a method in a file: its longest own time, without the engine's, to be read and between two answers; "+
				"0: no limit")
	})
	settings.Under(settings.Keeping, fs, func(fs *pflag.FlagSet) {
		fs.DurationVar(&m.CheckpointEvery, "checkpoint-every", time.Minute,
			"time between two checkpoints of a run, from which a repeated command resumes; "+
				"at least a hundred times as long as writing one; 0: none")
		fs.BoolVar(&m.KeepCheckpoints, "keep-checkpoints", false, "keep the last checkpoints of complete runs too")
		fs.DurationVar(&m.Grace, "grace", 20*time.Second,
			"time that runs have to end after Ctrl-C, SIGTERM or SIGHUP: "+
				"for the round in progress, if rounds are short, and a checkpoint")
	})
}

// registerEvents adds --events, which run, table and sweep have.
func registerEvents(fs *pflag.FlagSet, m *run.Machine) {
	settings.Under(settings.Output, fs, func(fs *pflag.FlagSet) {
		fs.BoolVar(&m.Events, "events", false,
			"write the curves as TensorBoard event files too, next to curve.csv (tensorboard --logdir OUT)")
	})
}

// registerKeep adds the flags that say which finished runs are kept.
func registerKeep(fs *pflag.FlagSet, k *run.Keep) {
	settings.Under(settings.Keeping, fs, func(fs *pflag.FlagSet) {
		fs.BoolVar(&k.Again, "again", false,
			"train every run again; old work stays in .old of its folder until the new run has all of it")
		fs.BoolVar(&k.Replace, "replace", false,
			"for a refused run, move the old work (of other numerics, revisions or schema, or with rows that do not "+
				"verify) to .old of its folder, and train the run again")
		fs.BoolVar(&k.Mixed, "mixed", false,
			"accept finished runs of other numerics (another kind of engine) or other data; "+
				"a mean over such seeds is labelled [mixed: …], and not compared with printed numbers")
	})
}

// registerOne adds the flags of run that are no settings, and that table, sweep and figure have too.
func registerOne(fs *pflag.FlagSet, m *run.Machine, k *run.Keep) {
	registerMachine(fs, m)
	registerEnd(fs, m)
	registerEvents(fs, m)
	registerKeep(fs, k)
}

// registerPool adds the flags of commands that train many runs: table, figure, sweep and tune.
func registerPool(fs *pflag.FlagSet, m *run.Machine, k *many.Keep) {
	registerMachine(fs, m)
	fs.Lookup("device").Usage = "auto, cpu, cuda[:i], or several cards: cuda:all or a list such as cuda:0,2; gpu is " +
		"cuda; results do not depend on the number of cards"
	registerKeep(fs, &k.Keep)
	registerEnd(fs, m)
	settings.Under(settings.Keeping, fs, func(fs *pflag.FlagSet) {
		fs.IntVar(&k.Retries, "retries", 1,
			"how often a failed run is tried again, after all others; then it is counted and left out")
	})
	settings.Under(settings.Workers, fs, func(fs *pflag.FlagSet) {
		fs.BoolVar(&m.Plan, "plan", false, "only print which runs are finished and which would be trained, with how "+
			"much memory and in how many hours")
		fs.IntVar(&m.AtOnce, "pack", 1, "runs trained at the same time on each card, each with its own engine, for a "+
			"card that one run leaves idle; on the CPU they share the threads; results do not depend on it")
		fs.BoolVar(&k.NoWait, "no-wait", false,
			"do not wait for runs of other workers, once no other run is left to start")
	})
}
