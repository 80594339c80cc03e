package algos

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"rollcall/algos/availability"
	"rollcall/internal/must"
	"rollcall/nets"
)

// checker is what a law needs of a test: a *testing.T, or a [verdict] on a method with a planted mistake.
type checker interface {
	Helper()
	Context() context.Context
	Cleanup(func())
	Errorf(format string, args ...any)
	Error(args ...any)
	Fatalf(format string, args ...any)
	Fatal(args ...any)
}

// law is something that every method is held to, or every method with certain traits.
type law struct {
	name  string
	check func(t checker, name string, o Options)
}

// laws are all laws that hold for a method by its declaration alone.
var laws = []law{
	{"initial model", initialModel},
	{"deterministic", deterministic},
	{"absent clients", absentClients},
	{"trains the active", trainsTheActive},
	{"epochs", epochs},
	{"full participation", fullParticipation},
	{"empty rounds", emptyRounds},
	{"server rate", serverRate},
	{"linear", linear},
	{"no update", noUpdate},
	{"names of clients", namesOfClients},
	{"rows in the state", rowsInState},
	{"running statistics", runningStatistics},
	{"statistics are no weights", statisticsAreNoWeights},
	{"importance and pi", usesWeights},
	{"errors", errorsArePassedOn},
	{"cancel", cancelled},
	{"out of memory", outOfMemory},
	{"resume", resumes},
}

// TestConformance holds every method to the laws, in both presets, and as CA-Fed's code has it with estimates in place
// of the oracle. A case is TestConformance/LAW/METHOD/PRESET.
func TestConformance(t *testing.T) {
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			forAll(t, func(t *testing.T, name string, o Options) { l.check(t, name, o) })
		})
	}
}

// forAll runs a test on every method, in both presets, and as
// CA-Fed's code has it with estimates in place of the oracle.
func forAll(t *testing.T, test func(t *testing.T, name string, o Options)) {
	for _, name := range Names() {
		for _, preset := range []Preset{Code, Paper} {
			t.Run(fmt.Sprintf("%s/%s", name, preset), func(t *testing.T) { test(t, name, Options{Preset: preset}) })
		}
		t.Run(name+"/ca-fed's code", func(t *testing.T) {
			o := with(Options{Preset: Code}, name, "f3ast-beta", "0.025", "f3ast-limit", "45",
				"f3ast-memoryless", "true")
			test(t, name, with(o, name, "prior", "10", "server-momentum", "0.9", "server-weight-decay", "0.01"))
		})
	}
}

// plain returns o without what a parameter of the method may add to a plain step: momentum, decay, clipping, a limit.
func plain(o Options, name string) Options {
	return with(o, name, "fedawe-clip", none, "server-momentum", "0", "server-weight-decay", "0",
		"fedavg-s-limit", "5", "prior", none)
}

// trace returns the rounds of a run of n clients, an empty one first and every seventh.
func trace(f Federation, rounds int) []Round {
	all := make([]Round, rounds)
	for t := range all {
		all[t] = at(t, f, 1)
		if t%7 != 0 {
			all[t].Active = availability.Draw(f.Pi, 5, t)
		}
	}
	return all
}

// taken returns the clients of r that the method took: all active ones, but those it says it left out.
func taken(m Method, r Round) []int {
	d := m.Inspect()
	if d == nil {
		return r.Active
	}
	return slices.DeleteFunc(slices.Clone(r.Active), func(i int) bool { return !d.Included[i] })
}

// play runs the rounds and returns the model after each.
func play(t checker, m Method, f Federation, rounds []Round) (models [][]float32) {
	t.Helper()
	for _, r := range rounds {
		loss := must.Get(m.Round(t.Context(), r))(t)
		if n := len(taken(m, r)); len(loss) != n {
			t.Fatalf("round %d: %d losses, want %d", r.T, len(loss), n)
		}
		models = append(models, model(t, m, f))
	}
	return models
}

// The model before the first round is w0, and rounds without clients leave it.
func initialModel(t checker, name string, o Options) {
	f, _ := toyFederation(8, 16, -8)
	w0 := []float32{0.1, -0.3}
	m := must.Get(New(name, f, w0, o))(t)
	for r := range 3 {
		if got := model(t, m, f); !slices.Equal(got, w0) {
			t.Errorf("before round %d: model %v, want %v exactly", r, got, w0)
		}
		if loss, err := m.Round(t.Context(), at(r, f, 1)); err != nil || len(loss) != 0 {
			t.Errorf("empty round %d: %v, %v, want no loss and no error", r, loss, err)
		}
	}
}

