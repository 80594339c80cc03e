package gpu

import (
	"math/big"
	"slices"
)

// order says which launches of a list wait for which. A launch waits for the launches before it that wrote what it
// reads, and for those that read or wrote what it writes. Launches that do not wait for each other, not even by way of
// others, may run at the same time.
type order struct {
	waits [][]int    // of each launch: those that it waits for, but for those that these wait for
	ended []*big.Int // of each launch: the set of all launches that have ended when it begins
}

// orderOf returns the order of launches, given what each reads and writes.
func orderOf(uses []access) order {
	o := order{make([][]int, len(uses)), make([]*big.Int, len(uses))}
	writer, readers := map[*buffer]int{}, map[*buffer][]int{} // the last writer, and who has read since
	for i, use := range uses {
		var needs []int
		for _, b := range slices.Concat(use.reads, use.writes) {
			if w, ok := writer[b]; ok {
				needs = append(needs, w)
			}
		}
		for _, b := range use.writes {
			needs = append(needs, readers[b]...)
		}
		o.add(i, needs)
		for _, b := range use.reads {
			readers[b] = append(readers[b], i)
		}
		for _, b := range use.writes {
			writer[b], readers[b] = i, nil
		}
	}
	return o
}

// add says for launch i which launches before it must have ended.
func (o *order) add(i int, needs []int) {
	ended := new(big.Int)
	slices.Sort(needs)
	for _, n := range slices.Backward(needs) { // the latest first: the others may have ended when it begins
		if ended.Bit(n) == 0 {
			o.waits[i] = append(o.waits[i], n)
			ended.Or(ended, o.ended[n])
			ended.SetBit(ended, n, 1)
		}
	}
	o.ended[i] = ended
}

// followsAll reports whether some launches have all ended when launch i begins.
func (o *order) followsAll(i int, some []int) bool {
	return !slices.ContainsFunc(some, func(n int) bool { return o.ended[i].Bit(n) == 0 })
}
