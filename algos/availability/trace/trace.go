// Package trace reads the availability traces of devices, in the formats in which they are published.
package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"rollcall/internal/files"
)

// Format is a format of a trace file.
type Format string

// The formats. A time x of the file is in a half-open interval [a, b) if a ≤ x < b, and in a closed one, [a, b], if
// a ≤ x ≤ b. A device is available in round t if it is at the time at which round t begins.
const (
	// Intervals is CSV with the header client,start,end: the client is available in [start, end). Times count rounds
	// or, with Options.RoundSeconds, seconds; if all are Unix times, in s, ms, µs or ns, time 0 is the earliest start.
	// The intervals of a client may touch, but not overlap. The trace ends with the last interval.
	Intervals Format = "intervals"

	// Activity is CSV with the columns round, client and active, and perhaps probability, pi and lambda, as `rollcall
	// availability` writes it. A client without a row for a round is away in it. The trace ends with the last round.
	Activity Format = "activity"

	// Matrix is a table of clients × rounds without a header, as CSV or .npy: of 0 and 1, who is available, or of
	// probabilities, with which the run draws who is. A CSV may have the header client,0,1,2,… with an id at the start
	// of each row, or the header round and ids, with a row per round.
	Matrix Format = "matrix"

	// MatrixRounds is the transpose of Matrix: a row is a round.
	MatrixRounds Format = "matrix-rounds"

	// FedScale is FedScale's client_behave_trace: a pickle of {id: {"active": [s, …], "inactive": [s, …],
	// "finish_time": s}}. A device is available at second x if x mod finish_time is in the closed interval
	// [active[k], inactive[k]] of some k: FedScale compares with ≤ at both ends (fedscale/cloud/internal/
	// client_metadata.py, is_active). So the trace of each device starts again after its own finish_time.
	FedScale Format = "fedscale"

	// Flash is FLASH's state_traces.json: {id: {"messages": "2020-01-02 03:04:05\tscreen_lock\n…"}}. A device is
	// available while it is locked, charged and on WiFi, from the message that completes the three to the message that
	// ends them, both seconds included. Its trace starts again after the time between its first and its last message
	// (models/timer.py, Timer). Time 0 is the earliest message of the devices of the file.
	Flash Format = "flash"
)

// Formats returns the names of all formats.
func Formats() []string {
	return []string{
		string(Intervals), string(Activity), string(Matrix), string(MatrixRounds), string(FedScale), string(Flash),
	}
}

// Options say how a trace file is read.
type Options struct {
	Format       Format  // "": told by the content
	Clients      int     // N of the run; 0: as many as the file has
	Sampled      bool    // the clients of the run are drawn from the devices of the file: it may have more
	RoundSeconds float64 // seconds per round; 0: the file counts rounds

	// Offset is where round 0 of the run is in the file, from its time 0, in seconds, or in rounds without
	// RoundSeconds: round t begins at Offset + t·RoundSeconds. A trace that ends is shorter by it.
	Offset float64
}

// Trace is a trace in rounds, from round 0 of the run on.
type Trace struct {
	IDs []string // [N] the name that each client has in the file

	// First is the first round in which a device is active or has a probability above 0. If there is none it is Rounds,
	// or [Never] if the trace never ends and there is none in its first 65,536 rounds.
	First  int
	Rounds int       // length of the trace; 0: it never ends, since each device starts again by itself
	Pi     []float64 // [N] π_i, where the file has it; nil: it has none
	Lambda []float64 // [N] λ_i, where the file has it; nil: it has none
	Notes  []string  // what a reader of the file should know, a line each: what was understood, what was left out

	// Drawn: the file has probabilities alone, and who is active is to be drawn with them.
	Drawn bool

	source source
}

// Never is above every round.
const Never = lastRound

// lastRound bounds the rounds of a trace, so that a file in a wrong unit is refused.
const lastRound = 1 << 31

// source holds who is active when, from round 0 of the run on. Its methods only read it.
type source interface {
	first() int // the first round with somebody active or a probability above 0, or Never
	block(block int, words []uint64)
	probabilities(round int, p []float64) bool
	take(index []int32) source
}

// Read reads a trace. Errors are one line, and name the place in the file, what was found and what is wanted.
func Read(r io.Reader, o Options) (*Trace, error) {
	t, err := read(r, o)
	if err != nil {
		return nil, fmt.Errorf("availability: trace: %w", err)
	}
	t.setFirst()
	return t, nil
}

