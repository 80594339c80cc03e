// Package results holds what a run leaves behind: its curve, its run file, and the numbers that a summary makes of
// them.
package results