// The same rounds give the same bits, whatever ran on the Federation before; models and losses stay finite.
func deterministic(t checker, name string, o Options) {
	f, _ := toyFederation(8, 16, -8, 0, 3)
	rounds := trace(f, 40)
	first := play(t, start(t, name, f, o), f, rounds)
	second := play(t, start(t, name, f, o), f, rounds)
	for r := range first {
		if !slices.Equal(first[r], second[r]) {
			t.Fatalf("round %d: %v, then %v, want the same bits", r, first[r], second[r])
		}
		for _, w := range first[r] {
			if math.IsNaN(float64(w)) || math.IsInf(float64(w), 0) {
				t.Fatalf("round %d: model %v, want finite", r, first[r])
			}
		}
	}
	if slices.Equal(first[0], first[39]) {
		t.Errorf("model %v after 40 rounds, as at the start", first[39])
	}
}

// A client that is never active makes no difference, whatever samples it has and whenever the model is asked for.
func absentClients(t checker, name string, o Options) {
	f, e := toyFederation(8, 16, -8, 0, 3)
	f.Pi[3] = 0
	rounds := trace(f, 30)
	want := play(t, start(t, name, f, o), f, rounds)
	e.u[3] = scaled(math.NaN())
	m := start(t, name, f, o)
	for r := range rounds {
		must.Get(m.Round(t.Context(), rounds[r]))(t)
		if r%5 == 4 {
			if got := model(t, m, f); !slices.Equal(got, want[r]) {
				t.Fatalf("round %d: model %v, want %v exactly", r, got, want[r])
			}
		}
	}
}

// The engine is asked for the active clients alone, in their order and with the federation's settings, and the losses
// are those it reports. Clients start from the model, but for [OwnModels]; their gradients are corrected with
// [Corrects] alone; all active clients train, but for [Chooses].
func trainsTheActive(t checker, name string, o Options) {
	f, e := toyFederation(8, 16, -8, 0, 3)
	clip := 0.7
	f.Clip, f.WeightDecay, f.Seed = &clip, 0.01, 77
	m := start(t, name, f, o)
	elsewhere := false
	for _, r := range trace(f, 20) {
		e.work = nil
		before := model(t, m, f)
		e.starts = nil
		loss := must.Get(m.Round(t.Context(), r))(t)
		want := taken(m, r)
		if len(want) < len(r.Active) && !Has(name, Chooses) {
			t.Errorf("round %d: took %v of %v, and does not declare that it chooses", r.T, want, r.Active)
		}
		if len(want) == 0 {
			if len(e.work) != 0 {
				t.Errorf("round %d: trained %v, want nobody", r.T, e.work)
			}
			continue
		}
		if len(e.work) != 1 {
			t.Fatalf("round %d: %d calls of Train, want 1", r.T, len(e.work))
		}
		w, clients := e.work[0], []int{}
		for _, c := range w.Clients {
			clients = append(clients, c.Client)
		}
		if !slices.Equal(clients, want) {
			t.Errorf("round %d: trained %v, want %v", r.T, clients, want)
		}
		if d := m.Inspect(); d != nil {
			for i, q := range d.Q {
				if (q > 0) != slices.Contains(clients, i) {
					t.Errorf("round %d: client %d has weight %g, trained %v, want weights of these", r.T, i, q, clients)
				}
			}
		}
		if w.Round != r.T || w.LR != r.LR || w.Seed != 77 || w.WeightDecay != 0.01 || w.Momentum != 0 ||
			w.Clip == nil || *w.Clip != clip {
			t.Errorf("round %d: work %+v, want the round's and the federation's settings", r.T, w)
		}
		for k, i := range clients {
			if drift := Has(name, Corrects); !w.Clients[k].Momentum.IsNone() || w.Clients[k].Drift.IsNone() == drift {
				t.Errorf("round %d: client %d: momentum row %t, drift row %t, want false, %t",
					r.T, i, !w.Clients[k].Momentum.IsNone(), !w.Clients[k].Drift.IsNone(), drift)
			}
			x := e.starts[k]
			if !slices.Equal(x, before) {
				elsewhere = true
				if !Has(name, OwnModels) {
					t.Errorf("round %d: client %d starts from %v, want the model %v", r.T, i, x, before)
				}
			}
			dx, dy := float64(x[0])-e.u[i][0], float64(x[1])-e.u[i][1]
			if want := (dx*dx + dy*dy) / 2; math.Abs(float64(loss[k])-want) > 1e-5*want { // float32
				t.Errorf("round %d: client %d: loss %g, want %g ± 1e-5 of it", r.T, i, loss[k], want)
			}
		}
	}
	if elsewhere != Has(name, OwnModels) {
		t.Errorf("a client starts from a model of its own: %t, and it declares %t", elsewhere, Has(name, OwnModels))
	}
	if d := m.Inspect(); Has(name, Chooses) && d == nil {
		t.Error("chooses clients, and does not say whom")
	}
}

