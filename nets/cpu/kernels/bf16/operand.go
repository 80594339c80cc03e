package bf16

import "fmt"

// Operand is a matrix of rounded numbers: one operand of a product. Every variant has a format of its own, and
// [Kernels.NewOperand] allocates it; the other methods of [Kernels] write it. Positions count elements in all formats.
//
// With bf16x3 an operand has a second part, low: what rounding to the first part leaves, rounded in turn.
type Operand[T Float] struct {
	of    *formats[T]
	at, n int
}

// formats is the memory of an operand, in one of the formats.
type formats[T Float] struct {
	narrow [2][]uint16 // the upper halves of float32: the format of AMX
	pairs  [2][]uint32 // an upper half, and below it that of the element two terms on: the format of AVX512_BF16
	wide   [2][]T      // rounded, but stored as T: the format of all other variants
}

// newOperand returns an operand that begins with the given memory, n elements in one format.
func newOperand[T Float](of formats[T], n int) Operand[T] { return Operand[T]{&of, 0, n} }

// Both parts of the operand in each of the formats, nil in those that it does not have.

func (o Operand[T]) narrow() [2][]uint16 { return window(&o.of.narrow, o.at, o.n) }
func (o Operand[T]) pairs() [2][]uint32  { return window(&o.of.pairs, o.at, o.n) }
func (o Operand[T]) wide() [2][]T        { return window(&o.of.wide, o.at, o.n) }

// window returns n elements of x from element at on, or nil for a nil.
func window[E any](x *[2][]E, at, n int) (parts [2][]E) {
	if x[0] != nil {
		parts[0] = x[0][at:][:n]
	}
	if x[1] != nil {
		parts[1] = x[1][at:][:n]
	}
	return parts
}

// From returns the operand from element i on.
func (o Operand[T]) From(i int) Operand[T] {
	if uint(i) > uint(o.n) {
		panic(outside(i, o.n))
	}
	return Operand[T]{o.of, o.at + i, o.n - i}
}

// First returns the first n elements of the operand.
func (o Operand[T]) First(n int) Operand[T] {
	if uint(n) > uint(o.n) {
		panic(outside(n, o.n))
	}
	return Operand[T]{o.of, o.at, n}
}

//go:noinline
func outside(i, n int) string { return fmt.Sprintf("bf16: element %d of an operand of %d", i, n) }

// first returns the first n elements of x, or nil if x is nil.
func first[E any](x []E, n int) []E {
	if x == nil {
		return nil
	}
	return x[:n]
}

// Len returns the number of elements.
func (o Operand[T]) Len() int { return o.n }

// Clear sets all elements to 0.
func (o Operand[T]) Clear() {
	if o.n == 0 {
		return
	}
	narrow, pairs, wide := o.narrow(), o.pairs(), o.wide()
	for part := range 2 {
		clear(narrow[part])
		clear(pairs[part])
		clear(wide[part])
	}
}

// parts returns how many parts an operand has: 2 with bf16x3.
func parts(split bool) int {
	if split {
		return 2
	}
	return 1
}

// newWide returns an operand of n zeros in the wide format.
func newWide[T Float](n int, split bool) Operand[T] {
	var of formats[T]
	for part := range parts(split) {
		of.wide[part] = make([]T, n)
	}
	return newOperand(of, n)
}

// Copy copies the first elements of src, as many as o has.
func (o Operand[T]) Copy(src Operand[T]) {
	copyParts(o.narrow(), src.narrow())
	copyParts(o.pairs(), src.pairs())
	copyParts(o.wide(), src.wide())
}

func copyParts[E any](dst, src [2][]E) {
	for part, x := range src {
		copy(dst[part], x)
	}
}

// Join completes an operand that was written piece by piece, at the place where two pieces meet: element i is the first
// of the later one. distance is how far apart the two numbers of a pair are: 2 elements in an operand A, two rows in an
// operand B. The other formats do not need it.
func (o Operand[T]) Join(i, distance int) {
	for _, pairs := range o.pairs() {
		if first := max(0, i-distance); first+distance < len(pairs) {
			before, behind := pairs[first:i], pairs[first+distance:]
			before = before[:min(len(before), len(behind))]
			for j := range before {
				before[j] = before[j]&^0xffff | behind[j]>>16
			}
		}
	}
}
