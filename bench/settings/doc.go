// Package settings holds every setting of a run as one row: its name, default, range, the runs that read it, and its
// help. So a setting is written once, and its flag, its check, its place in run.json and its name in CSV follow.
//
// Read settings.go first: the struct with all settings of a run. A setting is one [Row] (row.go). The rows are in
// rows.go (the run, its training and its evaluation), rows_data.go (what the clients hold) and rows_process.go (when
// they are available); the parameters of a method are in the method's file, in package algos.
//
// These read the rows: flags.go turns them into flags, value.go reads and writes values, checks.go checks the range of
// each and which settings can be together, use.go says which runs read a setting, and json.go writes run.json and the
// text whose hash names a run. resolve.go turns a command line into settings: it takes the defaults (defaults.go),
// first of the rows and then of the method's paper, and puts the given values over them. process.go reads the trace
// that a setting names, and weights.go the initial weights. schedule.go says what a setting means in one round: its
// learning rate, and whether the model is evaluated.
//
// A new setting of all runs is a row and a field, with a value AsBefore so that existing runs keep their names. A
// new parameter of a method changes only the method's file.
package settings
