//go:build unix && !solaris && !aix

package claim

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/internal/must"
)

// helperBoot is the boot that a helper process says it is of; set in helper processes only.
const helperBoot = "ROLLCALL_TEST_CLAIM_BOOT"

func TestMain(m *testing.M) {
	if boot, ok := os.LookupEnv(helperBoot); ok {
		help(boot)
		return
	}
	os.Exit(m.Run())
}

// help does what it is told, line by line, and answers each line with a line.
func help(boot string) {
	w := &Watch{Beat: 20 * time.Millisecond, Expiry: time.Hour}
	if boot != "" {
		w.self = func() identity {
			me := thisProcess()
			me.boot = boot
			return me
		}
	}
	var c *Claim
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		verb, name, _ := strings.Cut(in.Text(), " ")
		var holder *Holder
		var err error
		switch verb {
		case "try":
			c, holder, err = w.Try(name)
		case "write":
			err = os.WriteFile(c.Path(name), []byte("of the helper"), 0o666)
		case "publish":
			err = c.Publish(name)
		case "release":
			if c != nil {
				err = c.Release()
			}
		}
		switch {
		case errors.Is(err, ErrLost):
			fmt.Println("lost")
		case err != nil:
			fmt.Println("error", err)
		case holder != nil:
			fmt.Println("holder", holder.PID)
		default:
			fmt.Println("done")
		}
	}
}

// helper is a process that does what it is told.
type helper struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startHelper(t *testing.T, boot string) *helper {
	t.Helper()
	h := &helper{t: t, cmd: exec.Command(os.Args[0])}
	h.cmd.Env = append(os.Environ(), helperBoot+"="+boot)
	h.cmd.Stderr = os.Stderr
	in := must.Get(h.cmd.StdinPipe())(t)
	out := must.Get(h.cmd.StdoutPipe())(t)
	must.OK(t, h.cmd.Start())
	h.in, h.out = in, bufio.NewReader(out)
	t.Cleanup(func() {
		_ = h.cmd.Process.Kill() // it may have ended
		_ = h.cmd.Wait()
	})
	return h
}

// say tells the helper to do something; heard waits for its answer.
func (h *helper) say(line string) {
	h.t.Helper()
	if _, err := io.WriteString(h.in, line+"\n"); err != nil {
		h.t.Fatalf("%s: %v", line, err)
	}
}

func (h *helper) heard() string {
	h.t.Helper()
	line, err := h.out.ReadString('\n')
	if err != nil {
		h.t.Fatalf("no answer: %q, %v", line, err)
	}
	return strings.TrimSpace(line)
}

func (h *helper) must(line string) {
	h.t.Helper()
	h.say(line)
	if got := h.heard(); got != "done" {
		h.t.Fatalf("%s: %s, want done", line, got)
	}
}

// Four processes want one folder at the same time, 200 times: one has it, and the others know who.
func TestProcessesRace(t *testing.T) {
	dir := t.TempDir() + "/table/cell/seed-3"
	var helpers []*helper
	for range 4 {
		helpers = append(helpers, startHelper(t, ""))
	}
	for round := range 200 {
		for k := range helpers {
			helpers[(k+round)%len(helpers)].say("try " + dir)
		}
		winner := 0
		var answers []string
		for _, h := range helpers {
			answer := h.heard()
			if answer == "done" && winner == 0 {
				winner = h.cmd.Process.Pid
			} else if answer == "done" {
				t.Errorf("round %d: two have it", round)
			} else {
				answers = append(answers, answer)
			}
		}
		for _, answer := range answers {
			if want := fmt.Sprint("holder ", winner); answer != want {
				t.Errorf("round %d: %s, want %s", round, answer, want)
			}
		}
		if t.Failed() {
			t.FailNow()
		}
		for _, h := range helpers {
			h.must("release")
		}
	}
	must.OK(t, os.MkdirAll(dir, 0o777))
	if got := content(t, dir); got != "" {
		t.Errorf("all released: %s, want nothing", got)
	}
}

