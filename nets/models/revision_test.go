package models

import (
	"fmt"
	"testing"

	G "gorgonia.org/gorgonia"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/internal/revisiontest"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/ops"
)

// A net's revision is of its parameters, its initial weights, its dropout masks, and of the layers of its graph up to
// the logits and to the loss. How kernels and gradients compute these has the engine's revision.
func TestNetRevisions(t *testing.T) {
	longtest.Numbers(t)
	revisiontest.Recorded(t)
	var entries []revisiontest.Entry
	for _, name := range Names() {
		m := must.Get(New(name))(t)
		var d revisiontest.Digest
		d.Add(m.H, m.W, m.C, m.Classes, m.P)
		for _, p := range m.Params {
			d.Add(p.Name, p.Shape, p.Size, p.Offset, p.FanIn, p.Last, p.Buffer)
		}
		for _, seed := range []uint32{1, 7} {
			if m.P < 2e6 || seed == 1 { // millions of normal numbers take seconds
				d.Add(m.Init(Kaiming, seed), m.Init(Torch, seed))
			}
		}
		for layer := range m.Drops {
			d.Add(m.Drops[layer].Rate, m.DropoutMask(layer, kernels.Draw{Seed: 1, Round: 2, Client: 3, Step: 4}, 3))
		}
		train, eval := must.Get(m.Graph(nil, 1, 3, true))(t), must.Get(m.Graph(nil, 1, 3, false))(t)
		d.Add(digestOf(train.Loss, map[*G.Node]string{}), digestOf(eval.Logits, map[*G.Node]string{}))
		entries = append(entries, revisiontest.Entry{
			Name: name, Revision: Revision(name), Where: "nets/models", Digest: d.String(),
		})
	}
	if got := Revision("vgg"); got != 0 {
		t.Errorf("revision of an unknown net: %d, want 0", got)
	}
	revisiontest.Check(t, "testdata/revisions", entries)
}

// digestOf returns a digest of a node and of all it reads: ops with their sizes, inputs by name.
func digestOf(n *G.Node, known map[*G.Node]string) string {
	if known[n] != "" {
		return known[n]
	}
	var d revisiontest.Digest
	d.Add(fmt.Sprint(n.Shape()))
	if n.Op() == nil {
		d.Add(n.Name())
	} else {
		d.Add(n.Op().String())
		for _, in := range ops.Inputs(n) {
			d.Add(digestOf(in, known))
		}
	}
	known[n] = d.String()
	return known[n]
}
