// Package main is the rollcall command: it trains federated methods under client availability and writes what they
// reach.
//
// Nothing here is worth importing: the package reads command lines, calls bench/settings, bench/run and bench/nightly,
// and prints. main.go starts the program, ends it on signals, and turns errors and panics into exit statuses. root.go
// has the commands' common parts: names, errors, completion. help.go wraps their help. Every cmd_NAME.go is one
// subcommand: its flags, its checks, and its calls into the packages below. machine_flags.go has the flags that many
// commands share. lister.go and watch.go read and redraw the list of runs; table_print.go prints a table.
//
// The way of one run, from the command line to its files:
//
//	cmd_run.go            reads the flags, and prints the last row when all is done
//	settings.Resolve      makes settings of the flags: the defaults of the method's paper, and then what was given
//	run.Machine.Validate  refuses a device, a precision or a folder that this machine has not
//	run.Experiment.Do     locks OUT/run/CELL/seed-N, and finds the run there if it is finished
//	folder.Decide         says what becomes of what is there: it is kept, resumed, made new, or refused
//	run.trainer           trains round by round, and writes curve.csv, checkpoints and run.json
//
// Three settings as examples. --lr is Settings.LR. Settings.Rate derives the learning rate of each round from it,
// run.Federation passes that to the method, and the method passes it to the engine. --batch is Settings.Batch: the
// engine is opened for batches of that size, and the batch plans of package datasets/plan are cut by it. --seed is no
// setting: it stands beside them in run.Experiment, names the folder of the run, and goes into the split of the data,
// the availability, the initial weights, the batch plans and dropout.
//
// The recording (recording_test.go) holds what commands write, byte for byte: run `go test -run TestRecording
// -update-recording` after a change that is meant to change it.
package cli
