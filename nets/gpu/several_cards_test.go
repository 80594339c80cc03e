//go:build gpu && linux && cgo

package gpu

import (
	"errors"
	"os"
	"testing"
	"time"

	"rollcall/internal/must"
	"rollcall/nets/gpu/crowd"
	"rollcall/nets/gpu/gputest"
	"rollcall/nets/models"
)

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
		return federate(t, m, train, test, Options{Batch: 2, EvalBatch: 8, Device: card}, id, clients, rounds, noWait)
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
