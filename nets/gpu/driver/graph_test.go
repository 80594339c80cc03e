//go:build gpu && linux && cgo

package driver

import (
	"errors"
	"testing"

	"rollcall/internal/must"
)

// TestDeviceLost launches a kernel that faults. The wait returns the error, which names the latest launch.
func TestDeviceLost(t *testing.T) {
	if !withFake(t, "cuStreamSynchronize=700", "cuGraphLaunch=700") {
		return
	}
	onThread(t, func(d *Device) {
		f, s := fillOn(t, d)
		p := must.Get(d.Alloc(4000))(t)
		must.OK(t, fill(f, s, fillArgs{p, 1, 1000}))
		err := s.Synchronize()
		want := "gpu: synchronize after fill (grid 4, block 256, shared 512 bytes): " +
			"an illegal memory access was encountered"
		if !errors.Is(err, ErrDeviceLost) || errors.Is(err, ErrOutOfMemory) || err.Error() != want {
			t.Errorf("Synchronize: %v, want ErrDeviceLost: %s", err, want)
		}
		x := must.Get(d.NewGraph("round", func(g *Graph) error { return fillIn(f, g, fillArgs{p, 1, 10}) }))(t)
		err = x.Launch(s)
		want = "gpu: graph round (1 nodes): launch: an illegal memory access was encountered"
		if !errors.Is(err, ErrDeviceLost) || err.Error() != want {
			t.Errorf("Launch: %v, want ErrDeviceLost: %s", err, want)
		}
	})
}

// TestNewGraph makes the building of a graph fail. The error says why, and no graph is left on the device.
func TestNewGraph(t *testing.T) {
	node := "gpu: graph round: fill (grid 1, block 256, shared 512 bytes): "
	for _, c := range []struct {
		name, plan string
		build      func(f *Function, g *Graph) error
		want       string
	}{
		{"build fails", "", func(*Function, *Graph) error { return errors.New("gpu: cause") }, "gpu: cause"},
		{"create", "cuGraphCreate=1", nil, "gpu: create graph round: invalid argument"},
		{"add", "cuGraphAddKernelNode_v2=2", nil, node + "out of memory"},
		{"instantiate", "cuGraphInstantiateWithFlags=2", nil, "gpu: graph round (1 nodes): instantiate: out of memory"},
		{
			"arguments", "",
			func(f *Function, g *Graph) error { return f.AddTo(g, [2]int{1, 1}, 256, 0, make([]byte, 8), nil) },
			node + "8 bytes of parameters, want the kernel's 16",
		},
		{
			"a wait for itself", "",
			func(f *Function, g *Graph) error { return fillIn(f, g, fillArgs{n: 1}, 0) },
			node + "waits for launch 0 of 0",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !withFake(t, c.plan) {
				return
			}
			onThread(t, func(d *Device) {
				f, _ := fillOn(t, d)
				before, _ := must.Get2(d.FreeMemory())(t)
				x, err := d.NewGraph("round", func(g *Graph) error {
					if c.build != nil {
						return c.build(f, g)
					}
					return fillIn(f, g, fillArgs{n: 1})
				})
				if x != nil || err == nil || err.Error() != c.want {
					t.Errorf("NewGraph() = %v, %v, want %s", x, err, c.want)
				}
				if after, _, err := d.FreeMemory(); err != nil || after != before {
					t.Errorf("%d bytes free after, %v, want %d: a graph takes one", after, err, before)
				}
			})
		})
	}
}
