//go:build unix

package e2e

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/bench/cli"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
)

// atWork begins a command in a process of its own, and waits until it says something on stderr.
func atWork(t *testing.T, says, line string) (cmd *exec.Cmd, stderr io.Reader) {
	t.Helper()
	cmd = process(t, strings.Fields(line)...)
	cmd.Stderr = nil
	pipe, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // where the test failed
	lines, seen := bufio.NewReader(pipe), ""
	for !strings.Contains(seen, says) {
		text, err := lines.ReadString('\n')
		if seen += text; err != nil {
			t.Fatalf("%s: %v, want %q said:\n%s", line, err, says, seen)
		}
	}
	return cmd, lines
}

// endedBy sends a signal, waits for the end, and returns how long that took and what was said.
func endedBy(t *testing.T, cmd *exec.Cmd, stderr io.Reader, signal os.Signal) (took time.Duration, said string) {
	t.Helper()
	began := time.Now()
	must.OK(t, cmd.Process.Signal(signal))
	text := must.Get(io.ReadAll(stderr))(t)
	_ = cmd.Wait() // the status is looked at
	return time.Since(began), string(text)
}

// longRun is a run that goes on for a minute and more, with rounds of a moment.
const longRun = " --data leaf --clients 4 --rounds 400000 --local-steps 1 --batch 8 " +
	"--eval-every 10 --device cpu --threads 1 "

// promptEnd is how long a command may take that has a second: the machine may have other work.
const promptEnd = 3 * time.Second

// Where no run is in progress a command ends within a second when it is asked to.
func TestEndsPromptly(t *testing.T) {
	longtest.Only(t, "every command, interrupted")
	// Under nohup SIGHUP is ignored, here and in the children: of a signal that is handled here they have the default.
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGHUP)
	defer signal.Stop(handled)
	out := t.TempDir()
	holder, rest := atWork(t, ": round 10/", "run"+longRun+"--out "+out)
	go func() { _, _ = io.Copy(io.Discard, rest) }()
	for name, c := range map[string]struct {
		line, says string
		signal     os.Signal
	}{
		"waits for another's run": {"run" + longRun + "--out " + out, "waits for process", syscall.SIGINT},
		"bench": {
			"bench --data leaf --clients 8 --rounds 400000 --device cpu --out OUT", "device: ", syscall.SIGHUP,
		},
		"counts what it will hold": {
			"run" + strings.Replace(longRun, "--rounds 400000", "--rounds 200000000", 1) + "--out OUT",
			"", syscall.SIGTERM,
		},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, stderr := atWork(t, c.says, strings.ReplaceAll(c.line, "OUT", t.TempDir()))
			if c.says == "" {
				time.Sleep(promptEnd / 6) // which says nothing
			}
			took, said := endedBy(t, cmd, stderr, c.signal)
			if status := cmd.ProcessState.ExitCode(); status != statusInterrupted || took > promptEnd ||
				!strings.HasSuffix(said, "rollcall: interrupted\n") {
				t.Errorf("status %d after %v, %q, want 130 at once, and that it was interrupted", status, took, said)
			}
		})
	}
	_ = holder.Process.Kill()
	_ = holder.Wait()
}

