package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"rollcall/algos"
	"rollcall/internal/process"
)

// Host is how children are started.
type Host struct {
	Command []string // the interpreter and its first arguments, to which the path of the method's file is added
	Env     []string // in place of this process's environment; nil: the same
}

// ErrSilent is wrapped by the errors of a child that has not said what it is: its interpreter may be none.
var ErrSilent = errors.New("no first message")

// ScriptError is an exception of a method's own code. It comes again with every repetition.
type ScriptError struct {
	Text      string // "fedaum.py, line 14, in round: ZeroDivisionError: division by zero"
	Traceback string // as Python shows it
	Cause     error  // the error of the engine that the exception reports; nil: none
}

func (e *ScriptError) Error() string { return e.Text }

func (e *ScriptError) Unwrap() error { return e.Cause }

// endWait is how long a child may take to end after it was told to.
const endWait = 2 * time.Second

// baseLine is how long a line may be in any case, and perParameter by how much longer for each parameter of the net: a
// row is 4 bytes in base64.
const (
	baseLine     = 64 << 20
	perParameter = 8
)

type child struct {
	timeout time.Duration
	cmd     *exec.Cmd
	in, out *os.File
	lines   *bufio.Reader // of out
	closed  bool
	limit   int // of a line, in bytes
	ids     int
	record  *transcript // nil: nothing is recorded
}

type transcript []said

// said is one line of a [transcript].
type said struct {
	byChild bool
	text    []byte
}

// begin starts the process of a file. params is P.
func (h *Host) begin(file string, p algos.Process, params int) (*child, error) {
	toChild, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, fromChild, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, toChild.Close(), in.Close())
	}
	cmd := exec.Command(h.Command[0], append(h.Command[1:], file)...)
	if cmd.Env = h.Env; p.Env != nil {
		cmd.Env = append(cmd.Environ(), p.Env...)
	}
	cmd.ExtraFiles = []*os.File{toChild, fromChild} // descriptors 3 and 4
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = p.Output, p.Output, endWait
	if p.Output != nil && p.Terminal != nil { // in the group of this program, which alone may read from the terminal
		cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Terminal, os.Stderr, os.Stderr
	} else {
		process.OwnGroup(cmd)
	}
	if p.Output == nil { // no debugger may wait where nobody sees it
		cmd.Env = append(cmd.Environ(), "PYTHONBREAKPOINT=0")
	}
	if err = cmd.Start(); err != nil {
		return nil, errors.Join(err, // which names the program
			toChild.Close(), in.Close(), out.Close(), fromChild.Close())
	}
	// The child has them now: without these here, the reader sees the end when the child ends.
	_, _ = toChild.Close(), fromChild.Close()
	return &child{
		timeout: p.Timeout, cmd: cmd, in: in, out: out, lines: bufio.NewReaderSize(out, 1<<16),
		limit: baseLine + perParameter*params,
	}, nil
}

func (c *child) send(m any) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return c.sendLine(append(text, '\n'))
}

// sendLine sends a line that ends in \n.
func (c *child) sendLine(text []byte) error {
	if c.record != nil {
		*c.record = append(*c.record, said{false, text})
	}
	if c.timeout > 0 { // a child that reads nothing leaves the pipe full
		if err := c.in.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
			return err
		}
	}
	if _, err := c.in.Write(text); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return c.late()
		}
		return c.ended(err)
	}
	return nil
}

// next returns the next line of the child, before a deadline; zero: there is none.
func (c *child) next(ctx context.Context, deadline time.Time) ([]byte, error) {
	if err := c.out.SetReadDeadline(deadline); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.out.SetReadDeadline(time.Now()) }) // reading ends then
	defer stop()
	var text []byte
	for {
		part, err := c.lines.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case err == nil:
			if c.record != nil {
				*c.record = append(*c.record, said{true, text})
			}
			return text, nil
		case errors.Is(err, bufio.ErrBufferFull) && len(text) <= c.limit:
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("a line of more than %d bytes, want at most that", c.limit)
		case ctx.Err() != nil: // also at the end of the pipe: a scheduler has signalled both processes
			return nil, ctx.Err()
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, c.late()
		default:
			return nil, c.ended(err)
		}
	}
}

// deadline returns until when the child has to answer a message that is sent now.
func (c *child) deadline() time.Time {
	if c.timeout == 0 {
		return time.Time{}
	}
	return time.Now().Add(c.timeout)
}

func (c *child) late() error {
	if c.ids == 0 {
		return fmt.Errorf("the file and what it imports are not read within %s (--method-timeout)", c.timeout)
	}
	return fmt.Errorf("no answer within %s of the method's own time (--method-timeout)", c.timeout)
}

// ended returns the error of a child that has ended unasked.
func (c *child) ended(err error) error {
	_ = c.in.Close()
	how := "exit status 0"
	if ended := c.wait(); ended != nil {
		how = ended.Error()
	}
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("the method's process has ended: %s", how)
	}
	return fmt.Errorf("the method's process: %w (%s)", err, how)
}

// wait waits for the end of a child, and kills it if that takes too long. The processes that it has started end with
// it.
func (c *child) wait() error {
	late := time.AfterFunc(endWait, func() { process.Kill(c.cmd) })
	defer late.Stop()
	defer process.Kill(c.cmd)
	return c.cmd.Wait()
}

func (c *child) close() {
	if c.closed {
		return
	}
	c.closed = true
	if c.cmd.ProcessState == nil { // it has not ended by itself
		// The child may be busy, or gone: it ends when its pipe does, or is killed.
		_ = c.in.SetWriteDeadline(time.Now().Add(endWait / 4))
		_, _ = c.in.Write([]byte(`{"op":"end"}` + "\n"))
		_ = c.in.Close()
		_ = c.wait()
	}
	_ = c.out.Close()
}

func parse(text []byte) (*toParent, error) {
	var m toParent
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("line %q: %w", short(strings.TrimSpace(string(text))), err)
	}
	if m.Op == "error" {
		return nil, &ScriptError{Text: m.Where + ": " + m.Error, Traceback: m.Traceback}
	}
	return &m, nil
}
