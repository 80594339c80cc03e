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
	state(p *parts)
}

// stateful makes Save and Restore from the function state of a method.
type stateful struct{ method }

func (s stateful) Save(context.Context) ([]Array, error) { return save(s.state) }

func (s stateful) Restore(from Source) error { return restoreState(s.state, from) }

// save returns the parts that a function state names, and restoreState reads them back.
func save(state func(*parts)) ([]Array, error) {
	var p parts
	state(&p)
	return p.saved, p.err
}

func restoreState(state func(*parts), from Source) error {
	p := parts{restores: true, from: from}
	state(&p)
	return p.err
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
func (p *parts) rows(name string, rows ...nets.Row) {
	switch {
	case p.err != nil:
	case p.restores:
		p.fail(name, p.from.Rows(name, rows))
	default:
		p.saved = append(p.saved, Array{Name: name, Rows: append([]nets.Row{}, rows...)})
	}
}

// floats saves or restores numbers. A restored number outside low … high is an error.
func (p *parts) floats(name string, numbers []*float64, low, high float64) {
	if !p.restores {
		saved := make([]float64, len(numbers))
		for i, number := range numbers {
			saved[i] = *number
		}
		p.saved = append(p.saved, Array{Name: name, Float64s: saved})
		return
	}
	if p.err == nil {
		from, err := p.from.Float64s(name)
		p.fail(name, err)
		restore(p, name, from, numbers, low, high)
	}
}

// ints saves or restores whole numbers. A restored number outside low … high is an error.
func (p *parts) ints(name string, numbers []*int, low, high int) {
	if !p.restores {
		saved := make([]int64, len(numbers))
		for i, number := range numbers {
			saved[i] = int64(*number)
		}
		p.saved = append(p.saved, Array{Name: name, Int64s: saved})
		return
	}
	if p.err == nil {
		from, err := p.from.Int64s(name)
		p.fail(name, err)
		restore(p, name, from, numbers, int64(low), int64(high))
	}
}

// flags saves or restores booleans, as the numbers 1 and 0.
func (p *parts) flags(name string, flags ...*bool) {
	numbers := make([]int, len(flags))
	for i, flag := range flags {
		if *flag {
			numbers[i] = 1
		}
	}
	p.ints(name, each(numbers), 0, 1)
	for i, flag := range flags {
		*flag = numbers[i] == 1
	}
}

// restore sets numbers to the elements of from. If one of them is out of range, it sets none and reports an error.
func restore[From, To float64 | int64 | int](p *parts, name string, from []From, numbers []*To, low, high From) {
	if p.err == nil && len(from) != len(numbers) {
		p.fail(name, fmt.Errorf("%d numbers, want %d", len(from), len(numbers)))
	}
	for i, number := range from {
		if within := number >= low && number <= high; p.err == nil && !within { // NaN is never within
			p.fail(name, fmt.Errorf("number %d is %v, want %v … %v", i, number, low, high))
		}
	}
	if p.err != nil {
		return
	}
	for i, number := range from {
		*numbers[i] = To(number)
	}
}

// then calls do if a state is being restored, for example to make the rows that the parts restored so far ask for.
func (p *parts) then(do func() error) {
	if p.restores && p.err == nil {
		p.err = do()
	}
}

// fail records an error of the part name, unless there is one already.
func (p *parts) fail(name string, err error) {
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("%s: %w", name, err)
	}
}

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

func chosen[E any](x []E, which []bool) []E {
	var some []E
	for i, e := range x {
		if which[i] {
			some = append(some, e)
		}
	}
	return some
}
