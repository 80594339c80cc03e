package algos

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rollcall/internal/must"
	"rollcall/nets"
)

// kept is a copy of a state, apart from any engine, to be read by a method on another.
type kept struct {
	engine nets.Engine // that rows are read into
	names  []string    // as they were saved
	rows   map[string][][]float32
	floats map[string][]float64
	ints   map[string][]int64
	forget string // a part that is read as if the rounds had left nothing in it
}

var errNoPart = errors.New("no such part")

// keep saves the state of a method, and checks that it is of the form that [Array] says.
func keep(t checker, m Method, engine nets.Engine) *kept {
	t.Helper()
	k := &kept{rows: map[string][][]float32{}, floats: map[string][]float64{}, ints: map[string][]int64{}}
	state := must.Get(m.Save(t.Context()))(t)
	for _, a := range state {
		if a.Name == "" || slices.Contains(k.names, a.Name) {
			t.Fatalf("part %q after %q, want a name of its own", a.Name, k.names)
		}
		k.names = append(k.names, a.Name)
		is := 0
		if a.Rows != nil {
			is++
			k.rows[a.Name] = make([][]float32, len(a.Rows))
			for i, row := range a.Rows {
				k.rows[a.Name][i] = make([]float32, engine.Info().Params)
				must.OK(t, engine.Store(row, k.rows[a.Name][i]))
			}
		}
		if a.Float64s != nil {
			is++
			k.floats[a.Name] = slices.Clone(a.Float64s)
		}
		if a.Int64s != nil {
			is++
			k.ints[a.Name] = slices.Clone(a.Int64s)
		}
		if is != 1 {
			t.Fatalf("part %s is %d of rows, floats and ints, want exactly one", a.Name, is)
		}
	}
	return k
}

// on returns a source with the same parts for another engine. Its maps are its own.
func (k *kept) on(engine nets.Engine) *kept {
	return &kept{engine, k.names, maps.Clone(k.rows), maps.Clone(k.floats), maps.Clone(k.ints), ""}
}

// String has all parts, in their order.
func (k *kept) String() string {
	var b strings.Builder
	for _, name := range k.names {
		fmt.Fprintln(&b, name, k.rows[name], k.floats[name], k.ints[name])
	}
	return b.String()
}

func (k *kept) Rows(name string, into []nets.Row) error {
	rows, found := k.rows[name]
	switch {
	case name == k.forget:
		return nil
	case !found:
		return errNoPart
	case len(rows) != len(into):
		return fmt.Errorf("%d rows, want %d", len(rows), len(into))
	}
	for i, row := range into {
		if err := k.engine.Load(row, rows[i]); err != nil {
			return err
		}
	}
	return nil
}

func (k *kept) Float64s(name string) ([]float64, error) {
	x, found := k.floats[name]
	if !found {
		return nil, errNoPart
	}
	return x, nil
}

func (k *kept) Int64s(name string) ([]int64, error) {
	x, found := k.ints[name]
	if !found {
		return nil, errNoPart
	}
	return x, nil
}

// forgets makes a part what it is in a method that was just started; numbers that such a method does not have are zero.
func (k *kept) forgets(part string, started *kept) {
	k.forget = part
	if x, found := k.floats[part]; found {
		k.floats[part] = make([]float64, len(x))
		copy(k.floats[part], started.floats[part])
	}
	if x, found := k.ints[part]; found {
		k.ints[part] = make([]int64, len(x))
		copy(k.ints[part], started.ints[part])
	}
}
