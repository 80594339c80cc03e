package asm

// PrefetchAVX512 asks the processor to load lines lines of 64 bytes from p on into its caches. It changes nothing, and
// an address outside of all memory does no harm.
//
//go:noescape
func PrefetchAVX512(p *byte, lines int)

// PrefetchAVX2 is [PrefetchAVX512]; it needs no AVX at all.
//
//go:noescape
func PrefetchAVX2(p *byte, lines int)
