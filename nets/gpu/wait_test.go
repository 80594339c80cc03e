//go:build gpu && linux && cgo

package gpu

import (
	"slices"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets/gpu/gputest"
)

// The emulator runs the launches of a graph in another order every time: with all waits the results have the same
// bytes. Where one wait is missing, some order makes them wrong: the test is not for nothing.
func TestMissingWait(t *testing.T) {
	longtest.Only(t, "every wait of a graph left out")
	if gputest.Real() {
		t.Skip("left out: a card may run launches in their order even where nothing makes it")
	}
	t.Setenv(guardVariable, "guard") // else labels lie over floats, and are no classes where a wait is missing
	g, _, m := both(t, "lenet5", 4, Options{EvalBatch: 4, Precision: TF32})
	c := newRound(t, g, m, 2, 4, nil)
	loss, want := c.train(t)
	same := func() bool {
		// The start rows stay, but the rows of momentum are trained: each round starts with fresh ones.
		fresh := newRound(t, g, m, 2, 4, nil)
		l, rows := fresh.train(t)
		return slices.Equal(l, loss) && slices.EqualFunc(rows, want, slices.Equal[[]float32])
	}
	for turn := range 4 {
		if !same() {
			t.Fatalf("turn %d: other bytes than in the first: a wait is missing", turn)
		}
	}
	var w *wave
	for _, w = range g.waves {
	}
	whole, waits := w.exec, w.order().waits
	planted, at := 0, -1
	must.OK(t, w.each(&w.frames[0], func(l launch, _ bool) error {
		at++
		if !slices.Contains([]string{"conv_reduce", "conv_backward_data_tf32", "sgd_tf32"}, l.kernel) {
			return nil
		}
		fewer := slices.Clone(waits)
		fewer[at] = waits[at][1:] // without the wait for the latest
		must.OK(t, g.do(func() (err error) {
			w.exec, err = g.graph(w, fewer)
			return err
		}))
		planted++
		const orders = 20
		turns := 0
		for turns < orders && same() {
			turns++
		}
		if turns == orders {
			t.Errorf("%s of %s, launch %d, need not wait for launch %d: the same bytes in %d orders",
				l.kernel, l.layer, at, waits[at][0], orders)
		}
		must.OK(t, g.do(func() error { return w.exec.Destroy() }))
		return nil
	}))
	w.exec = whole
	if planted < 6 {
		t.Errorf("%d waits were left out, want 6 and more", planted)
	}
}
