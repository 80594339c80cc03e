// Package trace reads the availability traces of devices, in the formats in which they are published.
package trace

import (
	"errors"
	"io"
)

// Format is a format of a trace file.
type Format string

// Options say how a trace file is read.
type Options struct {
	Format       Format  // "": told by the content
	Clients      int     // N of the run; 0: as many as the file has
	Sampled      bool    // the clients of the run are drawn from the devices of the file: it may have more
	RoundSeconds float64 // seconds per round; 0: the file counts rounds
	Offset       float64 // where round 0 of the run is in the file, in its unit
}

// Trace is a trace in rounds, from round 0 of the run on.
type Trace struct {
	IDs    []string  // [N] the name that each client has in the file
	First  int       // the first round in which a device is active or has a probability above 0; Rounds if there is none
	Rounds int       // length of the trace; 0: it never ends, since each device starts again by itself
	Pi     []float64 // [N] π_i, where the file has it; nil: it has none
	Lambda []float64 // [N] λ_i, where the file has it; nil: it has none
	Notes  []string  // what a reader of the file should know, a line each: what was understood, what was left out

	// Drawn: the file has probabilities alone, and who is active is to be drawn with them.
	Drawn bool
}

// Read reads a trace.
func Read(r io.Reader, o Options) (*Trace, error) { return nil, errors.New("not written") }

// Take returns the trace of some devices, in this order.
func (t *Trace) Take(index []int32) *Trace { return t }

// Block sets words [N] to the rounds 64·block … 64·block+63: bit r of words[i] is 1 if device i is active in round
// 64·block + r. Beyond the end of the trace all are 0.
func (t *Trace) Block(block int, words []uint64) {}

// Probabilities sets p [N] to p_i^t of a round, if the file has probabilities; otherwise it returns false.
func (t *Trace) Probabilities(round int, p []float64) bool { return false }

// Formats returns all formats.
func Formats() []string {
	return []string{"intervals", "activity", "matrix", "matrix-rounds", "fedscale", "flash"}
}
