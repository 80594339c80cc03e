// Command gen writes the assembly kernels of package cpu, for AVX2 with FMA and for AVX-512.
//
// Read asm.go first: it has the instruction sets, and the operations that masks make different in the two. Then read
// flat.go, which has the shortest kernels. Every other file is one family of kernels and becomes two files of package
// cpu, one for each set; main.go lists the families. A function that emits a kernel starts with the formula and the
// bytes the kernel moves.
//
// A new kernel is a function here, called by its family, and its declaration in ../stubs_amd64.go. Run
// `make generate`; `make check-generated` fails where the committed assembly is not what this command writes.
package main
