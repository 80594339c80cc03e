package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"rollcall/bench/run"
	"rollcall/bench/settings"
)

func main() { os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr)) }

// Exit statuses.
const (
	statusOK          = 0
	statusFailure     = 1
	statusUsage       = 2
	statusInterrupted = 130 // 128 + SIGINT, as shells report it; after SIGTERM and SIGHUP too
	statusCrash       = 134 // 128 + SIGABRT likewise
)

// execute is the whole program: results go to stdout, progress, logs and errors to stderr.
func execute(args []string, stdout, stderr io.Writer) int {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it, so that the program outlives its terminal
		ends = append(ends, syscall.SIGHUP)
	}
	ignored := slices.DeleteFunc(slices.Clone(ends), func(s os.Signal) bool { return !signal.Ignored(s) })
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	ended := make(chan struct{})
	defer close(ended)
	context.AfterFunc(ctx, func() {
		exitOn(ignored)
		stop() // the first signal asks, the second one kills
		awaitEnd(ended, func() {
			run.Logf(stderr, "rollcall: interrupted\n")
			os.Exit(statusInterrupted)
		})
	})
	return guarded(stderr, func() int { return runContext(ctx, args, stdout, stderr) })
}

// exitOn ends the program at any of these signals: those that it was started to ignore, as scripts have their
// background processes ignore SIGINT, and that would do nothing once they are not asked for any more.
func exitOn(signals []os.Signal) {
	if len(signals) == 0 { // which would stand for all there are
		return
	}
	second := make(chan os.Signal, 1)
	signal.Notify(second, signals...)
	go func() {
		<-second
		os.Exit(statusInterrupted)
	}()
}

// promptly is how long anything but a run may take to end that is asked to.
const promptly = 800 * time.Millisecond

// awaitEnd calls exit unless the program ends by itself before: in a second, or in the grace of its runs.
func awaitEnd(ended <-chan struct{}, exit func()) {
	limit, working := run.Working()
	if !working {
		limit = promptly
	}
	select {
	case <-ended:
	case <-time.After(limit):
		exit()
	}
}

func runContext(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0)) // see holdToThreads
	help := &texts{w: stdout}
	root := newRoot(stdout, stderr, help)
	root.SetArgs(slices.Concat([]string{}, args)) // of no argument at all cobra would take those of the test binary
	err := cmp.Or(root.ExecuteContext(ctx), help.err)
	switch {
	case err == nil:
		return statusOK
	case errors.Is(err, context.Canceled):
		run.Logf(stderr, "rollcall: interrupted\n")
		return statusInterrupted
	}
	logErrors(stderr, err)
	if settings.IsUsage(err) {
		return statusUsage
	}
	return statusFailure
}

// logErrors writes each error in a line.
func logErrors(stderr io.Writer, errs ...error) {
	for _, err := range errs {
		run.Logf(stderr, "rollcall: %s\n", settings.OneLine(err))
	}
}
