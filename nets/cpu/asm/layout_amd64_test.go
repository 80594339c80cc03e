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
