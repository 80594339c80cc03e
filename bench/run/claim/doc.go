// Package claim lets any number of processes on any number of hosts share the work on one output folder: whoever makes
// a run claims its folder first.
package claim
