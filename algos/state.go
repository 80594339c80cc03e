package algos

import (
	"context"
	"fmt"
	"math"

	"rollcall/nets"
)

// Array is one part of the state of a method: rows in the engine's memory, or numbers in the memory of the host.
// Exactly one of the slices is not nil; it is empty if the part has no elements.
type Array struct {
	Name     string     // unique in the state
	Rows     []nets.Row // [n] rows [P] float32
	Float64s []float64
	Int64s   []int64
}

// Source is a saved state that a method reads. A missing part is an error.
type Source interface {
	// Rows reads a part into the given rows. It is an error if the part does not have len(into) rows.
	Rows(name string, into []nets.Row) error
	// Float64s returns a part of floating-point numbers.
	Float64s(name string) ([]float64, error)
	// Int64s returns a part of whole numbers.
	Int64s(name string) ([]int64, error)
}

// method is a [Method] as its own file implements it; [stateful] adds the rest.
//
// The function state goes through all parts of the state, and names each once. Save and Restore both call it, so that
// they cannot disagree. If numbers decide how many rows there are, they come before the rows.
type method interface {
	Round(ctx context.Context, r Round) (loss []float32, err error)
	Model() (nets.Row, error)
	Inspect() *Decisions
	Close()
	state(x *parts)
}

// stateful makes Save and Restore from the function state of a method.
type stateful struct{ method }

// Save implements [Method].
func (s stateful) Save(context.Context) ([]Array, error) { return save(s.state) }

// Restore implements [Method].
func (s stateful) Restore(from Source) error { return restoreState(s.state, from) }

// save returns the parts that a function state names, and restoreState reads them back.
func save(state func(*parts)) ([]Array, error) {
	var x parts
	state(&x)
	return x.saved, x.err
}

func restoreState(state func(*parts), from Source) error {
	x := parts{restores: true, from: from}
	state(&x)
	return x.err
}

// parts is what a function state calls once per part. It either saves the part or restores it. After the first error it
// does nothing.
type parts struct {
	restores bool
	from     Source  // if restores: the state to read
	saved    []Array // otherwise: the parts saved so far
	err      error
}

// countMax is the largest count that a restored state may have, so that no counter overflows in the rounds to come.
const countMax = math.MaxInt / 2

// rows saves or restores rows of the method. The method must have made them before.
func (x *parts) rows(name string, rows ...nets.Row) {
	switch {
	case x.err != nil:
	case x.restores:
		x.fail(name, x.from.Rows(name, rows))
	default:
		x.saved = append(x.saved, Array{Name: name, Rows: append([]nets.Row{}, rows...)})
	}
}

// floats saves or restores numbers. A restored number outside low … high is an error.
func (x *parts) floats(name string, numbers []*float64, low, high float64) {
	if !x.restores {
		saved := make([]float64, len(numbers))
		for i, number := range numbers {
			saved[i] = *number
		}
		x.saved = append(x.saved, Array{Name: name, Float64s: saved})
		return
	}
	if x.err == nil {
		from, err := x.from.Float64s(name)
		x.fail(name, err)
		restore(x, name, from, numbers, low, high)
	}
}

// ints saves or restores whole numbers. A restored number outside low … high is an error.
func (x *parts) ints(name string, numbers []*int, low, high int) {
	if !x.restores {
		saved := make([]int64, len(numbers))
		for i, number := range numbers {
			saved[i] = int64(*number)
		}
		x.saved = append(x.saved, Array{Name: name, Int64s: saved})
		return
	}
	if x.err == nil {
		from, err := x.from.Int64s(name)
		x.fail(name, err)
		restore(x, name, from, numbers, int64(low), int64(high))
	}
}

// flags saves or restores booleans, as the numbers 1 and 0.
func (x *parts) flags(name string, flags ...*bool) {
	numbers := make([]int, len(flags))
	for i, flag := range flags {
		if *flag {
			numbers[i] = 1
		}
	}
	x.ints(name, each(numbers), 0, 1)
	for i, flag := range flags {
		*flag = numbers[i] == 1
	}
}

// restore sets numbers to the elements of from. If one of them is out of range, it sets none and reports an error.
func restore[From, To float64 | int64 | int](x *parts, name string, from []From, numbers []*To, low, high From) {
	if x.err == nil && len(from) != len(numbers) {
		x.fail(name, fmt.Errorf("%d numbers, want %d", len(from), len(numbers)))
	}
	for i, number := range from {
		if within := number >= low && number <= high; x.err == nil && !within { // NaN is never within
			x.fail(name, fmt.Errorf("number %d is %v, want %v … %v", i, number, low, high))
		}
	}
	if x.err != nil {
		return
	}
	for i, number := range from {
		*numbers[i] = To(number)
	}
}

// then calls do if a state is being restored, for example to make the rows that the parts restored so far ask for.
func (x *parts) then(do func() error) {
	if x.restores && x.err == nil {
		x.err = do()
	}
}

// fail records an error of the part name, unless there is one already.
func (x *parts) fail(name string, err error) {
	if err != nil && x.err == nil {
		x.err = fmt.Errorf("%s: %w", name, err)
	}
}

// each returns pointers to the elements of x.
func each[E any](x []E) []*E {
	return fields(x, func(e *E) *E { return e })
}

// fields returns pointers to one field of each element of x.
func fields[E, F any](x []E, field func(*E) *F) []*F {
	pointers := make([]*F, len(x))
	for i := range x {
		pointers[i] = field(&x[i])
	}
	return pointers
}

// chosen returns the elements x[i] for which which[i] is true.
func chosen[E any](x []E, which []bool) []E {
	var some []E
	for i, e := range x {
		if which[i] {
			some = append(some, e)
		}
	}
	return some
}
