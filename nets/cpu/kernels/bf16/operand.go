package bf16

// Operand is a matrix of rounded numbers: one operand of a product. Every variant has a format of its own, and
// [Kernels.NewOperand] allocates it; the other methods of [Kernels] write it. Positions count elements in all formats.
//
// With bf16x3 an operand has a second part, low: what rounding to the first part leaves, rounded in turn.
type Operand[T Float] struct {
	narrow [2][]uint16 // the upper halves of float32: the format of AMX
	pairs  [2][]uint32 // an upper half, and below it that of the element two terms on: the format of AVX512_BF16
	wide   [2][]T      // rounded, but stored as T: the format of all other variants
}

// From returns the operand from element i on.
func (o Operand[T]) From(i int) Operand[T] {
	for part := range 2 {
		o.narrow[part] = behind(o.narrow[part], i)
		o.pairs[part] = behind(o.pairs[part], i)
		o.wide[part] = behind(o.wide[part], i)
	}
	return o
}

// behind returns x from element i on, or nil if x is nil.
func behind[E any](x []E, i int) []E {
	if x == nil {
		return nil
	}
	return x[i:]
}

// First returns the first n elements of the operand.
func (o Operand[T]) First(n int) Operand[T] {
	for part := range 2 {
		o.narrow[part] = first(o.narrow[part], n)
		o.pairs[part] = first(o.pairs[part], n)
		o.wide[part] = first(o.wide[part], n)
	}
	return o
}

// first returns the first n elements of x, or nil if x is nil.
func first[E any](x []E, n int) []E {
	if x == nil {
		return nil
	}
	return x[:n]
}

// Len returns the number of elements.
func (o Operand[T]) Len() int { return max(len(o.narrow[0]), len(o.pairs[0]), len(o.wide[0])) }

// Clear sets all elements to 0.
func (o Operand[T]) Clear() {
	for part := range 2 {
		clear(o.narrow[part])
		clear(o.pairs[part])
		clear(o.wide[part])
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
func newWide[T Float](n int, split bool) (o Operand[T]) {
	for part := range parts(split) {
		o.wide[part] = make([]T, n)
	}
	return o
}

// Copy copies the first elements of src, as many as o has.
func (o Operand[T]) Copy(src Operand[T]) {
	for part := range 2 {
		copy(o.narrow[part], src.narrow[part])
		copy(o.pairs[part], src.pairs[part])
		copy(o.wide[part], src.wide[part])
	}
}

// Join completes an operand that was written piece by piece, at the place where two pieces meet: element i is the first
// of the later one. distance is how far apart the two numbers of a pair are: 2 elements in an operand A, two rows in an
// operand B. The other formats do not need it.
func (o Operand[T]) Join(i, distance int) {
	for _, pairs := range o.pairs {
		if first := max(0, i-distance); first+distance < len(pairs) {
			before, behind := pairs[first:i], pairs[first+distance:]
			before = before[:min(len(before), len(behind))]
			for j := range before {
				before[j] = before[j]&^0xffff | behind[j]>>16
			}
		}
	}
}
