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
			n, err := e.trainWave(key, &work, clients[done:], loss[done:])
			done += n
			return err
		})
		if err != nil {
			return loss, err
		}
	}
	return loss, nil
}

// trainWave trains the first n clients, as many as one wave takes, and fills in the losses of their first batches. It
// returns a [nets.DivergedError] for a loss that is not finite.
func (e *Engine) trainWave(key waveKey, work *nets.LocalWork, clients []client, first []float32) (n int, err error) {
	w, results, err := e.run(key, len(clients), func(w *wave) {
		n = min(w.key.capacity, len(clients)) // the wave may be larger or smaller than asked for
		e.writeTraining(w, work, clients[:n])
	})
	if err != nil {
		return 0, err
	}
	loss := driver.View[float32](results) // of each group [steps,capacity]
	for i, c := range clients[:n] {
		group, k := w.slot(i)
		slots := w.frames[group].capacity
		of := loss[group*slots*w.key.steps+k-group*slots:]
		first[i] = of[0]
		for s := range c.Plan.E {
			if v := float64(of[s*slots]); math.IsNaN(v) || math.IsInf(v, 0) {
				return n, &nets.DivergedError{Round: work.Round, Client: c.Client, Step: s, Loss: v}
			}
		}
	}
	return n, nil
}