// A client's epochs continue where its own last round ended: client 1 holds 6 samples and reads 2 a round (E = 2, B =
// 1), so its first three participations see each sample once, its next three again, whatever the others do meanwhile.
func epochs(t checker, name string, o Options) {
	f, e := toyFederation(8, 16, -8)
	o = with(with(o, name, keepAll...), name, "fedavg-s-limit", "3")
	f.Planner.Parts[1] = []int32{10, 11, 12, 13, 14, 15}
	f.Planner.E = 2
	m := start(t, name, f, o)
	var read []int32
	for r, active := range [][]int{{0, 1}, {0}, {1}, {}, {0, 2}, {0, 1, 2}, {1}, {2}, {1}, {0, 1}} {
		e.work = nil
		must.Get(m.Round(t.Context(), at(r, f, 1, active...)))(t)
		for _, w := range e.work {
			for _, c := range w.Clients {
				if c.Client == 1 {
					read = append(read, c.Plan.Index...)
				}
			}
		}
	}
	if len(read) != 12 {
		t.Fatalf("client 1 read %v, want 12 samples", read)
	}
	for epoch := range 2 {
		got := slices.Sorted(slices.Values(read[6*epoch : 6*epoch+6]))
		if !slices.Equal(got, f.Planner.Parts[1]) {
			t.Errorf("epoch %d: %v, want every one of %v once", epoch, got, f.Planner.Parts[1])
		}
	}
}

// [FedAvg]: with all clients active in every round and p = 1, w − ū shrinks by 1 − η_g(1 − (1−η)^E) a round.
func fullParticipation(t checker, name string, o Options) {
	if !Has(name, FedAvg) {
		return
	}
	for _, serverLR := range []float64{1, 0.5} {
		f, _ := toyFederation(8, 16, -8, 0) // ū = 4
		f.Pi = []float64{1, 1, 1, 1}
		f.Planner.E = 2
		m := start(t, name, f, with(plain(o, name), name, slices.Concat(keepAll, []string{"f3ast-beta", "1"})...))
		want := 4.0 // w − ū is −want
		for r := range 6 {
			must.Get(m.Round(t.Context(), at(r, f, serverLR, 0, 1, 2, 3)))(t)
			want *= 1 - serverLR*0.75
			if got := model(t, m, f); !near(got, 4-want, toyTol) {
				t.Errorf("round %d: model %v, want %v ± %g", r, got, scaled(4-want), toyTol)
			}
		}
	}
}

// A round in which nobody is active leaves the model as it is, bit for bit, but for [MovesWhenEmpty].
func emptyRounds(t checker, name string, o Options) {
	f, _ := toyFederation(8, 16, -8, 0, 3)
	m, moved := start(t, name, f, o), false
	var before []float32
	for _, r := range trace(f, 30) {
		after := play(t, m, f, []Round{r})[0]
		if len(r.Active) == 0 && r.T > 0 && !slices.Equal(after, before) {
			moved = true
			if !Has(name, MovesWhenEmpty) {
				t.Fatalf("round %d: nobody is active, and the model goes from %v to %v", r.T, before, after)
			}
		}
		before = after
	}
	if Has(name, MovesWhenEmpty) && !moved {
		t.Error("declares that empty rounds move the model, and none does")
	}
}

// The first step is proportional to the server's learning rate: twice as long at twice the rate, and more than nothing.
func serverRate(t checker, name string, o Options) {
	step := func(serverLR float64) []float32 {
		f, _ := toyFederation(8, 16, -8, 0, 3)
		return play(t, start(t, name, f, with(o, name, "server-weight-decay", "0")), f,
			[]Round{at(0, f, serverLR, 0, 1, 2, 3, 4)})[0]
	}
	one, two := step(0.5), step(1)
	if !near32(two, one, 2, 1e-5) || one[0] == 0 {
		t.Errorf("first step at η_g = 1/2: %v, at 1: %v, want twice as much", one, two)
	}
}

