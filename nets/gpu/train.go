//go:build gpu && linux && cgo

package gpu

import (
	"context"
	"math"

	"rollcall/nets"
	"rollcall/nets/gpu/driver"
)

// client is the work of one client of a round, checked, and the device addresses of its rows.
type client struct {
	*nets.ClientWork
	rows nets.ClientRows[driver.Ptr]
}

// Train implements [nets.Engine]. It trains the clients in waves, as many clients at a time as memory holds. The
// division into waves changes no result.
func (e *Engine) Train(ctx context.Context, work nets.LocalWork) ([]float32, error) {
	if err := work.Check(ctx, e.options.Batch, e.samples[nets.Train]); err != nil {
		return nil, err
	}
	clients := make([]client, len(work.Clients))
	key := waveKey{programKey: programKey{train: true, clip: work.Clip != nil}}
	for i := range clients {
		c := &work.Clients[i]
		rows, err := nets.LocateRows(c, e.row)
		if err != nil {
			return nil, err
		}
		clients[i] = client{c, rows}
		key.steps = max(key.steps, c.Plan.E)
	}
	loss := make([]float32, len(clients))
	for done := 0; done < len(clients) && key.steps > 0; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := e.do(func() error {
			w, err := e.wave(key, len(clients)-done)
			if err != nil {
				return err
			}
			n := min(w.key.capacity, len(clients)-done) // the wave may be larger or smaller than asked for
			err = e.trainWave(w, &work, clients[done:done+n], loss[done:done+n])
			done += n
			return err
		})
		if err != nil {
			return loss, err
		}
	}
	return loss, nil
}

// trainWave trains clients, at most as many as the wave's capacity, and fills in the losses of their first batches. It
// returns a [nets.DivergedError] for a loss that is not finite.
func (e *Engine) trainWave(w *wave, work *nets.LocalWork, clients []client, first []float32) error {
	e.writeTraining(w, work, clients)
	results, err := e.run(w)
	if err != nil {
		return err
	}
	loss := driver.View[float32](results) // [steps,capacity]
	for k, c := range clients {
		first[k] = loss[k]
		for s := range c.Plan.E {
			if v := float64(loss[s*w.key.capacity+k]); math.IsNaN(v) || math.IsInf(v, 0) {
				return &nets.DivergedError{Round: work.Round, Client: c.Client, Step: s, Loss: v}
			}
		}
	}
	return nil
}
