package kernels

import (
	"runtime"
	"testing"
)

// TestCollector lists winners while the collector runs. The ends of 64 channels fill a slot of the heap, and the slot
// behind is often free: a pointer past the end, in a structure that is in use, would end the process.
func TestCollector(t *testing.T) {
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			default:
				runtime.GC()
			}
		}
	}()
	const rows, pixels, channels = 2, 7, 64
	var others [64][]int32
	variants := Variants()
	for i := range 20_000 {
		for j := range others {
			others[j] = nil
			if j%3 != i%3 {
				others[j] = make([]int32, channels)
			}
		}
		k := variants[i%len(variants)]
		p := &Pooled[float32]{
			Gy: make([]float32, rows*pixels*channels), Arg: make([]uint8, rows*pixels*channels),
			Rows: rows, Pixels: pixels, Channels: channels, Pitch: pixels * channels,
		}
		var byChannel ChannelLists[float32]
		byChannel.ensure(rows, pixels, channels)
		k.ChannelWinners(&byChannel, p)
		var byPixel PixelLists[float32]
		byPixel.ensure(pixels, channels)
		byPixel.Ends = [2][]int32{make([]int32, 2*pixels), make([]int32, 2*pixels)}
		k.PixelWinners(&byPixel, p)
	}
}
