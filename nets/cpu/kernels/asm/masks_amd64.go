package asm

// Philox is the part of a Philox4x32-10 stream that stays the same within a layer: package rng has the generator. The
// kernels read the fields at fixed offsets, which gen/dropout.go repeats.
type Philox struct {
	Counter   [3]uint32     // the first three words of the counter; the fourth is the block's index
	Threshold uint32        // an element is dropped if its word is below
	Keys      [10][2]uint32 // the key of every round of the generator
}

// DropoutAVX512 draws one word per element. mask becomes 1 where the word is at least draw.Threshold, 0 elsewhere; y
// becomes scale·x where mask is 1, 0 elsewhere. A block is 32 elements, and y, mask and x are [32·blocks]. index is the
// fourth word of the counter for the first four elements, and grows by one every four. y may be x.
//
//go:noescape
func DropoutAVX512(y *float32, mask *uint8, x *float32, draw *Philox, index, blocks int, scale float32)

// DropoutAVX2 is [DropoutAVX512] for AVX2, in blocks of 16 elements: y, mask and x are [16·blocks].
//
//go:noescape
func DropoutAVX2(y *float32, mask *uint8, x *float32, draw *Philox, index, blocks int, scale float32)

// ApplyMaskAVX512 sets y = scale·x where mask is not 0, and 0 elsewhere. y, x, mask [n]. y may be x.
//
//go:noescape
func ApplyMaskAVX512(y, x *float32, mask *uint8, n int, scale float32)

// ApplyMaskAVX2 is [ApplyMaskAVX512] for AVX2.
//
//go:noescape
func ApplyMaskAVX2(y, x *float32, mask *uint8, n int, scale float32)
