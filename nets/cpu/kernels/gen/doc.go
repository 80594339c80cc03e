// Command gen writes the assembly kernels of package asm, for AVX2 with FMA and for AVX-512, and some for AVX512_BF16
// and for AMX.
//
// Read asm.go first: it has the instruction sets, and the operations that need other code in each, mostly because of
// masks. Then read flat.go, which has the shortest kernels. Every other file is one family of kernels and becomes two
// files of package asm, one per instruction set; main.go lists the families. The comment of a function that emits a
// kernel gives the kernel's formula and the bytes it moves.
//
// The kernels for AMX are in tiles.go (products), narrow.go, transpose16.go and unpool.go, those for AVX512_BF16 in
// product.go and pairs.go. They are AVX-512 code with instructions that neither avo nor Go's assembler knows: encode.go
// adds them, and turns them into BYTEs.
//
// How to read a kernel: every call of a method with the name of an instruction adds that instruction to the function
// that begin has started. Operands are in the order of Go's assembler, sources first and the destination last. So
//
//	x, y := a.vec(), a.vec()
//	a.load(here(src), x, masked)
//	a.load(here(dst), y, masked)
//	a.VFMADD231PS(c, x, y)
//	a.store(y, here(dst), masked)
//
// loads two registers, computes y += c·x, and stores y. Registers are virtual: avo (github.com/mmcloughlin/avo) assigns
// the processor's own, and fails if there are too few. A Go loop in this code therefore unrolls; a loop of the kernel
// is a label and a jump, mostly by whole, ragged and countDown. masked is true for the ragged end of a row.
//
// A new kernel is a function here, called by its family, and its declaration in the family's file of ../asm. Run
// `make generate`; `make check-generated` fails where the committed assembly is not what this command writes.
package main
