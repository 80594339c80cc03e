package gpu

import "strings"

// Options say how a CUDA engine works.
type Options struct {
	Device     int       // number of the card
	Precision  Precision // "": TF32
	Batch      int       // B of the training plans
	EvalBatch  int       // samples of a slot in evaluation; 0: 256
	MaxClients int       // at once; 0: as many as memory holds
	// Clients and Steps are the most clients a round is expected to have, and its steps. Open then tells by Notice what
	// memory that will take, the methods' rows left out. 0: it does not.
	Clients, Steps int
	// Notice is told what a user should know, such as that memory is short; lines with the same key say the same. nil:
	// nobody.
	Notice func(key, line string)
}

// defaultEvalBatch is the size of a slot's share of an evaluation; sums are added share by share, so it is part of the
// result.
const defaultEvalBatch = 256

// Card is what is known of an NVIDIA card before it is opened.
type Card struct {
	Index           int
	Name            string
	Memory          int64  // bytes
	Capability      string // "9.0"
	Driver          string // the CUDA version it supports, "12.4"
	Multiprocessors int
	Unusable        string // why this engine cannot use it; "" if it can
}

// Engine names the engine on the card, as [nets.Info] does: cuda-sm90.
func (c Card) Engine() string { return engineOn(c.Capability) }

func engineOn(capability string) string { return "cuda-sm" + strings.Replace(capability, ".", "", 1) }

// Revision is the revision of this engine's numbers, in all classes.
const Revision = 1
