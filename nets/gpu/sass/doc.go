// Package sass reads the machine code (SASS) that NVIDIA's assembler makes of the kernels, and holds it to limits. It
// is a tool of the developers: the program does not use it, and no card is needed.
//
// A driver assembles the PTX of package kernels when it loads it. [Assembler] runs the same assembler, ptxas, of the
// oldest and of the newest driver that rollcall supports, and nvdisasm on its result. [Fetch] gets both from PyPI, by
// checksum, to the user's cache. A [Kernel] then says which registers a kernel takes, whether it spills them, and which
// instructions it has; every instruction knows the line of the PTX that it comes from. So the loops that the sources
// name (named in prelude.cuh) are found in the machine code.
//
// `make check-ptx` runs command check, which compares all this with limits.csv.
package sass
