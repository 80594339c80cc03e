// Package cli is the rollcall command line: one file per command.
//
//	os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))                     // the program
//	status := cli.Run(ctx, []string{"run", "--data", "leaf"}, &out, &errors) // one command, as tests call it
//
// A command reads its flags, checks them, calls bench/run or bench/nightly, and prints.
//
// One run, from the command line to its files:
//
//	cmd_run.go            reads the flags, and prints the last row when all is done
//	settings.Resolve      turns flags into settings: the defaults of the method's paper, then the given values
//	run.Machine.Validate  refuses a device, a precision or a folder that this machine does not have
//	run.Experiment.Do     locks OUT/run/CELL/seed-N, and finds the run there if it is finished
//	folder.Decide         decides what to do with the run's folder: keep, resume, train from round 0, or refuse
//	run.trainer           trains round by round, and writes curve.csv, checkpoints and run.json
//
// Three settings as examples. --lr is Settings.LR. Settings.Rate derives the learning rate of each round from it,
// run.Federation passes that to the method, and the method passes it to the engine. --batch is Settings.Batch: the
// engine is opened for batches of that size, and the batch plans of package datasets/plan are cut by it. --seed is not
// a setting: it is a field of run.Experiment, names the folder of the run, and determines the split of the data, the
// availability, the initial weights, the batch plans and dropout.
package cli
