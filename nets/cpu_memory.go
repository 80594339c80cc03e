package nets

import (
	G "gorgonia.org/gorgonia"

	"rollcall/nets/ops"
)

// CPULoad is the most that an engine is asked for at a time.
type CPULoad struct {
	Clients       int // trained in one call
	Jobs, Samples int // evaluated in one call: so many jobs, of so many samples in all
}

// slots returns how many slots come to train, and how many to evaluate.
func (l CPULoad) slots(threads int) (train, evaluate int) {
	// exact for one job; jobs that are short of whole units have fewer
	units := l.Jobs + max(0, l.Samples-l.Jobs)/evalUnit
	return min(l.Clients, threads), min(units, threads)
}

// CPUBytes returns the bytes that a CPU engine will hold beside its samples and banks: of each of its slots the
// weights, and the buffers of the graphs that the slot comes to build.
func CPUBytes(m *Model, o CPUOptions, l CPULoad) (int64, error) {
	train, evaluate := l.slots(o.Threads)
	total := int64(o.Threads) * 4 * int64(m.P)
	for _, g := range []struct {
		train        bool
		batch, slots int
	}{{true, o.Batch, train}, {false, evalBatch, evaluate}} {
		one, err := graphBytes(m, g.batch, g.train)
		if err != nil {
			return 0, err
		}
		total += int64(g.slots) * one
	}
	return total, nil
}

// graphBytes returns the bytes of the buffers of a graph for one client: those of its inputs, but for the weights, and
// those its ops keep.
func graphBytes(m *Model, batch int, train bool) (bytes int64, err error) {
	g, err := m.Graph(batch, train)
	if err != nil {
		return 0, err
	}
	nodes, err := g.Nodes()
	if err != nil {
		return 0, err
	}
	for _, n := range nodes {
		if op := n.Op(); op != nil {
			bytes += ops.Held(op)
		}
	}
	for _, in := range []*G.Node{g.X, g.Labels, g.Draw} {
		if in != nil {
			bytes += 4 * int64(in.Shape().TotalSize())
		}
	}
	return bytes, nil
}
