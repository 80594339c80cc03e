// Package run trains federations: one run, the runs of a table or a figure, and what a run writes.
//
// How a run comes about, in order: machine.go says where it computes. session.go opens data and engine, and keeps them
// for the next run (shared_data.go: what sessions side by side have in common). population.go says what the clients
// hold and when they are there; federate.go puts clients, method and availability together and runs a round;
// experiment.go is the whole run, trainer.go its rounds and checkpoints, resume.go where it goes on, grace.go how it
// ends when it is asked to; curve.go, model.go, dump.go and events.go are for its files, claimed.go for whose they are,
// and package progress for who watches it. memory.go says before that what the run will hold, with the rows that
// row_counter.go counts, and package memory what there is.
//
// Many runs: wanted.go says which part of a table or figure is asked for, sweep.go crosses methods with processes.
// pool.go has several sessions work at a time, seeds.go finds finished runs (kept.go says which are taken) or makes
// them, table.go and measure.go make tables and figures of them (summary.go: the summary of a folder; processes.go,
// coalitions.go: what figures show that is no curve).
// plan.go says which runs a command would make and what they ask for, of which package plan makes hours. speed.go and
// profile.go measure the machine.
package run
