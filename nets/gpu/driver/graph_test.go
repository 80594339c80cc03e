//go:build gpu && linux && cgo

package driver

import (
	"errors"
	"testing"

	"gorgonia.org/cu"
)

// TestDeviceLost launches a kernel that faults. The wait returns the error, which names the latest launch.
func TestDeviceLost(t *testing.T) {
	if !withFake(t, "cuStreamSynchronize=700", "cuGraphLaunch=700") {
		return
	}
	onThread(t, func(d *Device) {
		f, s := fillOn(t, d)
		p, err := d.Alloc(4000)
		must(t, err)
		must(t, fill(f, s, fillArgs{p, 1, 1000}))
		err = s.Synchronize()
		want := "gpu: synchronize after fill (grid 4, block 256, shared 512 bytes): " +
			"an illegal memory access was encountered"
		if !errors.Is(err, ErrDeviceLost) || errors.Is(err, ErrOutOfMemory) || err.Error() != want {
			t.Errorf("Synchronize: %v, want ErrDeviceLost: %s", err, want)
		}
		x, err := s.Capture("round", func() error { return fill(f, s, fillArgs{p, 1, 10}) })
		must(t, err)
		err = x.Launch(s)
		want = "gpu: graph round (1 nodes): launch: an illegal memory access was encountered"
		if !errors.Is(err, ErrDeviceLost) || err.Error() != want {
			t.Errorf("Launch: %v, want ErrDeviceLost: %s", err, want)
		}
	})
}

// TestCapture makes captures fail. The error says why, and no graph is left on the device.
func TestCapture(t *testing.T) {
	for _, c := range []struct {
		name, plan string
		enqueue    error
		want       string
	}{
		{"enqueue fails", "", errors.New("gpu: cause"), "gpu: cause"},
		{"enqueue fails and the capture with it", "cuStreamEndCapture=901", errors.New("gpu: cause"), "gpu: cause"},
		{
			"end", "cuStreamEndCapture=901", nil,
			"gpu: capture graph round: operation failed due to a previous error during capture",
		},
		{"begin", "cuStreamBeginCapture_v2=1", nil, "gpu: capture graph round: invalid argument"},
		{"instantiate", "cuGraphInstantiateWithFlags=2", nil, "gpu: graph round (0 nodes): instantiate: out of memory"},
		{"nodes", "cuGraphGetNodes=1", nil, "gpu: graph round: nodes: invalid argument"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !withFake(t, c.plan) {
				return
			}
			onThread(t, func(d *Device) {
				s, err := d.NewStream()
				must(t, err)
				before, _, err := cu.MemInfo()
				must(t, err)
				x, err := s.Capture("round", func() error { return c.enqueue })
				if x != nil || err == nil || err.Error() != c.want {
					t.Errorf("Capture() = %v, %v, want %s", x, err, c.want)
				}
				if after, _, err := cu.MemInfo(); err != nil || after != before {
					t.Errorf("%d bytes free after, %v, want %d: a graph takes one", after, err, before)
				}
			})
		})
	}
}
