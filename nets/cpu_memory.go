package nets

import (
	"runtime"

	G "gorgonia.org/gorgonia"

	"rollcall/nets/ops"
)

// CPUBytes returns the bytes that a CPU engine will hold beside its samples and banks, when it trains so many clients at
// a time and evaluates so many samples in one call: of each of its slots the weights, and the buffers of the graphs that
// the slot comes to build.
func CPUBytes(m *Model, o CPUOptions, clients, samples int) (int64, error) {
	if o.Threads == 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	total := int64(o.Threads) * 4 * int64(m.P)
	for _, g := range []struct {
		train        bool
		batch, slots int
	}{{true, o.Batch, clients}, {false, evalBatch, (samples + evalUnit - 1) / evalUnit}} {
		one, err := graphBytes(m, g.batch, g.train)
		if err != nil {
			return 0, err
		}
		total += int64(min(g.slots, o.Threads)) * one
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
