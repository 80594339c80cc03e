package algos

import (
	"context"
	"fmt"
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
		{"ca-fed", 0, withValues(Paper, "prior", "3"), append(estimated, "begun", "loss", "best")},
		{"mifa mifa-wait fedvarp", 0, Options{Preset: Code}, memory},
		{"mifa mifa-wait fedvarp", 0, withValues(Code, "memory", "rate"), append(memory, "rate")},
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
