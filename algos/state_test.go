package algos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/nets"
)

// stateCase is a method with settings under which its state is looked at.
type stateCase struct {
	name     string
	o        Options
	momentum float64 // of the clients
}

// forAllStates runs a test on every method as forAll has it, then with momentum of the clients, and then with small
// values, so that all that a method keeps matters within a few rounds.
func forAllStates(t *testing.T, test func(t *testing.T, c stateCase)) {
	forAll(t, func(t *testing.T, name string, o Options) {
		small := with(o, name, "prior", "3", "server-momentum", "0.5", "fedawe-model", "last", "fedau-cutoff", "3",
			"f3ast-beta", "0.2", "f3ast-limit", "2", "f3ast-memoryless", "false", "ca-fed-beta", "0.3", "fstar", "min",
			"fedar-t0", "2")
		t.Run("as it is", func(t *testing.T) { test(t, stateCase{name, o, 0}) })
		t.Run("momentum", func(t *testing.T) { test(t, stateCase{name, o, 0.9}) })
		t.Run("small", func(t *testing.T) { test(t, stateCase{name, small, 0}) })
	})
}

const stateRounds = 24

// stateAfter are numbers of rounds after which states are saved; rounds 0, 7 and 14 are empty.
var stateAfter = []int{0, 1, 2, 7, 8, 14, 15, 20}

// watched is a toy engine that writes down what it is asked to train and to evaluate, with the contents of the rows.
type watched struct {
	*toy
	asked []string
}

func (e *watched) Train(ctx context.Context, work nets.LocalWork) ([]float32, error) {
	for _, c := range work.Clients {
		said := fmt.Sprint("client ", c.Client, " of round ", work.Round, " reads ", c.Plan.Index, " from ", e.at(c.Start))
		if !c.Momentum.IsNone() {
			said += fmt.Sprint(" with momentum ", e.at(c.Momentum))
		}
		if !c.Drift.IsNone() {
			said += fmt.Sprint(" with drift ", e.at(c.Drift))
		}
		e.asked = append(e.asked, said)
	}
	return e.toy.Train(ctx, work)
}

func (e *watched) Evaluate(ctx context.Context, jobs []nets.EvalJob) ([]nets.EvalResult, error) {
	for _, job := range jobs {
		e.asked = append(e.asked, fmt.Sprint("evaluate ", e.at(job.Row), " on ", job.Part, job.Index))
	}
	return e.toy.Evaluate(ctx, jobs)
}

// begin starts the case's method in a federation of five clients, one of which is rarely there, on an engine of its own.
func (c stateCase) begin(t *testing.T) (Method, Federation, *watched) {
	t.Helper()
	f, e := toyFederation(8, 16, -8, 0, 3)
	f.P[4], f.Momentum = 0.2, c.momentum
	w := &watched{toy: e}
	f.Engine = w
	return start(t, c.name, f, c.o), f, w
}

// rounds returns the rounds of a run, each with a hint of the next.
func (c stateCase) rounds(f Federation) []Round {
	rounds := trace(f, stateRounds)
	for r := range rounds[1:] {
		rounds[r].Next = rounds[r+1].Active
	}
	return rounds
}

// tell plays rounds and returns for each all that can be seen of it: model, losses, decisions, what the engine did.
// Floating-point numbers are printed so that other bits are other text.
func tell(t *testing.T, m Method, f Federation, e *watched, rounds []Round) (seen []string, err error) {
	t.Helper()
	for _, r := range rounds {
		e.asked = nil
		loss, err := m.Round(t.Context(), r)
		if err != nil {
			return seen, err
		}
		said := fmt.Sprintln("model", model(t, m, f), "losses", loss)
		if d := m.Inspect(); d != nil {
			said += fmt.Sprintln("decisions", *d)
		}
		seen = append(seen, said+strings.Join(e.asked, "\n"))
	}
	return seen, nil
}

