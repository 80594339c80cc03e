package algos

import (
	"context"
	"slices"
	"testing"

	"rollcall/nets"
)

// Methods as somebody else would add them, each in one piece with its declaration: the laws must pass them, and must
// catch mistakes that are easily made. A constructor's argument names the mistake; "" makes none.

// TestForeign registers each method in one line, and holds it to all laws.
func TestForeign(t *testing.T) {
	for _, define := range []func(mistake string) Definition{ownMomentum, ownMemory} {
		d := define("")
		registered(t, d)
		for _, l := range laws {
			t.Run(d.Name+"/"+l.name, func(t *testing.T) { l.check(t, d.Name, Options{Preset: Code}) })
		}
	}
}

// Every planted mistake breaks a law.
func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		define   func(mistake string) Definition
		mistakes []string
	}{
		{ownMomentum, []string{"state", "server rate", "coasts", "statistics", "linear"}},
		{ownMemory, []string{"state", "memory", "empty", "place"}},
	} {
		for _, mistake := range c.mistakes {
			d := c.define(mistake)
			t.Run(d.Name+"/"+mistake, func(t *testing.T) {
				registered(t, d)
				caught := false
				for _, l := range laws {
					if found := l.breaks(t.Context(), d.Name, Options{Preset: Code}); len(found) > 0 {
						t.Logf("%s: %s", l.name, found[0])
						caught = true
					}
				}
				if !caught {
					t.Error("no law is broken")
				}
			})
		}
	}
}

// registered registers a method until the test ends.
func registered(t *testing.T, d Definition) {
	t.Helper()
	before := slices.Clip(methods)
	Register(d)
	t.Cleanup(func() { methods = before })
}

// A name stands for one method.
func TestRegisterTwice(t *testing.T) {
	defer func() {
		if got, want := recover(), "algos: method fedau is registered twice"; got != want {
			t.Errorf("got %v, want %q", got, want)
		}
	}()
	Register(Definition{Name: "fedau"})
}

// momentumMethod is FedAvgM with a velocity of its own: v ← 0.9 v + mean_A Δ, w ← w + η_g v.
type momentumMethod struct {
	global
	v       nets.Row
	mistake string
}

func ownMomentum(mistake string) Definition {
	return Definition{
		Name: "test-momentum", Revision: 1, Is: Linear | Momentum, LR: 0.05, ServerLR: 1,
		start: func(s *server, w0 []float32, o Options) (method, error) {
			g, err := newGlobal(s, w0, o)
			if err != nil {
				return nil, err
			}
			v, err := s.Rows(1)
			if err != nil {
				return nil, err
			}
			return &momentumMethod{g, v[0], mistake}, nil
		},
	}
}

func (m *momentumMethod) Round(ctx context.Context, r Round) ([]float32, error) {
	ends, loss, err := m.local(ctx, r)
	if err != nil || len(ends) == 0 && m.mistake != "coasts" {
		return nil, err
	}
	if m.mistake == "server rate" {
		r.ServerLR = 1
	}
	var v, w terms
	v.add(0.9, m.v)
	if len(ends) > 0 {
		v.add(1/float64(len(ends)), ends...)
		v.add(-1, m.w)
	}
	if err := m.set(m.v, v); err != nil {
		return nil, err
	}
	w.add(1, m.w)
	if m.mistake == "linear" {
		norm, err := nets.Norm(m.Engine, m.v)
		if err != nil {
			return nil, err
		}
		r.ServerLR /= 1 + norm
	}
	w.add(r.ServerLR, m.v)
	if err := m.set(m.w, w); err != nil || m.mistake == "statistics" {
		return loss, err
	}
	return loss, m.AverageBuffers(m.w, r.Active, ends)
}

func (m *momentumMethod) state(p *parts) {
	m.global.state(p)
	if m.mistake != "state" {
		p.rows("v", m.v)
	}
}

// memoryMethod steps along the mean of the latest updates of all clients, as MIFA does.
type memoryMethod struct {
	global
	y       []nets.Row // [N]
	seen    []bool     // [N]
	mistake string
}

func ownMemory(mistake string) Definition {
	is := Linear | FedAvg | Remembers | MovesWhenEmpty
	switch mistake {
	case "memory":
		is &^= Remembers
	case "empty":
		is &^= MovesWhenEmpty
	}
	return Definition{
		Name: "test-memory", Revision: 1, Is: is, LR: 0.05, ServerLR: 1,
		start: func(s *server, w0 []float32, o Options) (method, error) {
			g, err := newGlobal(s, w0, o)
			if err != nil {
				return nil, err
			}
			y, err := s.Rows(s.N)
			return &memoryMethod{g, y, make([]bool, s.N), mistake}, err
		},
	}
}

func (m *memoryMethod) Round(ctx context.Context, r Round) ([]float32, error) {
	ends, loss, err := m.local(ctx, r)
	if err != nil {
		return nil, err
	}
	for k, i := range r.Active {
		if m.mistake == "place" {
			i = k
		}
		if err := m.subtract(m.y[i], ends[k], m.w); err != nil {
			return nil, err
		}
		m.seen[i] = true
	}
	var w terms
	w.add(1, m.w)
	for i, y := range m.y {
		if m.seen[i] {
			w.add(r.ServerLR/float64(m.N), y)
		}
	}
	if err := m.set(m.w, w); err != nil {
		return nil, err
	}
	return loss, m.AverageBuffers(m.w, r.Active, ends)
}

func (m *memoryMethod) state(p *parts) {
	m.global.state(p)
	if m.mistake != "state" {
		p.flags("seen", each(m.seen)...)
	}
	p.rows("y", m.y...)
}