func read(r io.Reader, o Options) (*Trace, error) {
	switch {
	case !(o.RoundSeconds >= 0) || math.IsInf(o.RoundSeconds, 1):
		return nil, fmt.Errorf("rounds %g long, want above 0", o.RoundSeconds)
	case !(o.Offset >= 0) || math.IsInf(o.Offset, 1):
		return nil, fmt.Errorf("offset %g, want 0 or more", o.Offset)
	}
	in := bufio.NewReaderSize(r, 1<<16)
	head, err := in.Peek(mostHead)
	if err != nil && !errors.Is(err, io.EOF) { // a short file
		return nil, err
	}
	if what := notTrace(head); what != "" {
		return nil, errors.New(what)
	}
	npy, json, pickle := isNPY(head), isJSON(head), isPickle(head)
	switch {
	case o.Format == "" && npy, o.isMatrix() && npy:
		return readNPY(in, o)
	case o.Format == "" && pickle, o.Format == FedScale:
		return readFedScale(in, o)
	case o.Format == "" && json, o.Format == Flash:
		return readFlash(in, o)
	case o.Format == "", o.Format == Intervals, o.Format == Activity, o.isMatrix():
		return readCSV(in, o)
	}
	return nil, fmt.Errorf("format %.80q, want %s", string(o.Format), files.Listed(Formats(), "or"))
}

func (o *Options) isMatrix() bool { return o.Format == Matrix || o.Format == MatrixRounds }

// mostHead is how many bytes of a file tell its format.
const mostHead = 512

func isNPY(head []byte) bool { return bytes.HasPrefix(head, []byte("\x93NUMPY")) }

func isJSON(head []byte) bool {
	text, err := files.Text(head)
	return err == nil && bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{"))
}

// isPickle reports whether a file begins as a pickle of a dictionary does, in the protocols 0 to 5.
func isPickle(head []byte) bool {
	begins := func(text string) bool { return bytes.HasPrefix(head, []byte(text)) }
	return len(head) > 1 && head[0] == opProto && head[1] < 16 || begins("(d") || begins("}q") || begins("}.")
}

// notTrace says what a file is that people take for a trace by mistake.
func notTrace(head []byte) string {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	for _, c := range []struct{ begin, what string }{
		{"\x1f\x8b", "compressed with gzip, want it unpacked (gunzip)"},
		{"BZh", "compressed with bzip2, want it unpacked (bunzip2)"},
		{"\xfd7zXZ", "compressed with xz, want it unpacked (unxz)"},
		{"(\xb5/\xfd", "compressed with Zstandard, want it unpacked (unzstd)"},
		{"PK\x03\x04", "a zip archive, as .zip, .npz and .xlsx are, want one file of it"},
		{"<", "a page of HTML or XML, want a trace: was the download refused?"},
		{"version https://git-lfs", "a pointer of Git LFS, want the file itself (git lfs pull)"},
	} {
		if bytes.HasPrefix(text, []byte(c.begin)) {
			return c.what
		}
	}
	return ""
}

// needSeconds returns an error for a file in seconds of which it is not known how many are a round.
func (o *Options) needSeconds(what string) error {
	if o.RoundSeconds == 0 {
		return fmt.Errorf("%s in seconds, want the length of a round (--round-seconds)", what)
	}
	return nil
}

// wholeRounds returns the offset of a file that has a value for each round.
func (o *Options) wholeRounds(what Format) (int, error) {
	switch {
	case o.RoundSeconds != 0:
		return 0, fmt.Errorf("format %s counts rounds, want no --round-seconds", what)
	case o.Offset != math.Trunc(o.Offset) || o.Offset >= lastRound:
		return 0, fmt.Errorf("offset %g, want a whole number of rounds below %d", o.Offset, lastRound)
	}
	return int(o.Offset), nil
}

func (t *Trace) setFirst() {
	if t.First = t.source.first(); t.Rounds > 0 {
		t.First = min(t.First, t.Rounds)
	}
}

// Take returns the trace of some devices, in this order. It is as long as t.
func (t *Trace) Take(index []int32) *Trace {
	taken := *t
	taken.source = t.source.take(index)
	taken.IDs = at(t.IDs, index)
	if t.Pi != nil {
		taken.Pi = at(t.Pi, index)
	}
	if t.Lambda != nil {
		taken.Lambda = at(t.Lambda, index)
	}
	taken.setFirst()
	return &taken
}

// at returns x at some places.
func at[T any](x []T, index []int32) []T {
	y := make([]T, len(index))
	for k, i := range index {
		y[k] = x[i]
	}
	return y
}

// Block sets words [N] to the rounds 64·block … 64·block+63: bit r of words[i] is 1 if device i is active in round
// 64·block + r. Beyond the end of the trace all are 0. It may be called by several goroutines at a time.
func (t *Trace) Block(block int, words []uint64) { t.source.block(block, words) }

// Probabilities sets p [N] to p_i^t of a round, if the file has probabilities; otherwise it returns false. Beyond the
// end of the trace all are 0.
func (t *Trace) Probabilities(round int, p []float64) bool { return t.source.probabilities(round, p) }

// quoted returns an id of the file for an error or a note: a number as it is, a text in quotes, and not all of a long
// one.
func quoted(id string) string {
	if len(id) <= 20 && strings.Trim(id, "0123456789") == "" && id != "" {
		return id
	}
	return fmt.Sprintf("%.80q", id)
}