// [Linear]: twice the distances make twice the models, to the bit, and sums of them the sums of models.
func linear(t checker, name string, o Options) {
	if !Has(name, Linear) {
		return
	}
	run := func(u ...float64) [][]float32 {
		f, _ := toyFederation(u...)
		return play(t, start(t, name, f, o), f, trace(f, 30))
	}
	once, twice := run(8, 16, -8, 0, 3), run(16, 32, -16, 0, 6)
	other, sum := run(1, 0, 0, -5, 2), run(9, 16, -8, -5, 5)
	for r := range once {
		for j := range once[r] {
			if twice[r][j] != 2*once[r][j] {
				t.Fatalf("round %d: model %v, at twice the distances %v, want twice as much", r, once[r], twice[r])
			}
			if got, want := float64(sum[r][j]), float64(once[r][j])+float64(other[r][j]); math.Abs(got-want) > 1e-4 {
				t.Fatalf("round %d: model %v, want %v + %v ± 1e-4", r, sum[r], once[r], other[r])
			}
		}
	}
}

// Where nobody's local steps move, the model stays, but for [Momentum], which moves it, and for what is remembered or
// has own models.
func noUpdate(t checker, name string, o Options) {
	if Has(name, Remembers) || Has(name, OwnModels) {
		return
	}
	f, e := toyFederation(8, 16, -8, 0, 3)
	m := start(t, name, f, plain(o, name))
	before := play(t, m, f, []Round{at(0, f, 1, 0, 1, 2, 3, 4), at(1, f, 1, 0, 2)})[1]
	for i := range e.u {
		e.u[i] = []float64{float64(before[0]), float64(before[1])}
	}
	after := play(t, m, f, []Round{at(2, f, 1, 0, 1, 2, 3, 4)})[0]
	if stays := near32(after, before, 1, 1e-5); stays == Has(name, Momentum) {
		t.Errorf("no client moves, and the model goes from %v to %v; it declares momentum: %t",
			before, after, Has(name, Momentum))
	}
}

// The names of the clients do not matter: in reverse they make the same model, but for the order of sums. A method that
// [Chooses] may choose by names.
func namesOfClients(t checker, name string, o Options) {
	if Has(name, Chooses) {
		return
	}
	u := []float64{8, 16, -8, 0, 3}
	f, _ := toyFederation(u...)
	rounds := trace(f, 30)
	want := play(t, start(t, name, f, plain(o, name)), f, rounds)
	slices.Reverse(u)
	f, _ = toyFederation(u...)
	for r := range rounds {
		rounds[r].Active = slices.Clone(rounds[r].Active)
		slices.Reverse(rounds[r].Active)
		for k, i := range rounds[r].Active {
			rounds[r].Active[k] = f.N - 1 - i
		}
	}
	for r, got := range play(t, start(t, name, f, plain(o, name)), f, rounds) {
		if !near32(got, want[r], 1, 1e-5) {
			t.Fatalf("round %d: model %v with the clients in reverse, want %v ± 1e-5 of it", r, got, want[r])
		}
	}
}

// The state has a row for every client if the method [Remembers], and no more than a few if not.
func rowsInState(t checker, name string, o Options) {
	if Has(name, OwnModels) {
		return
	}
	f, _ := toyFederation(slices.Repeat([]float64{1, 2}, 10)...)
	m := start(t, name, f, o)
	all := make([]int, f.N)
	for i := range all {
		all[i] = i
	}
	play(t, m, f, []Round{at(0, f, 1, all...)})
	parts := must.Get(m.Save(t.Context()))(t)
	rows := 0
	for _, part := range parts {
		rows += len(part.Rows)
	}
	if (rows >= f.N) != Has(name, Remembers) {
		t.Errorf("%d rows in the state of %d clients; it declares that it remembers clients: %t",
			rows, f.N, Has(name, Remembers))
	}
}