// The first signal lets a round of seconds end, and leaves a checkpoint of it; a second one ends the process at once,
// also one that was started to ignore SIGINT, as the shells of scripts start what is to run in the background.
func TestSecondSignal(t *testing.T) {
	if testing.Short() {
		t.Skip("rounds of seconds")
	}
	line := strings.NewReplacer("--local-steps 1 ", "--local-steps 300000 ", "--eval-every 10",
		"--eval-every 1").Replace(longRun)
	for _, c := range []struct {
		name           string
		twice, ignored bool
	}{{"once", false, false}, {"twice", true, false}, {"ignored, once", false, true}, {"ignored, twice", true, true}} {
		t.Run(c.name, func(t *testing.T) {
			// The child is as its parent. Of a signal that is handled here it has the default.
			handled := make(chan os.Signal, 1)
			signal.Notify(handled, syscall.SIGINT)
			defer signal.Stop(handled)
			if c.ignored {
				longtest.Only(t, "rounds of seconds")
				signal.Ignore(syscall.SIGINT)
				defer signal.Notify(handled, syscall.SIGINT) // undoes that, as Reset does not
			}
			out := t.TempDir()
			cmd, stderr := atWork(t, ": round 1/", "run --method mifa --p 1"+line+"--out "+out)
			time.Sleep(promptEnd / 6) // in which the next round begins: between two rounds a run ends at once
			if c.twice {
				must.OK(t, cmd.Process.Signal(syscall.SIGTERM))
				time.Sleep(200 * time.Millisecond)
			}
			took, said := endedBy(t, cmd, stderr, syscall.SIGINT)
			t.Logf("%v after %v", cmd.ProcessState, took)
			left, err := filepath.Glob(filepath.Join(out, "run/*/seed-*/checkpoint-2.safetensors"))
			if err != nil || (len(left) == 1) == c.twice || c.twice && took > promptEnd {
				t.Errorf("%v after %v, %q, checkpoints %q, want the round and its checkpoint or the end at once",
					cmd.ProcessState, took, said, left)
			}
			killed := cmd.ProcessState.ExitCode() < 0 // by the signal
			if killed != (c.twice && !c.ignored) || !killed && cmd.ProcessState.ExitCode() != statusInterrupted {
				t.Errorf("%v, want it killed by a second signal, or 130", cmd.ProcessState)
			}
		})
	}
}

// counter is a log that does something once it has read a text so many times.
type counter struct {
	trigger
	times int
}

func (w *counter) Write(p []byte) (int, error) {
	if w.do != nil && strings.Count(w.String()+string(p), w.text) >= w.times {
		w.do()
		w.do = nil
	}
	return w.Buffer.Write(p)
}

// All runs that are in progress leave a checkpoint, and go on from there.
func TestInterruptedAtOnce(t *testing.T) {
	whole, out := t.TempDir(), t.TempDir()
	// So many rounds that neither run ends before the other one has begun, on however busy a machine.
	line := "sweep --methods fedawe,mifa --seeds 3 --pack 2 --data leaf --clients 4 --rounds 2000 " +
		"--eval-every 50 --device cpu --out "
	pass(t, append(strings.Fields(line), whole)...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stderr := &counter{trigger{text: ": round 50/", do: cancel}, 2}
	if status := cli.Run(ctx, append(strings.Fields(line), out), io.Discard, stderr); status != statusInterrupted {
		t.Fatalf("status %d, want 130\n%s", status, stderr)
	}
	left, err := filepath.Glob(filepath.Join(out, "sweep/*/seed-3/checkpoint-*.safetensors"))
	if err != nil || len(left) != 2 {
		t.Errorf("%q, %v, want a checkpoint of either run", left, err)
	}
	o := pass(t, append(strings.Fields(line), out)...)
	if n := strings.Count(o.stderr, ": resumes from round "); n != 2 {
		t.Errorf("%d runs gone on, want 2\n%s", n, o.stderr)
	}
	sameTree(t, "interrupted", timelessTree(t, out), timelessTree(t, whole))
}

// A command whose time is up asks to be repeated only if it has made a round: otherwise it would be repeated for ever.
func TestTimeUpTooSoon(t *testing.T) {
	line := strings.Replace(longRun, "--local-steps 1 ", "--local-steps 500000 ", 1)
	cmd, stderr := atWork(t, ": round 0/", "run --method mifa --p 1"+line+"--out "+t.TempDir())
	_, said := endedBy(t, cmd, stderr, syscall.SIGUSR1)
	want := "rollcall: time is up, and no round was finished: want more time, or a faster machine\n"
	if status := cmd.ProcessState.ExitCode(); status != statusFailure || !strings.HasSuffix(said, want) {
		t.Errorf("status %d, %q, want 1 and that no round was finished", status, said)
	}
}
