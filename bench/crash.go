package main

import (
	"io"
	"runtime/debug"

	"rollcall/bench/run"
)

// guarded runs a command and returns its status, and statusCrash if it panics. Go ends a crashed program with status 2,
// which is a usage error here, and scripts would take the one for the other. guarded catches panics of this goroutine
// only and reports them as bugs. Panics of other goroutines and a lack of memory cannot be caught: with traceback
// "crash" they end the process by SIGABRT, after their trace.
func guarded(stderr io.Writer, command func() int) (status int) {
	debug.SetTraceback("crash")
	defer func() {
		if reason := recover(); reason != nil {
			run.Logf(stderr, "panic: %v\n\n%s\nrollcall: version %s crashed, which is a bug: please report the lines "+
				"above with the command\n", reason, debug.Stack(), run.Version())
			status = statusCrash
		}
	}()
	return command()
}