// UsesPi and UsesImportance say of a method whether π and α make a difference to it. Client 2 is never active, so that
// mifa-wait waits for it or does not.
func usesWeights(t checker, name string, o Options) {
	play := func(change func(f *Federation)) string {
		f, _ := toyFederation(8, 16, -8)
		f.Importance, f.Pi = []float64{0.5, 0.25, 0.25}, []float64{0.75, 0.5, 0.25}
		known := slices.Clone(f.Pi)
		change(&f)
		m := start(t, name, f, with(plain(o, name), name, keepAll...))
		var said strings.Builder
		for r, active := range [][]int{{0, 1}, {1}, {0}, {}, {0, 1}} {
			round := at(r, f, 1, active...)
			round.P = known // p_i^t is the round's, whatever π is
			must.Get(m.Round(t.Context(), round))(t)
			fmt.Fprintln(&said, model(t, m, f), m.Inspect())
		}
		return said.String()
	}
	was := play(func(*Federation) {})
	if got := play(func(f *Federation) { f.Pi = []float64{0.6, 0.8, 0} }) != was; got != Has(name, UsesPi) {
		t.Errorf("π makes a difference: %t, and it declares %t", got, Has(name, UsesPi))
	}
	got := play(func(f *Federation) { f.Importance = []float64{0.2, 0.7, 0.1} }) != was
	if got != Has(name, UsesImportance) {
		t.Errorf("α makes a difference: %t, and it declares %t", got, Has(name, UsesImportance))
	}
}

// An error of the engine is returned with the method's name, and the model of the round before stays.
func errorsArePassedOn(t checker, name string, o Options) {
	f, e := toyFederation(8, 16)
	m := start(t, name, f, o)
	must.Get(m.Round(t.Context(), at(0, f, 1, 0)))(t)
	want := model(t, m, f)
	e.failing = &nets.DivergedError{Round: 1, Client: 1, Step: 2, Loss: math.Inf(1)}
	loss, err := m.Round(t.Context(), at(1, f, 1, 0, 1))
	text := "algos: " + name + ": round 1: nets: round 1 client 1 step 2: loss +Inf, want a finite number"
	var diverged *nets.DivergedError
	if !errors.As(err, &diverged) || diverged.Client != 1 || err.Error() != text || loss != nil {
		t.Errorf("got %v, %v, want the engine's error as %q", loss, err, text)
	}
	if got := model(t, m, f); !slices.Equal(got, want) {
		t.Errorf("model %v after the failure, want %v of the round before", got, want)
	}
}

// A cancelled context ends a round, also one without active clients.
func cancelled(t checker, name string, o Options) {
	f, _ := toyFederation(8, 16)
	m := start(t, name, f, o)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for r, active := range [][]int{{}, {0}} {
		_, err := m.Round(ctx, at(r, f, 1, active...))
		want := fmt.Sprintf("algos: %s: round %d: context canceled", name, r)
		if !errors.Is(err, context.Canceled) || err.Error() != want {
			t.Errorf("active %v: got %v, want %q", active, err, want)
		}
	}
}

// Whatever the memory, a method that does not get its rows says so, and leaves none behind.
func outOfMemory(t checker, name string, o Options) {
	f, e := toyFederation(8, 16, -8)
	enough := false
	for rows := 0; !enough; rows++ {
		e.rowsMax = rows
		m, err := New(name, f, make([]float32, 2), o)
		if err == nil {
			_, err = m.Round(t.Context(), at(0, f, 1, 0, 1, 2))
			m.Close()
		}
		if n := e.rows(); n != 0 {
			t.Fatalf("memory for %d rows: %d left after %v, want 0", rows, n, err)
		}
		if enough = err == nil; rows > 20 {
			t.Fatalf("no round in memory for %d rows: %v", rows, err)
		}
	}
}

// verdict is a checker that keeps what a law finds.
type verdict struct {
	ctx      context.Context
	cleanups []func()
	found    []string
}

func (v *verdict) Helper()                   {}
func (v *verdict) Context() context.Context  { return v.ctx }
func (v *verdict) Cleanup(f func())          { v.cleanups = append(v.cleanups, f) }
func (v *verdict) Errorf(f string, a ...any) { v.found = append(v.found, fmt.Sprintf(f, a...)) }
func (v *verdict) Error(a ...any)            { v.found = append(v.found, fmt.Sprint(a...)) }
func (v *verdict) Fatalf(f string, a ...any) { v.Errorf(f, a...); runtime.Goexit() }
func (v *verdict) Fatal(a ...any)            { v.Error(a...); runtime.Goexit() }

// breaks returns what a law finds wrong with a method.
func (l *law) breaks(ctx context.Context, name string, o Options) []string {
	v, done := &verdict{ctx: ctx}, make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				v.Errorf("panic: %v", p)
			}
			for _, f := range v.cleanups {
				f()
			}
		}()
		l.check(v, name, o)
	}()
	<-done
	return v.found
}