// told is tell for rounds that cannot fail.
func told(t *testing.T, m Method, f Federation, e *watched, rounds []Round) []string {
	t.Helper()
	seen, err := tell(t, m, f, e, rounds)
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

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
func keep(t *testing.T, m Method, engine nets.Engine) *kept {
	t.Helper()
	k := &kept{rows: map[string][][]float32{}, floats: map[string][]float64{}, ints: map[string][]int64{}}
	for _, a := range m.Save() {
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
				if err := engine.Store(row, k.rows[a.Name][i]); err != nil {
					t.Fatal(err)
				}
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

// A method goes on from a state to the same bits: models, losses, decisions, what is trained, on which samples, from
// which weights. To save is to change nothing, and the state is the same again once it is restored.
func TestGoesOn(t *testing.T) {
	forAllStates(t, func(t *testing.T, c stateCase) {
		m, f, e := c.begin(t)
		rounds := c.rounds(f)
		want := told(t, m, f, e, rounds)
		for _, after := range stateAfter {
			m, f, e := c.begin(t)
			seen := told(t, m, f, e, rounds[:after])
			state := keep(t, m, e)
			if again := keep(t, m, e); again.String() != state.String() {
				t.Errorf("saved twice after %d rounds: %v, then %v, want the same", after, state, again)
			}
			next, f2, e2 := c.begin(t)
			model(t, next, f2) // the initial one may have been evaluated
			if err := next.Restore(state.on(e2)); err != nil {
				t.Fatalf("after %d rounds: %v", after, err)
			}
			if got := keep(t, next, e2); got.String() != state.String() {
				t.Errorf("after %d rounds: restored %v, want %v", after, got, state)
			}
			if got, want := model(t, next, f2), model(t, m, f); !slices.Equal(got, want) {
				t.Errorf("after %d rounds: model %v, want %v exactly", after, got, want)
			}
			seen = append(seen, told(t, m, f, e, rounds[after:])...)
			if r := differ(seen, want); r >= 0 {
				t.Errorf("saved after %d rounds, round %d: got\n%s\nwant, as without saving\n%s", after, r, seen[r], want[r])
			}
			seen = told(t, next, f2, e2, rounds[after:])
			if r := differ(seen, want[after:]); r >= 0 {
				t.Errorf("restored after %d rounds, round %d: got\n%s\nwant\n%s", after, after+r, seen[r], want[after+r])
			}
		}
	})
}

// differ returns the first place at which got is not want, of the same length, or −1.
func differ(got, want []string) int {
	for i := range want {
		if got[i] != want[i] {
			return i
		}
	}
	return -1
}

// Every part of every method's state matters: where it is forgotten, some run goes on otherwise. What TestGoesOn
// compares is therefore enough to find a part that a method does not name.
func TestForgetting(t *testing.T) {
	noticed := map[string]bool{} // by method and part
	forAllStates(t, func(t *testing.T, c stateCase) {
		m, f, e := c.begin(t)
		rounds := c.rounds(f)
		want := told(t, m, f, e, rounds)
		for _, after := range stateAfter {
			m, f, e := c.begin(t)
			told(t, m, f, e, rounds[:after])
			state, had := keep(t, m, e), model(t, m, f)
			for _, part := range state.names {
				next, f, e := c.begin(t)
				source := state.on(e)
				source.forgets(part, keep(t, next, e))
				key := c.name + ": " + part
				noticed[key] = noticed[key] || false
				if err := next.Restore(source); err != nil {
					noticed[key] = true
					continue
				}
				if !slices.Equal(model(t, next, f), had) {
					noticed[key] = true
					continue
				}
				seen, err := tell(t, next, f, e, rounds[after:])
				if err != nil || differ(seen, want[after:]) >= 0 {
					noticed[key] = true
				}
			}
		}
	})
	for key, was := range noticed {
		if !was {
			t.Errorf("%s: forgotten, and nothing was different, want a part that matters, or a run that shows it", key)
		}
	}
	if len(noticed) < 3*len(methods) {
		t.Errorf("%d parts looked at, want at least model, steps and more of %d methods", len(noticed), len(methods))
	}
}

// forgets makes a part that of a method that was just started; numbers that such a method does not have are zero.
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
				err := next.Restore(source)
				if err == nil {
					if d.refused {
						t.Errorf("%s: %s: no error, want one", part, d.what)
					}
					_, _ = tell(t, next, f, e, rounds[10:])
				} else if !strings.HasPrefix(err.Error(), "algos: "+c.name+": state: ") {
					t.Errorf("%s: %s: error %q, want it to begin with the method", part, d.what, err)
				} else if d.refused && !strings.Contains(err.Error(), "state: "+part+": ") {
					t.Errorf("%s: %s: error %q, want it to name the part", part, d.what, err)
				}
				next.Close()
				if n := e.toy.rows(); n != 0 {
					t.Errorf("%s: %s: %d rows left, want 0", part, d.what, n)
				}
			}
		}
	})
}

// The state of one method is an error in another, or harmless; a method without its parts says so.
func TestStateOfAnotherMethod(t *testing.T) {
	states := map[string]*kept{}
	for _, name := range Names() {
		c := stateCase{name, Options{Preset: Code}, 0}
		m, f, e := c.begin(t)
		told(t, m, f, e, c.rounds(f)[:10])
		states[name] = keep(t, m, e)
	}
	for _, name := range Names() {
		for of, state := range states {
			t.Run(name+" from "+of, func(t *testing.T) {
				c := stateCase{name, Options{Preset: Code}, 0}
				m, f, e := c.begin(t)
				err := m.Restore(state.on(e))
				lacks := slices.ContainsFunc(states[name].names, func(p string) bool { return !slices.Contains(state.names, p) })
				if lacks && !errors.Is(err, errNoPart) {
					t.Errorf("got %v, want %v: its parts are %q, and there are %q", err, errNoPart, states[name].names, state.names)
				}
				if err == nil {
					_, _ = tell(t, m, f, e, c.rounds(f)[10:])
				}
			})
		}
	}
}

// A state that needs rows for which there is no memory is an error, and leaves none behind.
func TestRestoreOutOfMemory(t *testing.T) {
	forAllStates(t, func(t *testing.T, c stateCase) {
		m, f, e := c.begin(t)
		told(t, m, f, e, c.rounds(f)[:10])
		state := keep(t, m, e)
		next, _, e := c.begin(t)
		e.rowsMax = e.toy.rows()
		err := next.Restore(state.on(e))
		if needs := c.name == "fedawe" || c.momentum > 0; needs != (err != nil) {
			t.Errorf("got %v, want an error: %t", err, needs)
		}
		next.Close()
		if n := e.toy.rows(); n != 0 {
			t.Errorf("%d rows left, want 0", n)
		}
	})
}
