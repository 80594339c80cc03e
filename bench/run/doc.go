// Package run trains federations: one run, the runs of a table or a figure, and the files that a run leaves.
//
// One run, from its start to its end:
//
//	machine.go      chooses the processor that trains, and checks the flags of the machine
//	session.go      opens the data set and the engine, and keeps both for the next run
//	shared_data.go  keeps what all sessions of a command share: open data sets, failed downloads, said notices
//	memory.go       refuses a run that would hold more memory than there is; row_counter.go counts its rows
//	experiment.go   says what the run is
//	life.go         is its whole life: lock the folder, decide what to do with it, train, read the run back
//	resume.go       starts or resumes training, as decided
//	federate.go     puts clients, method and availability together, and runs one round
//	population.go   says which samples each client holds, and when it is available
//	trainer.go      is the loop: round, evaluation, checkpoint
//	grace.go        says how the run ends after a signal
//
// What a run writes: curve.go writes curve.csv during the run, and the file for TensorBoard, model.go the models
// of --save-model, dump.go the arrays of --dump. Package checkpoint writes the state to resume from, and package
// progress the lines on the terminal. Package folder decides what to do with a run's folder and moves its files, and
// package lock keeps other workers out of it; elsewhere.go says what to do about their runs.
//
// Many runs: wanted.go says which part of a table or figure a command line asks for, sweep.go crosses methods with
// availability models, for package tune too. pool.go lets several sessions work at a time, in the order of package
// queue, and cards.go spreads them over several cards, of which one may be lost; seeds.go finds or trains the runs of a
// cell. table.go puts them into a table, with summary.go for the summary of its folder, and measure.go a figure and
// what FIGURE.json says, with figure_data.go for figures that show no curves. plan.go counts what a command would do,
// and package plan turns that into hours. speed.go and profile.go measure the machine.
//
// Three settings as examples. --lr: [settings.Settings.Rate] derives the learning rate of a round from it,
// Federation.round puts that into algos.Round, and the method passes it to the engine with the work of each client.
// --batch: [Session.Open] opens the engine for batches of that size, and [Session.Federate] gives it to the planner
// (package datasets/plan), which cuts each client's samples into batches. --seed: it is [Experiment].Seed. [Populate]
// splits the samples and draws the availability with it, [Session.Federate] draws initial weights, batches and
// augmentation, and the method and the engine draw sampling and dropout. Package datasets/rng lists the streams.
package run