// A process that was stopped for longer than the expiry publishes nothing when it goes on, and leaves the files of the
// process that took its folder over.
func TestStoppedProcess(t *testing.T) {
	dir := t.TempDir() + "/seed-3"
	h := startHelper(t, "")
	h.must("try " + dir)
	h.must("write curve.csv")
	signal(t, h, syscall.SIGSTOP)
	var now time.Duration
	w := &Watch{clock: func() time.Duration { return now }}
	for _, now = range []time.Duration{0, defaultExpiry - 1} {
		c, holder, err := w.Try(dir)
		if c != nil || err != nil || holder.PID != h.cmd.Process.Pid || holder.Mine || holder.Dead {
			t.Fatalf("a stopped process %v after it was first seen: %v, %v, %v, want its claim", now, c, holder, err)
		}
	}
	now = defaultExpiry
	c := seize(t, w, dir)
	if c.epoch != 2 {
		t.Errorf("epoch %d, want 2", c.epoch)
	}
	for _, name := range []string{"curve.csv", "run.json"} {
		must.OK(t, os.WriteFile(c.Path(name), []byte("of the winner"), 0o666))
	}
	must.OK(t, c.Publish("run.json"))
	before := content(t, dir)
	signal(t, h, syscall.SIGCONT)
	for _, line := range []string{"publish curve.csv", "publish run.json"} {
		h.say(line)
		if got := h.heard(); got != "lost" {
			t.Errorf("%s after the take-over: %s, want lost", line, got)
		}
	}
	h.must("release")
	if got := content(t, dir); got != before {
		t.Errorf("after the loser has gone on: %s, want as before: %s", got, before)
	}
	if err := c.Publish("curve.csv"); err != nil {
		t.Error(err)
	}
	if err := c.Release(); err != nil {
		t.Error(err)
	}
	if got, want := content(t, dir), "curve.csv: of the winner, run.json: of the winner"; got != want {
		t.Errorf("at the end: %s, want %s", got, want)
	}
}

// signal sends a signal, and waits until a process is stopped that is to stop.
func signal(t *testing.T, h *helper, s syscall.Signal) {
	t.Helper()
	must.OK(t, h.cmd.Process.Signal(s))
	var status syscall.WaitStatus
	if s == syscall.SIGSTOP {
		for {
			_, err := syscall.Wait4(h.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
			if !errors.Is(err, syscall.EINTR) {
				if err != nil || !status.Stopped() {
					t.Fatalf("%v, %v, want a process that is stopped", status, err)
				}
				return
			}
		}
	}
}

// The claim of a process that was killed is free at once on its machine, and after the expiry on others.
func TestKilledProcess(t *testing.T) {
	for _, boot := range []string{"", "of-another-machine"} {
		t.Run("boot="+boot, func(t *testing.T) {
			dir := t.TempDir() + "/seed-3"
			h := startHelper(t, boot)
			h.must("try " + dir)
			h.must("write curve.csv")
			var now time.Duration
			w := &Watch{clock: func() time.Duration { return now }}
			if c, holder, err := w.Try(dir); c != nil || err != nil || holder.Dead || holder.Alive != (boot == "") {
				t.Fatalf("of a living process: %v, %+v, %v, want its claim, alive as its lock says", c, holder, err)
			}
			must.OK(t, h.cmd.Process.Kill())
			_ = h.cmd.Wait() // which says that it was killed
			holder, err := Read(dir)
			if err != nil || holder == nil || holder.Dead != (boot == "") {
				t.Errorf("Read: %+v, %v, want a claim that is dead on this machine alone", holder, err)
			}
			if boot != "" {
				// Its last heartbeat may not have been seen.
				for _, now = range []time.Duration{1, defaultExpiry - 1} {
					if c, holder, err := w.Try(dir); c != nil || holder == nil || err != nil {
						t.Fatalf("%v after the death: %v, %v, %v, want the claim of the dead process",
							now, c, holder, err)
					}
				}
				now = 1 + defaultExpiry
			}
			c := seize(t, w, dir)
			if got, want := content(t, dir), claimName(2)+", "+idName(c.id); got != want {
				t.Errorf("%s, want the claim alone: %s", got, want)
			}
			if err := c.Release(); err != nil {
				t.Error(err)
			}
		})
	}
}
