//go:build gpu && linux && cgo

package gpu

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"rollcall/datasets/plan"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/gpu/crowd"
	"rollcall/nets/gpu/gputest"
	"rollcall/nets/models"
)

// history holds the results of a federation on one engine.
type history struct {
	losses []float32
	rows   [][]float32
	scores []nets.EvalResult
}

func (h *history) same(o *history) bool {
	return slices.Equal(h.losses, o.losses) && slices.Equal(h.scores, o.scores) &&
		slices.EqualFunc(h.rows, o.rows, slices.Equal[[]float32])
}

// federate opens an engine and trains, combines, evaluates, allocates and frees on it, with other numbers for every id.
func federate(
	t *testing.T, m *models.Model, train, test *plan.Samples, o Options, id, clients, rounds int,
) (h *history, err error) {
	e, err := openEngine(m, train, test, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	b, err := e.NewBank(1 + clients)
	if err != nil {
		return nil, err
	}
	h = &history{}
	model := nets.Row{Bank: b}
	if err := e.Load(model, m.Init(models.Kaiming, uint32(id))); err != nil {
		return nil, err
	}
	for round := range rounds {
		work := nets.LocalWork{LR: 0x1p-5, Round: round, Seed: uint32(id)}
		var mean []float64
		var rows []nets.Row
		// Another number of clients and steps every round: graphs are made all along, during the other engines'
		// copies.
		for c := range 1 + (clients-1+round*(1+id%3))%clients {
			end := nets.Row{Bank: b, Index: 1 + c}
			work.Clients = append(work.Clients, nets.ClientWork{
				Client: c, Start: model, End: end, Plan: crowd.Plan(100*id+10*round+c, 1+round%2, o.Batch, o.Batch),
			})
			rows = append(rows, end)
		}
		for range rows {
			mean = append(mean, 1/float64(len(rows)))
		}
		losses, err := e.Train(t.Context(), work)
		if err != nil {
			return nil, fmt.Errorf("round %d: %w", round, err)
		}
		h.losses = append(h.losses, losses...)
		if err := errors.Join(e.Combine(model, mean, rows), e.CombineBuffers(model, mean, rows)); err != nil {
			return nil, err
		}
		extra, err := e.NewBank(1 + id%3)
		if err != nil {
			return nil, err
		}
		w := make([]float32, m.P)
		if err := errors.Join(
			e.Load(nets.Row{Bank: extra}, m.Init(models.Kaiming, 7)), e.Store(model, w),
		); err != nil {
			return nil, err
		}
		extra.Free()
		h.rows = append(h.rows, w)
		scores, err := e.Evaluate(t.Context(), []nets.EvalJob{
			{Row: model, Part: nets.Test},
			{Row: rows[0], Part: nets.Train},
		})
		if err != nil {
			return nil, err
		}
		h.scores = append(h.scores, scores...)
	}
	return h, nil
}

// atOnce runs n federations at the same time and returns their histories.
func atOnce(t *testing.T, n int, run func(id int) (*history, error)) []*history {
	t.Helper()
	all, errs := make([]*history, n), make([]error, n)
	var wait sync.WaitGroup
	for id := range n {
		wait.Go(func() { all[id], errs[id] = run(id) })
	}
	wait.Wait()
	must.OK(t, errors.Join(errs...))
	return all
}

// Engines that share a card, each on a thread of its own, are opened and closed and make graphs while others work.
// They compute the same bytes as one engine after the other.
func TestSideBySide(t *testing.T) {
	gputest.Need(t, "kernels")
	const engines = 4
	for _, c := range []struct {
		net    string
		rounds int
		p      Precision
	}{{"linear-mnist", 10, BF16}, {"linear-synthetic", 10, TF32}, {"lenet5", 2, FP32}} {
		if c.net == "lenet5" && testing.Short() {
			continue
		}
		t.Run(c.net, func(t *testing.T) {
			m := must.Get(models.New(c.net))(t)
			train, test := crowd.Samples(m, crowd.TrainSamples, 1), crowd.Samples(m, crowd.TestSamples, 2)
			one := func(id int) (*history, error) {
				return federate(t, m, train, test, Options{Batch: 2, EvalBatch: 8, Precision: c.p}, id, 5, c.rounds)
			}
			var alone []*history
			for id := range engines {
				alone = append(alone, must.Get(one(id))(t))
			}
			for id, h := range atOnce(t, engines, one) {
				if !h.same(alone[id]) {
					t.Errorf("engine %d of %d: other losses, parameters or scores than alone", id, engines)
				}
			}
		})
	}
}

// Engines on several cards compute the same bytes at the same time as on one card. When one card is lost, its engine
// says so at once and closes, a new engine there is refused, and the others go on.
func TestSeveralCards(t *testing.T) {
	if gputest.Real() {
		t.Skip("left out: this test wants the emulator")
	}
	const clients, rounds = 3, 6
	m := must.Get(models.New("linear-mnist"))(t)
	train, test := crowd.Samples(m, crowd.TrainSamples, 1), crowd.Samples(m, crowd.TestSamples, 2)
	on := func(card, id int) (*history, error) {
		return federate(t, m, train, test, Options{Batch: 2, EvalBatch: 8, Device: card}, id, clients, rounds)
	}
	switch os.Getenv(faulty) {
	case "":
		child(t, t.Name(), "none", "ROLLCALL_EMULATOR_DEVICES=2")
		child(t, t.Name(), "lost", "ROLLCALL_EMULATOR_DEVICES=2", "ROLLCALL_EMULATOR_LOSE_DEVICE=1:60")
	case "none":
		alone := must.Get(on(0, 1))(t)
		for card, h := range atOnce(t, 2, func(card int) (*history, error) { return on(card, 1) }) {
			if !h.same(alone) {
				t.Errorf("card %d of 2: other losses, parameters or scores than on one", card)
			}
		}
	case "lost":
		alone := must.Get(on(0, 1))(t)
		lost := make(chan error, 1)
		go func() {
			_, err := on(1, 1)
			lost <- err
		}()
		beside := must.Get(on(0, 1))(t)
		select {
		case err := <-lost:
			if !DeviceLost(err) || OutOfMemory(err) {
				t.Errorf("error %v on the lost card, want its loss", err)
			}
		case <-time.After(time.Minute):
			t.Fatal("an engine on a lost card hangs")
		}
		if _, err := on(1, 1); !DeviceLost(err) {
			t.Errorf("a new engine on the lost card: %v, want its loss", err)
		}
		if after := must.Get(on(0, 1))(t); !beside.same(alone) || !after.same(alone) {
			t.Error("the other card computes other bytes")
		}
		cards, err := Cards()
		if err != nil || len(cards) != 2 || cards[0].Unusable != "" || cards[1].Unusable == "" {
			t.Errorf("cards %+v, %v, want that the second is unusable", cards, err)
		}
	}
	if DeviceLost(errors.New("gpu: broken")) || DeviceLost(nil) {
		t.Error("an error of another kind, or none, is taken for a loss")
	}
}
