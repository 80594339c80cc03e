// Package run trains federations: one run, the runs of a table or a figure, and what a run writes.
package run
