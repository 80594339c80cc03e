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

	"rollcall/internal/must"
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
		for what, c := range stateCases(name, o) {
			t.Run(what, func(t *testing.T) { test(t, c) })
		}
	})
}

func stateCases(name string, o Options) map[string]stateCase {
	small := with(o, name, "prior", "3", "server-momentum", "0.5", "fedawe-model", "last", "fedau-cutoff", "3",
		"f3ast-beta", "0.2", "f3ast-limit", "2", "f3ast-memoryless", "false", "ca-fed-beta", "0.3", "fstar", "min",
		"fedar-t0", "2")
	return map[string]stateCase{"as it is": {name, o, 0}, "momentum": {name, o, 0.9}, "small": {name, small, 0}}
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
		said := fmt.Sprint("client ", c.Client, " of round ", work.Round, " reads ", c.Plan.Index,
			" from ", e.at(c.Start))
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

// begin starts the case's method in a federation of five clients, one of which is rarely active, on an engine of its
// own.
func (c stateCase) begin(t checker) (Method, Federation, *watched) {
	t.Helper()
	f, e := toyFederation(8, 16, -8, 0, 3)
	f.Pi[4], f.Momentum = 0.2, c.momentum
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
func tell(t checker, m Method, f Federation, e *watched, rounds []Round) (seen []string, err error) {
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
func told(t checker, m Method, f Federation, e *watched, rounds []Round) []string {
	t.Helper()
	seen := must.Get(tell(t, m, f, e, rounds))(t)
	return seen
}

// A method resumes from a state to the same bits: models, losses, decisions, what is trained, on which samples, from
// which weights. To save is to change nothing, and the state is the same again once it is restored.
func resumes(t checker, name string, o Options) {
	for what, c := range stateCases(name, o) {
		m, f, e := c.begin(t)
		rounds := c.rounds(f)
		want := told(t, m, f, e, rounds)
		for _, after := range stateAfter {
			m, f, e := c.begin(t)
			seen := told(t, m, f, e, rounds[:after])
			state := keep(t, m, e)
			if again := keep(t, m, e); again.String() != state.String() {
				t.Errorf("%s: saved twice after %d rounds: %v, then %v, want the same", what, after, state, again)
			}
			next, f2, e2 := c.begin(t)
			model(t, next, f2) // the initial one may have been evaluated
			if err := next.Restore(state.on(e2)); err != nil {
				t.Fatalf("%s: after %d rounds: %v", what, after, err)
			}
			if got := keep(t, next, e2); got.String() != state.String() {
				t.Errorf("%s: after %d rounds: restored %v, want %v", what, after, got, state)
			}
			if got, want := model(t, next, f2), model(t, m, f); !slices.Equal(got, want) {
				t.Errorf("%s: after %d rounds: model %v, want %v exactly", what, after, got, want)
			}
			seen = append(seen, told(t, m, f, e, rounds[after:])...)
			if r := differ(seen, want); r >= 0 {
				t.Errorf("%s: saved after %d rounds, round %d: got\n%s\nwant, as without saving\n%s",
					what, after, r, seen[r], want[r])
			}
			seen = told(t, next, f2, e2, rounds[after:])
			if r := differ(seen, want[after:]); r >= 0 {
				t.Errorf("%s: restored after %d rounds, round %d: got\n%s\nwant\n%s",
					what, after, after+r, seen[r], want[after+r])
			}
		}
	}
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

// Every part of every method's state matters: where it is forgotten, some run resumes otherwise. What [resumes]
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

// What is in a state, by name: files that hold one are read by these names, in later versions too.
func TestParts(t *testing.T) {
	known := []string{"taken", "w"}
	estimated := []string{
		"taken", "w", "observed", "observed-rounds", "observed-moves", "observed-last", "observed-unknown",
	}
	memory := []string{"taken", "w", "seen", "y"}
	for _, c := range []struct {
		methods  string
		momentum float64
		o        Options
		want     []string
	}{
		{"fedavg-active fedavg-all fedavg-known fedavg-is fedavg-s", 0, Options{Preset: Code}, known},
		{"fedavg-active", 0.9, Options{Preset: Code}, []string{"taken", "momentum", "w"}},
		{"unbiased more-available adafed", 0, Options{Preset: Code}, known},
		{"unbiased more-available adafed", 0, withValues(Code, "prior", "3"), estimated},
		{"unbiased more-available adafed", 0, withValues(Code, "server-momentum", "0.5"), append(known, "velocity")},
		{"f3ast", 0, Options{Preset: Code}, append(known, "rate")},
		{"ca-fed", 0, Options{Preset: Code}, append(known, "begun", "loss")},
		{"ca-fed", 0, withValues(Paper, "prior", "3", "fstar", "min"), append(estimated, "begun", "loss", "best")},
		{"mifa mifa-wait fedvarp", 0, Options{Preset: Code}, append(memory, "sum")},
		{"mifa mifa-wait fedvarp", 0, withValues(Code, "memory", "rate"), append(memory, "rate", "sum")},
		{"fedar", 0, Options{Preset: Code}, append(memory, "rate", "tau")},
		{"scaffold", 0, Options{Preset: Code}, append(known, "c", "own")},
		{"fedau", 0, Options{Preset: Code}, append(known, "miss", "sum", "n")},
		{"fedawe", 0, Options{Preset: Code}, []string{"taken", "tau", "row-of", "last", "models"}},
	} {
		for name := range strings.FieldsSeq(c.methods) {
			m, _, e := stateCase{name, c.o, c.momentum}.begin(t)
			if got := keep(t, m, e).names; !slices.Equal(got, c.want) {
				t.Errorf("%s %v, momentum %g: %q, want %q", name, c.o, c.momentum, got, c.want)
			}
		}
	}
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
			s := stateCase{c.method, with(Options{Preset: Paper}, c.method, "prior", "3", "fstar", "min"), 0}
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
