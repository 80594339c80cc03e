// Command gen writes the assembly kernels of package asm, for AVX2 with FMA and for AVX-512.
//
// Read asm.go first: it has the instruction sets, and the operations that need other code in each, mostly because of
// masks. Then read flat.go, which has the shortest kernels. Every other file is one family of kernels and becomes two
// files of package asm, one per instruction set; main.go lists the families. The comment of a function that emits a
// kernel gives the kernel's formula and the bytes it moves.
//
// A new kernel is a function here, called by its family, and its declaration in the family's file of ../asm. Run
// `make generate`; `make check-generated` fails where the committed assembly is not what this command writes.
package main
