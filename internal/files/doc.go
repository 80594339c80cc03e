// Package files writes files whole or not at all, and reads and writes structs as CSV and arrays as NPY.
//
// A run may be killed at any moment, and a half-written file must never pass for a result. So every file goes through
// [WriteFile] (atomic.go), which writes under a temporary name (temp.go) and renames. lock_unix.go and locks.go tell
// the temporary files of living processes from those of dead ones; boot_*.go name the machine for that.
//
// csv.go writes slices of structs, csv_read.go reads them, and [Optional] is a cell that may be empty. npy.go writes
// arrays for NumPy. texttable.go sets tables for people. regular.go opens files that users name, and refuses pipes and
// devices. paths.go drops paths that are named twice. parallel.go runs a function on all processors.
package files
