package cpu

import (
	G "gorgonia.org/gorgonia"

	"rollcall/nets/models"
	"rollcall/nets/ops"
)

// Load is the largest work that a run will ask of an engine in one call.
type Load struct {
	Clients       int // the most clients in a call of Train
	Jobs, Samples int // the most jobs in a call of Evaluate, and the samples of all these jobs together
}

// slots returns how many slots will train, and how many will evaluate. Only these build their graphs.
func (l Load) slots(threads int) (train, evaluate int) {
	// units is at least the number of units of all jobs, and exact for a single job.
	units := l.Jobs + max(0, l.Samples-l.Jobs)/evalUnit
	return min(l.Clients, threads), min(units, threads)
}

// Bytes returns the bytes that a CPU engine will take beside its samples and banks: the weights of every slot, the
// buffers of the graphs that the slots will build, and what the threads compute with. A run asks before it starts, so
// as not to fail for want of memory.
func Bytes(m *models.Model, o Options, l Load) (int64, error) {
	choice, err := o.choose()
	if err != nil {
		return 0, err
	}
	train, evaluate := l.slots(o.Threads)
	total := int64(o.Threads) * 4 * int64(m.P)
	var ofExec, ofThread int64 // what all graphs share
	for _, g := range []struct {
		train        bool
		batch, slots int
	}{{true, o.Batch, train}, {false, evalBatch, evaluate}} {
		if g.slots == 0 {
			continue
		}
		one, shared, scratch, err := graphBytes(m, g.batch, g.train, choice.OperandBytes())
		if err != nil {
			return 0, err
		}
		total += int64(g.slots) * one
		ofExec, ofThread = max(ofExec, shared), max(ofThread, scratch)
	}
	return total + int64(max(train, evaluate))*ofExec + int64(o.Threads)*ofThread, nil
}

// graphBytes returns the bytes of the buffers of a graph for one client: the inputs except for the weights, and the
// buffers of the ops, in which an element of a rounded operand has so many bytes; and what its executor and each thread
// compute with.
func graphBytes(
	m *models.Model, batch int, train bool, operand int,
) (bytes, ofExec, ofThread int64, err error) {
	g, err := m.Graph(nil, 1, batch, train)
	if err != nil {
		return 0, 0, 0, err
	}
	nodes, err := g.Nodes()
	if err != nil {
		return 0, 0, 0, err
	}
	for _, n := range nodes {
		if op := n.Op(); op != nil {
			kept, shared, scratch := ops.BufferBytes(op, operand)
			bytes, ofExec, ofThread = bytes+kept, max(ofExec, shared), max(ofThread, scratch)
		}
	}
	for _, in := range []*G.Node{g.X, g.Labels, g.Draw} {
		if in != nil {
			bytes += 4 * int64(in.Shape().TotalSize())
		}
	}
	return bytes, ofExec, ofThread, nil
}
