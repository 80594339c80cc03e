//go:build gpu && linux && cgo

package selftest

import (
	"context"
	"fmt"
	"math"
	"slices"

	"rollcall/nets"
	"rollcall/nets/gpu/crowd"
	"rollcall/nets/models"
)

// round is the work of a round, for any engine.
type round struct {
	model        *models.Model
	steps, batch int
	clip         *float64
	start        [2][]float32 // [P], in PyTorch's order
}

// result is what a round leaves.
type result struct {
	loss []float32   // of each client's first batch
	rows [][]float32 // [P] the update of each client, then the momentum of those that have one
}

// same reports whether two results have the same bytes.
func (r result) same(other result) bool {
	return slices.Equal(r.loss, other.loss) && slices.EqualFunc(r.rows, other.rows, slices.Equal[[]float32])
}

func (r *round) train(ctx context.Context, e nets.Engine) (result, error) {
	var banks [4]nets.Bank // start, end, momentum, drift
	for i, rows := range []int{len(r.start), crowd.Clients, crowd.WithMomentum, 1} {
		b, err := e.NewBank(rows)
		if err != nil {
			return result{}, err
		}
		defer b.Free()
		banks[i] = b
	}
	if err := load(e, banks[0], r.start[:]...); err != nil {
		return result{}, err
	}
	// Momentum and drift have the size of a gradient.
	for _, to := range []nets.Row{{Bank: banks[2]}, {Bank: banks[2], Index: 1}, {Bank: banks[3]}} {
		if err := e.Combine(to, []float64{1. / 8}, []nets.Row{{Bank: banks[0], Index: 1}}); err != nil {
			return result{}, err
		}
	}
	work := crowd.Work(banks[0], banks[1], banks[2], banks[3], r.steps, r.batch, r.clip)
	loss, err := e.Train(ctx, work)
	if err != nil {
		return result{}, err
	}
	rows, err := r.rows(e, work)
	return result{loss, rows}, err
}

// load loads parameters into the first rows of a bank.
func load(e nets.Engine, b nets.Bank, rows ...[]float32) error {
	for i, w := range rows {
		if err := e.Load(nets.Row{Bank: b, Index: i}, w); err != nil {
			return err
		}
	}
	return nil
}

// rows reads the updates and the momenta of a round that was trained.
func (r *round) rows(e nets.Engine, work nets.LocalWork) (rows [][]float32, err error) {
	read := func(from nets.Row) []float32 {
		row := make([]float32, r.model.P)
		if err == nil {
			err = e.Store(from, row)
		}
		return row
	}
	for i, w := range work.Clients {
		update := read(w.End)
		for j, v := range r.start[i%2] {
			update[j] -= v
		}
		rows = append(rows, update)
	}
	for _, w := range work.Clients[:crowd.WithMomentum] {
		rows = append(rows, read(w.Momentum))
	}
	return rows, err
}

// evaluate evaluates the round's two start rows: on all test samples, and on some training samples in any order. It
// checks the products of the rows too.
func (r *round) evaluate(ctx context.Context, e nets.Engine) ([]nets.EvalResult, error) {
	b, err := e.NewBank(len(r.start))
	if err != nil {
		return nil, err
	}
	defer b.Free()
	if err := load(e, b, r.start[:]...); err != nil {
		return nil, err
	}
	var jobs []nets.EvalJob
	for i := range r.start {
		row := nets.Row{Bank: b, Index: i}
		for j := range i + 1 {
			if err := checkDot(e, r.model, row, nets.Row{Bank: b, Index: j}, r.start[i], r.start[j]); err != nil {
				return nil, err
			}
		}
		jobs = append(jobs, nets.EvalJob{Row: row, Part: nets.Test},
			nets.EvalJob{Row: row, Part: nets.Train, Index: []int32{5, 39, 5, 0, 1, 2, 3, 4, 6, 7}})
	}
	return e.Evaluate(ctx, jobs)
}

// mostDot is how far the product of two rows may be off, as a part of the sum of magnitudes: it is a sum in float64.
const mostDot = 1e-12

// checkDot compares the product of two rows that an engine computes with that of the rows' weights.
func checkDot(e nets.Engine, m *models.Model, a, b nets.Row, x, y []float32) error {
	got, err := e.Dot(a, b)
	if err != nil {
		return err
	}
	want, scale := 0.0, 0.0
	for _, p := range m.Params {
		for i, v := range x[p.Offset:][:p.Size] {
			if !p.Buffer {
				product := float64(v) * float64(y[p.Offset+i])
				want, scale = want+product, scale+math.Abs(product)
			}
		}
	}
	if !(math.Abs(got-want) <= mostDot*scale) {
		return fmt.Errorf("the product of two rows: %g, want %g", got, want)
	}
	return nil
}
