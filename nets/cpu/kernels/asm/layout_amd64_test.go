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
