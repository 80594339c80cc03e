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
	statusCrash       = 134 // 128 + SIGABRT
)

// execute is the whole program: it writes results to stdout, and progress, logs and errors to stderr. It returns the
// exit status.
//
// The first SIGINT, SIGTERM or SIGHUP cancels the context of the command, which ends it in good order. If that takes
// too long, see [awaitEnd], the program ends at once.
func execute(args []string, stdout, stderr io.Writer) int {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it, so that the program outlives its terminal
		ends = append(ends, syscall.SIGHUP)
	}
	ignored := slices.DeleteFunc(slices.Clone(ends), func(s os.Signal) bool { return !signal.Ignored(s) })
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	ended := make(chan struct{})
	defer close(ended)
	context.AfterFunc(ctx, func() {
		exitOn(ignored)
		stop() // the first signal asks the program to end, the second one kills it
		awaitEnd(ended, func() {
			run.Logf(stderr, "rollcall: interrupted\n")
			os.Exit(statusInterrupted)
		})
	})
	return guarded(stderr, func() int { return runContext(ctx, args, stdout, stderr) })
}

// exitOn ends the program at any of these signals. The program was started with them ignored, as scripts start
// background processes with SIGINT ignored. Once signal.NotifyContext has stopped listening, an ignored signal would do
// nothing again, and the user's second signal has to end the program.
func exitOn(signals []os.Signal) {
	if len(signals) == 0 { // Notify would take that for all signals
		return
	}
	second := make(chan os.Signal, 1)
	signal.Notify(second, signals...)
	go func() {
		<-second
		os.Exit(statusInterrupted)
	}()
}

// promptly is how long a command without a run may take to end after a signal.
const promptly = 800 * time.Millisecond

// awaitEnd calls exit unless the program ends by itself in time: within the grace of its runs, or promptly where no run
// is in progress.
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

// runContext runs one command line and returns its exit status. Tests call it in place of a process.
func runContext(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0)) // undoes limitThreads
	help := &texts{w: stdout}
	root := newRoot(stdout, stderr, help)
	root.SetArgs(slices.Concat([]string{}, args)) // given nil, cobra would take the arguments of the test binary
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

// logErrors writes each error in one line.
func logErrors(stderr io.Writer, errs ...error) {
	for _, err := range errs {
		run.Logf(stderr, "rollcall: %s\n", settings.OneLine(err))
	}
}
