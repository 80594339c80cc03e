// Package settings holds every setting of a run as one row: its name, default, range, which runs look at it, and its
// help.
//
// Read settings.go first: what a run is. A setting is one [Row] (row.go), in rows.go (the run, its training and its
// evaluation), rows_data.go (what the clients hold), rows_process.go (when they are there) or, if a method alone has
// it, beside the method in package algos. From the rows come the flags (flags.go), the values that are possible and of
// use (checks.go, use.go), and run.json and the hash that names a run (json.go). A command line becomes settings in
// resolve.go: it starts from the defaults (defaults.go), which are the rows' and then the method's paper's, and puts
// what was given over them. What several settings must be together is in checks.go. Files that settings name are read
// in process.go (the trace) and weights.go (initial weights).
//
// A new setting of all runs is a row and a field; a new parameter of a method touches the method's file alone.
package settings
