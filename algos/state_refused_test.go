package algos

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// damage is something done to one part of a state.
type damage struct {
	what    string
	refused bool // by every method; otherwise it may also be harmless
	do      func(k *kept, part string) bool
}

// edit changes a copy of the elements of one part; it reports whether the part is of that kind and changed.
func edit[E any](in map[string][]E, part string, change func([]E) []E) bool {
	x, found := in[part]
	if !found {
		return false
	}
	if x = change(slices.Clone(x)); x == nil {
		return false
	}
	in[part] = x
	return true
}

// shorter and longer are changes of a length.
func shorter[E any](x []E) []E {
	if len(x) == 0 {
		return nil
	}
	return x[1:]
}

func longer[E any](x []E) []E {
	var more E
	return append(x, more)
}

// becomes sets the first or the last element.
func becomes[E any](v E, last bool) func([]E) []E {
	return func(x []E) []E {
		switch {
		case len(x) == 0:
			return nil
		case last:
			x[len(x)-1] = v
		default:
			x[0] = v
		}
		return x
	}
}

func damages() []damage {
	all := []damage{
		{"missing", true, func(k *kept, part string) bool {
			delete(k.rows, part)
			delete(k.floats, part)
			delete(k.ints, part)
			return true
		}},
		{"shorter", true, func(k *kept, part string) bool {
			return edit(k.rows, part, shorter) || edit(k.floats, part, shorter) || edit(k.ints, part, shorter)
		}},
		{"longer", true, func(k *kept, part string) bool {
			return edit(k.rows, part, longer) || edit(k.floats, part, longer) || edit(k.ints, part, longer)
		}},
	}
	for _, last := range []bool{false, true} {
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1, 1e300} {
			never := math.IsNaN(v) || math.IsInf(v, 0)
			all = append(all, damage{fmt.Sprintf("%g (last: %t)", v, last), never, func(k *kept, part string) bool {
				return edit(k.floats, part, becomes(v, last))
			}})
		}
		for _, v := range []int64{math.MinInt64, -5, -2, -1, 0, 1, 2, 5, 6, 1 << 31, 1 << 40, math.MaxInt64} {
			never := v < -1 || v == math.MaxInt64
			all = append(all, damage{fmt.Sprintf("%d (last: %t)", v, last), never, func(k *kept, part string) bool {
				return edit(k.ints, part, becomes(v, last))
			}})
		}
	}
	return all
}

// A damaged state is an error that names method and part, or a method
// that can play on, be it to an error; it is never a panic.
func TestDamagedState(t *testing.T) {
	forAllStates(t, func(t *testing.T, c stateCase) {
		m, f, e := c.begin(t)
		rounds := c.rounds(f)
		told(t, m, f, e, rounds[:10])
		state := keep(t, m, e)
		for _, part := range state.names {
			for _, d := range damages() {
				next, f, e := c.begin(t)
				source := state.on(e)
				if !d.do(source, part) {
					continue
				}
				err, begin := next.Restore(source), "algos: "+c.name+": state: "
				if d.refused {
					begin += part + ": "
				}
				switch {
				case err != nil && !strings.HasPrefix(err.Error(), begin):
					t.Errorf("%s: %s: error %q, want it to begin with %q", part, d.what, err, begin)
				case err == nil && d.refused:
					t.Errorf("%s: %s: no error, want one", part, d.what)
				case err == nil:
					_, _ = next.Model()
					_, _ = tell(t, next, f, e, rounds[10:15])
				}
				next.Close()
				if n := e.rows(); n != 0 {
					t.Errorf("%s: %s: %d rows left, want 0", part, d.what, n)
				}
			}
		}
	})
}

// A state that needs rows for which there is no memory is an error, and leaves none behind.
func TestRestoreOutOfMemory(t *testing.T) {
	forAllStates(t, func(t *testing.T, c stateCase) {
		m, f, e := c.begin(t)
		told(t, m, f, e, c.rounds(f)[:10])
		state := keep(t, m, e)
		next, _, e := c.begin(t)
		e.rowsMax = e.rows()
		err := next.Restore(state.on(e))
		if needs := c.name == "fedawe" || c.momentum > 0; needs != (err != nil) {
			t.Errorf("got %v, want an error: %t", err, needs)
		}
		next.Close()
		if n := e.rows(); n != 0 {
			t.Errorf("%d rows left, want 0", n)
		}
	})
}

