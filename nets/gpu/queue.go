package gpu

import (
	"slices"

	"rollcall/nets/gpu/kernels"
)

// launcher returns the launch of a kernel with arguments A. It may complete the arguments with what follows from their
// sizes, such as the tile of a convolution.
type launcher[A any] func(*A, Precision) kernels.Launch

// slotLauncher is a launcher of a kernel that is cut in other blocks for few slots than for many.
type slotLauncher[A any] func(a *A, p Precision, slots int) kernels.Launch

// queue appends a launch of a kernel to the program. The arguments have their sizes; fill sets what depends on the
// frame, the addresses above all, in a copy of them. use is all that the kernel reads and writes: it tells from which
// launch to which one a buffer needs its memory, and which launches must wait for which.
func queue[A any](l *lowerer, kernel string, plan launcher[A], a A, fill func(*frame, *A), use access) {
	queueBySlots(l, kernel, func(a *A, p Precision, _ int) kernels.Launch { return plan(a, p) }, a, fill, use)
}

// queueBySlots does what queue does, for a kernel whose launch depends on the number of slots.
func queueBySlots[A any](l *lowerer, kernel string, plan slotLauncher[A], a A, fill func(*frame, *A), use access) {
	now := len(l.program.launches)
	for _, b := range slices.Concat(use.reads, use.writes) {
		b.uses = append(b.uses, now)
	}
	planned := func(f *frame, a A) (A, kernels.Launch) {
		fill(f, &a)
		how := plan(&a, l.precision, f.capacity)
		return a, how
	}
	l.program.launches = append(l.program.launches, launch{
		kernel: kernel, layer: l.layer, access: use,
		geometry: func(slots int) kernels.Geometry { a := a; return plan(&a, l.precision, slots).Geometry },
		args:     func(f *frame) []byte { a, _ := planned(f, a); return argBytes(a) },
		cost:     func(f *frame) kernels.Cost { _, how := planned(f, a); return how.Cost },
	})
}
