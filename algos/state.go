package algos

import (
	"context"
	"fmt"
	"math"

	"rollcall/nets"
)

// Array is a part of a method's state: rows in the engine's memory, or numbers of the host. Exactly one of the slices
// is it, empty and not nil if it has no elements; the others are nil.
type Array struct {
	Name     string     // the part's own in the state
	Rows     []nets.Row // [n] rows [P] float32
	Float64s []float64
	Int64s   []int64
}

// Source is where a state is read from. A part that it does not have is an error.
type Source interface {
	// Rows reads a part of exactly len(into) rows into the engine.
	Rows(name string, into []nets.Row) error
	Float64s(name string) ([]float64, error)
	Int64s(name string) ([]int64, error)
}

// method is a [Method] as its file has it. The function state names every part of the state once; to save and to
// restore are both made of it, so that the two cannot part ways. The numbers that decide how many rows there are come
// before the rows.
type method interface {
	Round(ctx context.Context, r Round) (loss []float32, err error)
	Model() (nets.Row, error)
	Inspect() *Decisions
	Close()
	state(x *parts)
}

// parts goes through a state, part by part, and either saves or restores it. After the first error it does nothing.
type parts struct {
	restores bool
	from     Source  // of restoring
	saved    []Array // by saving
	err      error
}

// countMax is the largest number that anything is counted to: more could overflow in the rounds to come.
const countMax = math.MaxInt / 2

// rows are rows of the method's own, which are there already.
func (x *parts) rows(name string, rows ...nets.Row) {
	switch {
	case x.err != nil:
	case x.restores:
		x.fail(name, x.from.Rows(name, rows))
	default:
		x.saved = append(x.saved, Array{Name: name, Rows: append([]nets.Row{}, rows...)})
	}
}

// floats are numbers in low … high.
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

// ints are whole numbers in low … high.
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

// flags are true or false, as 1 and 0.
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

// restore sets numbers, all of them or none.
func restore[From, To float64 | int64 | int](x *parts, name string, from []From, numbers []*To, low, high From) {
	if x.err == nil && len(from) != len(numbers) {
		x.fail(name, fmt.Errorf("%d numbers, want %d", len(from), len(numbers)))
	}
	for i, number := range from {
		if within := number >= low && number <= high; x.err == nil && !within { // NaN is not
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

// then does what is to be done between the parts of a state that is restored.
func (x *parts) then(do func() error) {
	if x.restores && x.err == nil {
		x.err = do()
	}
}

func (x *parts) fail(name string, err error) {
	if err != nil && x.err == nil {
		x.err = fmt.Errorf("%s: %w", name, err)
	}
}

// each returns where the elements of x are.
func each[E any](x []E) []*E {
	return fields(x, func(e *E) *E { return e })
}

// fields returns where a field of each element of x is.
func fields[E, F any](x []E, field func(*E) *F) []*F {
	where := make([]*F, len(x))
	for i := range x {
		where[i] = field(&x[i])
	}
	return where
}

// chosen returns the elements of x at the places where which is true.
func chosen[E any](x []E, which []bool) []E {
	var some []E
	for i, e := range x {
		if which[i] {
			some = append(some, e)
		}
	}
	return some
}
