package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"rollcall/algos"
	"rollcall/bench/many"
	"rollcall/bench/many/tune"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	_ "rollcall/internal/limits" // says in one line if the program cannot start
)

// Exit statuses. docs/commands.md lists them, and scripts tell by them what happened.
const (
	StatusOK          = 0
	StatusFailure     = 1
	StatusUsage       = 2
	StatusTimeUp      = 75  // EX_TEMPFAIL of sysexits.h: the time is up, see [TimeUp]: the command is to be repeated
	StatusInterrupted = 130 // 128 + SIGINT, as shells report it; after SIGTERM and SIGHUP too
	StatusCrash       = 134 // 128 + SIGABRT
)

// Main is the whole program: it writes results to stdout, and progress, logs and errors to stderr. It returns the
// exit status.
//
// The first SIGINT, SIGTERM, SIGHUP or signal of [TimeUp] cancels the context of the command, which ends it in good
// order. If that takes too long, see [awaitEnd], the program ends at once, and also by a second SIGINT, SIGTERM or
// SIGHUP. Signals of TimeUp do not count for that: schedulers send SIGTERM after them, and some repeat them.
func Main(args []string, stdout, stderr io.Writer) int {
	ends := append([]os.Signal{os.Interrupt, syscall.SIGTERM}, TimeUp...)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it, so that the program outlives its terminal
		ends = append(ends, syscall.SIGHUP)
	}
	// Notify switches ignored signals on, and after it nothing says any more that one was ignored.
	ignored := slices.DeleteFunc(slices.Clone(ends), func(s os.Signal) bool { return !signal.Ignored(s) })
	received := make(chan os.Signal, len(ends)) // none of a burst is lost, however busy the program is
	signal.Notify(received, ends...)
	defer signal.Stop(received)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	ended := make(chan struct{}) // closed when the command has returned
	defer close(ended)
	go func() {
		asked, stops := false, 0
		for {
			select {
			case <-ended:
				return
			case s := <-received:
				warning := slices.Contains(TimeUp, s)
				if !warning {
					stops++
				}
				switch {
				case stops > 1: // ends the program without the checkpoint that the first asked for
					endAtOnce(s, slices.Contains(ignored, s))
				case !asked: // asks the program to end
					asked = true
					var why error // nil: [context.Canceled]
					status := StatusInterrupted
					if warning {
						why, status = errTimeUp, StatusTimeUp
					}
					cancel(why)
					// The limit runs in a goroutine of its own, so that this one can wait for more signals meanwhile.
					go awaitEnd(ended, func() {
						run.Logf(stderr, "rollcall: interrupted\n")
						os.Exit(status)
					})
				}
			}
		}
	}()
	return guarded(stderr, func() int { return Run(ctx, args, stdout, stderr) })
}

// errTimeUp is why the context of a command ends when the time of its job is nearly up.
var errTimeUp = errors.New("time is up")

// endAtOnce ends the program by a signal. If the program was started with the signal ignored, as scripts start
// background processes with SIGINT ignored, the signal itself would do nothing.
func endAtOnce(s os.Signal, ignored bool) {
	if !ignored {
		signal.Reset(s)
		if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(s) == nil {
			time.Sleep(time.Second) // the signal ends the program before this does
		}
	}
	os.Exit(StatusInterrupted)
}

// promptly is how long a command without a run may take to end after a signal. Such a command has no checkpoint to
// write, and is to be gone within a second (TestEndsPromptly).
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

// Run runs one command line and returns its exit status. Tests call it in place of a process, so it leaves
// nothing behind: neither flags, which every call makes anew, nor a limit of threads.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0)) // undoes limitThreads
	stdout, stderr = files.Printed(stdout), files.Printed(stderr)
	help := &texts{w: stdout}
	root, methods := newRoot(stdout, stderr, help), algos.Registered()
	args, x, err := expandExperiment(root, args)
	if err == nil {
		args, err = addData(args)
	}
	if err == nil {
		args, err = addNets(args)
	}
	if err == nil {
		args, err = addScripts(ctx, root, args, stderr)
	}
	if err == nil {
		if algos.Registered() > methods {
			root = newRoot(stdout, stderr, help) // with the flags of methods in files
		}
		if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
			answerShell(root)
		}
		root.SetArgs(append([]string{}, args...)) // given nil, cobra would take the arguments of the test binary
		err = cmp.Or(root.ExecuteContext(context.WithValue(ctx, experimentOf{}, x)), help.err)
	}
	if err != nil {
		err = x.at(err)
	}
	switch {
	case err == nil:
		return StatusOK
	case errors.Is(err, context.Canceled): // before logErrors: an interruption that was asked for is no error
		return interruptedStatus(ctx, err, stderr)
	}
	if missing, is := errors.AsType[*many.MissingError](err); is {
		logErrors(stderr, missing.Sets...)
		return StatusFailure
	}
	logErrors(stderr, err)
	switch {
	case settings.IsUsage(err):
		return StatusUsage
	case errors.Is(err, many.ErrHeld), errors.Is(err, tune.ErrEarlier):
		return StatusTimeUp
	}
	return StatusFailure
}

// interruptedStatus says on stderr why the command was interrupted, and returns the status. A scheduler repeats a
// command whose time was up, for which it must have come nearer to its end: otherwise it would be repeated for ever.
func interruptedStatus(ctx context.Context, err error, stderr io.Writer) int {
	begun, rounds := run.Trained()
	switch {
	case !errors.Is(context.Cause(ctx), errTimeUp):
		if errors.Is(err, errResumes) {
			run.Logf(stderr, "rollcall: interrupted: %v\n", errResumes)
			return StatusInterrupted
		}
		run.Logf(stderr, "rollcall: interrupted\n")
		return StatusInterrupted
	case begun > 0 && rounds == 0:
		run.Logf(stderr, "rollcall: time is up, and no round was finished: want more time, or a faster machine\n")
		return StatusFailure
	}
	run.Logf(stderr, "rollcall: time is up: %v\n", errResumes)
	return StatusTimeUp
}

// errResumes is added to the error of an interrupted command that need not train everything again.
var errResumes = errors.New("repeat the command to resume")

// orResumes adds [errResumes] to the error of a command that trains runs and keeps them, where that is true.
func (a *app) orResumes(err error) error {
	if errors.Is(err, context.Canceled) && run.Saved() > a.saved {
		return fmt.Errorf("%w: %w", err, errResumes)
	}
	return err
}

// output looks at the file that a flag names, before the work is done that it is for. leave removes the folders that
// were made for it, if it has come to nothing.
func (a *app) output(flag, path string) (out *files.Output, leave func(), err error) {
	if out, err = files.NewOutput(path, a.stdout); errors.Is(err, files.ErrNoFile) {
		return nil, nil, settings.Usagef("--%s %w", flag, err)
	}
	leave = func() {}
	if err == nil && out.NewIn() != "" {
		if leave, err = run.Writable(out.NewIn()); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("--%s %w", flag, err)
	}
	return out, leave, nil
}

func logErrors(stderr io.Writer, errs ...error) {
	for _, err := range errs {
		run.Logf(stderr, "rollcall: %s\n", settings.ErrorLine(err))
	}
}

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
			status = StatusCrash
		}
	}()
	return command()
}
