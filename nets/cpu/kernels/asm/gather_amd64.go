package asm

// GatherAVX512 turns rows of image bytes into float32: dst = (img/255 − mean)/std, correctly rounded at each of the
// three operations.
//
// It takes a group of whole pixels at a time: it reads 16 bytes at img, puts them in the order that shuffle [16] says
// (as PSHUFB), and normalises them with lanes [2,16], the means and then the standard deviations of the 16 elements.
// Only the first tail elements of a group belong to its pixels. A row is groups − 1 groups, stepDst and stepImg bytes
// apart from dst and img on, whose surplus elements the next group overwrites; then one group at dstLast and imgLast,
// which stores tail elements and may overlap the group before. The rows are rowDst and rowImg bytes apart. stepImg is
// negative for mirrored rows. tail is more than 8. It asks for the bytes that are ahead bytes behind those it reads.
//
//go:noescape
func GatherAVX512(dst, dstLast *float32, img, imgLast, shuffle *uint8, lanes *float32, rows, groups, stepDst, stepImg,
	rowDst, rowImg, tail, ahead int)

// GatherAVX2 is [GatherAVX512] for AVX2.
//
//go:noescape
func GatherAVX2(dst, dstLast *float32, img, imgLast, shuffle *uint8, lanes *float32, rows, groups, stepDst, stepImg,
	rowDst, rowImg, tail, ahead int)
