package asm

import (
	"testing"
	"unsafe"
)

// TestTileLayout pins the offsets that the generated code uses.
func TestTileLayout(t *testing.T) {
	var u Tile
	for i, field := range []struct {
		name string
		got  uintptr
	}{
		{"Segs", unsafe.Offsetof(u.Segs)},
		{"K", unsafe.Offsetof(u.K)},
		{"ASeg", unsafe.Offsetof(u.ASeg)},
		{"ARow", unsafe.Offsetof(u.ARow)},
		{"AK", unsafe.Offsetof(u.AK)},
		{"BSeg", unsafe.Offsetof(u.BSeg)},
		{"BRow", unsafe.Offsetof(u.BRow)},
		{"CRow", unsafe.Offsetof(u.CRow)},
		{"Acc", unsafe.Offsetof(u.Acc)},
	} {
		if want := uintptr(88 + 8*i); field.got != want {
			t.Errorf("Tile.%s: offset %d, want %d, as in gen/gemm.go", field.name, field.got, want)
		}
	}
}

// TestPhiloxLayout pins the offsets that the generated code uses.
func TestPhiloxLayout(t *testing.T) {
	var p Philox
	if got, want := [3]uintptr{unsafe.Offsetof(p.Counter), unsafe.Offsetof(p.Threshold), unsafe.Offsetof(p.Keys)},
		[3]uintptr{0, 12, 16}; got != want {
		t.Errorf("Philox: offsets %d, want %d, as in gen/dropout.go", got, want)
	}
}

// TestTilesLayout pins the offsets that the generated code uses, and those that the processor reads.
func TestTilesLayout(t *testing.T) {
	var u Tiles
	for i, field := range []struct {
		name string
		got  uintptr
	}{
		{"Segs", unsafe.Offsetof(u.Segs)},
		{"Chunks", unsafe.Offsetof(u.Chunks)},
		{"ARow", unsafe.Offsetof(u.ARow)},
		{"AChunk", unsafe.Offsetof(u.AChunk)},
		{"ANext", unsafe.Offsetof(u.ANext)},
		{"BRow", unsafe.Offsetof(u.BRow)},
		{"BChunk", unsafe.Offsetof(u.BChunk)},
		{"BNext", unsafe.Offsetof(u.BNext)},
		{"CRow", unsafe.Offsetof(u.CRow)},
		{"ALow", unsafe.Offsetof(u.ALow)},
		{"BLow", unsafe.Offsetof(u.BLow)},
		{"Acc", unsafe.Offsetof(u.Acc)},
	} {
		if want := uintptr(64 + 8*i); field.got != want {
			t.Errorf("Tiles.%s: offset %d, want %d, as in gen/tiles.go", field.name, field.got, want)
		}
	}
	var c TileConfig
	if got, want := [3]uintptr{unsafe.Offsetof(c.RowBytes), unsafe.Offsetof(c.Rows), unsafe.Sizeof(c)},
		[3]uintptr{16, 48, 64}; got != want {
		t.Errorf("TileConfig: colsb, rows and size %d, want %d, as in Intel's manual", got, want)
	}
	if got := unsafe.Sizeof(Unpooled{}); got != 32 {
		t.Errorf("Unpooled: %d bytes, want 32, as in gen/unpool.go", got)
	}
}

// TestSparseLayout pins the offsets that the generated code uses.
func TestSparseLayout(t *testing.T) {
	var s Sparse
	var p Pixels
	var pixels PixelLists
	var channels ChannelLists
	for _, field := range []struct {
		name      string
		got, want uintptr
	}{
		{"Sparse.Values", unsafe.Offsetof(s.Values), 0},
		{"Sparse.Places", unsafe.Offsetof(s.Places), 24},
		{"Sparse.Starts", unsafe.Offsetof(s.Starts), 48},
		{"Sparse.Stops", unsafe.Offsetof(s.Stops), 72},
		{"Sparse.Items", unsafe.Offsetof(s.Items), 96},
		{"Sparse.MStep", unsafe.Offsetof(s.MStep), 104},
		{"Sparse.MRow", unsafe.Offsetof(s.MRow), 112},
		{"Sparse.Step", unsafe.Offsetof(s.Step), 120},
		{"Sparse.Row", unsafe.Offsetof(s.Row), 128},
		{"Sparse.Add", unsafe.Offsetof(s.Add), 136},
		{"Pixels.R", unsafe.Offsetof(p.R), 0},
		{"Pixels.S", unsafe.Offsetof(p.S), 8},
		{"Pixels.C", unsafe.Offsetof(p.C), 16},
		{"Pixels.O", unsafe.Offsetof(p.O), 24},
		{"Pixels.Plane", unsafe.Offsetof(p.Plane), 32},
		{"Pixels.Width", unsafe.Offsetof(p.Width), 40},
		{"Pixels.Row", unsafe.Offsetof(p.Row), 48},
		{"Pixels.Outputs", unsafe.Offsetof(p.Outputs), 56},
		{"PixelLists.Values", unsafe.Offsetof(pixels.Values), 0},
		{"PixelLists.Places", unsafe.Offsetof(pixels.Places), 16},
		{"ChannelLists.Values", unsafe.Offsetof(channels.Values), 0},
		{"ChannelLists.Places", unsafe.Offsetof(channels.Places), 8},
		{"ChannelLists.Room", unsafe.Offsetof(channels.Room), 16},
		{"ChannelLists.In", unsafe.Offsetof(channels.In), 24},
		{"ChannelLists.Columns", unsafe.Offsetof(channels.Columns), 56},
		{"ChannelLists.Group", unsafe.Offsetof(channels.Group), 88},
	} {
		if field.got != field.want {
			t.Errorf("%s: offset %d, want %d, as in gen/sparse.go, gen/pixels.go and gen/winners.go",
				field.name, field.got, field.want)
		}
	}
}