// What a state is refused for, part by part.
func TestRestoreRefuses(t *testing.T) {
	count := fmt.Sprint(countMax)
	for _, c := range []struct {
		method, part string
		damage       func(k *kept, part string) bool
		want         string
	}{
		{"fedavg-active", "taken", whole(-5), "number 0 is -5, want 0 … " + count},
		{"fedavg-active", "taken", whole(countMax + 1), "number 0 is " + fmt.Sprint(countMax+1) +
			", want 0 … " + count},
		{
			"fedavg-active", "w", func(k *kept, part string) bool { return edit(k.rows, part, shorter) },
			"0 rows, want 1",
		},
		{
			"fedavg-active", "taken", func(k *kept, part string) bool { return edit(k.ints, part, longer) },
			"6 numbers, want 5",
		},
		{"mifa", "seen", whole(2), "number 0 is 2, want 0 … 1"},
		{"fedau", "miss", whole(50), "number 0 is 50, want 0 … 49"},
		{"fedau", "sum", whole(-1), "number 0 is -1, want 0 … " + count},
		{"fedau", "n", whole(-1), "number 0 is -1, want 0 … " + count},
		{"fedar", "tau", whole(-1), "number 0 is -1, want 0 … " + count},
		{"fedar", "rate", number(0), "number 0 is 0, want 5e-324 … 1.7976931348623157e+308"},
		{"f3ast", "rate", number(-1), "number 0 is -1, want 0 … 1.7976931348623157e+308"},
		{"ca-fed", "begun", whole(2), "number 0 is 2, want 0 … 1"},
		{
			"ca-fed", "loss", number(math.NaN()),
			"number 0 is NaN, want -1.7976931348623157e+308 … 1.7976931348623157e+308",
		},
		{
			"ca-fed", "best", number(math.Inf(1)),
			"number 0 is +Inf, want -1.7976931348623157e+308 … 1.7976931348623157e+308",
		},
		{"unbiased", "observed", whole(-1), "number 0 is -1, want 0 … " + count},
		{"unbiased", "observed-rounds", number(0), "number 0 is 0, want 1 … 4.611686018427388e+18"},
		{"unbiased", "observed-moves", number(0), "number 0 is 0, want 1 … 4.611686018427388e+18"},
		{"unbiased", "observed-last", whole(2), "number 0 is 2, want 0 … 1"},
		{"fedawe", "tau", whole(-2), "number 0 is -2, want -1 … " + count},
		{"fedawe", "row-of", whole(6), "number 0 is 6, want 0 … 5"},
		{"fedawe", "last", whole(5), "5, want the row of a client's model, one of [0 0 0 1 1]"},
	} {
		t.Run(c.method+"/"+c.part+" "+c.want, func(t *testing.T) {
			s := stateCase{c.method, with(Options{Preset: Paper}, c.method, "prior", "3"), 0}
			m, f, e := s.begin(t)
			for r, active := range [][]int{{0, 1, 2, 3, 4}, {0, 1, 2}} {
				must.Get(m.Round(t.Context(), at(r, f, 1, active...)))(t)
			}
			next, _, e2 := s.begin(t)
			source := keep(t, m, e).on(e2)
			if !c.damage(source, c.part) {
				t.Fatalf("parts %q, want %s, and elements in it", source.names, c.part)
			}
			want := fmt.Sprintf("algos: %s: state: %s: %s", c.method, c.part, c.want)
			if err := next.Restore(source); err == nil || err.Error() != want {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

// whole and number set the first element of a part.
func whole(v int64) func(k *kept, part string) bool {
	return func(k *kept, part string) bool { return edit(k.ints, part, becomes(v, false)) }
}

func number(v float64) func(k *kept, part string) bool {
	return func(k *kept, part string) bool { return edit(k.floats, part, becomes(v, false)) }
}
