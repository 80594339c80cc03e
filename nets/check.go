package nets

import (
	"context"
	"fmt"

	"rollcall/datasets/plan"
)

// Check returns an error that names the first fault of the work: an index out of range, a plan of other sizes, a row
// that two clients need at once. batch is the batch size B of the engine, samples its training set, nil if it has none.
func (w *LocalWork) Check(ctx context.Context, batch int, samples *plan.Samples) error {
	if samples == nil && len(w.Clients) > 0 {
		return fmt.Errorf("nets: train: the engine was opened without training samples")
	}
	for i := range w.Clients {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.Clients[i].check(batch, samples.Len()); err != nil {
			return err
		}
	}
	return separate(w.Clients)
}

func (c *ClientWork) check(batch, samples int) error {
	p := &c.Plan
	if n := p.E * p.B; p.B != batch || len(p.Index) != n || len(p.Crop) != 2*n || len(p.Flip) != n {
		return fmt.Errorf("nets: train: client %d: plan of E=%d B=%d with %d indices, %d crops, %d flips, want B=%d, "+
			"E·B, 2·E·B, E·B", c.Client, p.E, p.B, len(p.Index), len(p.Crop), len(p.Flip), batch)
	}
	for at, i := range p.Index {
		if int(i) >= samples || i < -1 {
			return fmt.Errorf("nets: train: client %d step %d: sample %d, want −1 … %d", c.Client, at/p.B, i, samples-1)
		}
	}
	for at, v := range p.Crop {
		if v > 2*plan.Pad {
			return fmt.Errorf("nets: train: client %d step %d: crop at %d, want 0 … %d",
				c.Client, at/2/p.B, v, 2*plan.Pad)
		}
	}
	return nil
}

// separate checks that no client writes a row that another client reads or writes: engines train them at the same time.
func separate(clients []ClientWork) error {
	writer := make(map[Row]int, 2*len(clients))
	for i, c := range clients {
		for _, r := range []Row{c.End, c.Momentum} {
			if other, found := writer[r]; found && !r.IsNone() {
				return fmt.Errorf("nets: clients %d and %d write the same row %d",
					clients[other].Client, c.Client, r.Index)
			}
			writer[r] = i
		}
	}
	for i, c := range clients {
		for _, r := range []Row{c.Start, c.Drift} {
			other, found := writer[r]
			if !found || r.IsNone() || other == i && r == c.Start && r == c.End {
				continue // a client may write its end row over its start row
			}
			return fmt.Errorf("nets: client %d reads row %d, which client %d writes",
				c.Client, r.Index, clients[other].Client)
		}
	}
	return nil
}

// Check returns the number of samples of a job, and an error if the job asks for a part or a sample that the engine
// does not have. number is the position of the job in its list, for the error.
func (j *EvalJob) Check(number int, parts []*plan.Samples) (samples int, err error) {
	if j.Part < 0 || int(j.Part) >= len(parts) || parts[j.Part] == nil {
		return 0, fmt.Errorf("nets: evaluate: job %d: part %d, which the engine was not given", number, j.Part)
	}
	n := parts[j.Part].Len()
	if j.Index == nil {
		return n, nil
	}
	for _, i := range j.Index {
		if i < 0 || int(i) >= n {
			return 0, fmt.Errorf("nets: evaluate: job %d: sample %d, want 0 … %d", number, i, n-1)
		}
	}
	return len(j.Index), nil
}
