package main

import (
	"io"
	"runtime/debug"

	"rollcall/bench/run"
)

// guarded sees to it that a crash is not taken for a usage error, whose status 2 is also Go's for every crash. A panic
// of this goroutine is told as the bug it is. No other one can be caught, nor can the lack of memory: with traceback
// "crash" those end the process by SIGABRT, after their trace.
func guarded(stderr io.Writer, command func() int) (status int) {
	debug.SetTraceback("crash")
	defer func() {
		if reason := recover(); reason != nil {
			run.Logf(stderr, "panic: %v\n\n%s\nrollcall: version %s crashed, which is a bug: please report the "+
				"lines above "+
				"with the command\n", reason, debug.Stack(), run.Version())
			status = statusCrash
		}
	}()
	return command()
}
