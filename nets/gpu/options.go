package gpu

import "strings"

// Options configure an engine of [Open]. Batch must be set.
type Options struct {
	Device     int       // index of the card, from 0
	Precision  Precision // "" means TF32
	Batch      int       // B of the training plans
	EvalBatch  int       // samples of a slot in evaluation; 0 means 256
	MaxClients int       // most clients to train at once; 0 means as many as memory holds
	// Clients is the largest number of clients that a round is expected to have, Steps its number of local steps. Open
	// then says by Notice how much memory the rounds will take, without the methods' rows. It does not if Clients is 0.
	Clients, Steps int
	// Notice receives what a user should know, such as that memory is short. Lines with the same key mean the same.
	// nil drops them.
	Notice func(key, line string)
}

// defaultEvalBatch is the number of samples of a slot in evaluation. Another number adds the losses in another order,
// and so changes the last bits of a result.
const defaultEvalBatch = 256

// Card describes an NVIDIA card that need not be open.
type Card struct {
	Index           int
	Name            string
	Memory          int64  // bytes
	Capability      string // "9.0"
	Driver          string // the CUDA version that the driver supports, "12.4"
	Multiprocessors int
	Unusable        string // why this engine cannot use the card; "" if it can
}

// Engine returns the name that [nets.Info] gives the engine on this card, such as cuda-sm90.
func (c Card) Engine() string { return engineOn(c.Capability) }

// Arch returns the compute capability as compilers write it, such as sm_90.
func (c Card) Arch() string { return "sm_" + strings.Replace(c.Capability, ".", "", 1) }

// engineOn returns the name of the engine on cards of a compute capability, such as "9.0".
func engineOn(capability string) string { return "cuda-sm" + strings.Replace(capability, ".", "", 1) }

// Revision counts the changes of this engine's numbers. It rises whenever the same run gives other bytes than before,
// on any card and in any precision.
const Revision = 3
