package algos

import (
	"context"
	"fmt"

	"rollcall/nets"
)

// checked wraps every method that [New] returns. It checks each round before the method runs it, and puts the name of
// the method in front of errors.
type checked struct {
	Method
	name string
	n    int
}

func (c *checked) Round(ctx context.Context, r Round) (loss []float32, err error) {
	err = ctx.Err() // a round without active clients does not check it
	if err == nil {
		err = r.validate(c.n)
	}
	if err == nil {
		loss, err = c.Method.Round(ctx, r)
	}
	if err != nil {
		return nil, fmt.Errorf("algos: %s: round %d: %w", c.name, r.T, err)
	}
	return loss, nil
}

func (c *checked) Model() (nets.Row, error) {
	row, err := c.Method.Model()
	if err != nil {
		return nets.Row{}, fmt.Errorf("algos: %s: model: %w", c.name, err)
	}
	return row, nil
}

func (c *checked) Save(ctx context.Context) ([]Array, error) {
	parts, err := c.Method.Save(ctx)
	if err != nil {
		return nil, fmt.Errorf("algos: %s: state: %w", c.name, err)
	}
	return parts, nil
}

func (c *checked) Restore(from Source) error {
	if err := c.Method.Restore(from); err != nil {
		return fmt.Errorf("algos: %s: state: %w", c.name, err)
	}
	return nil
}

// withLocalModels is implemented by a method whose clients keep models of their own from round to round.
type withLocalModels interface {
	localModels() (rows []nets.Row, of [][]int)
}

// LocalModels returns the models that clients keep from round to round. rows holds the distinct models, and of[k] the
// clients whose model is rows[k], ascending; the model of client 0 comes first. The rows are valid until the next
// Round, and must not be written to. Both are nil for a method without [OwnModels].
func LocalModels(m Method) (rows []nets.Row, of [][]int) {
	if c, is := m.(*checked); is {
		if s, is := c.Method.(stateful); is {
			if with, is := s.method.(withLocalModels); is {
				return with.localModels()
			}
		}
	}
	return nil, nil
}

// Runtime returns the versions of what a method runs on beside this program, by name, such as python and numpy; nil for
// a method in Go.
func Runtime(m Method) map[string]string {
	if c, is := m.(*checked); is {
		if with, is := c.Method.(interface{ Runtime() map[string]string }); is {
			return with.Runtime()
		}
	}
	return nil
}

// validate returns an error that names the first field of r that no method can work with. n is the number of clients.
func (r *Round) validate(n int) error {
	switch {
	case r.T < 0:
		return fmt.Errorf("negative round, want 0 or more")
	case len(r.P) != n:
		return fmt.Errorf("%d probabilities, want %d", len(r.P), n)
	case !isPositive(r.LR):
		return fmt.Errorf("learning rate %g, want positive", r.LR)
	case !isPositive(r.ServerLR):
		return fmt.Errorf("server learning rate %g, want positive", r.ServerLR)
	}
	last := -1
	for _, i := range r.Active {
		if i <= last || i >= n {
			return fmt.Errorf("active client %d after %d, want ascending in 0 … %d", i, last, n-1)
		}
		last = i
	}
	for _, i := range r.Next {
		if i < 0 || i >= n {
			return fmt.Errorf("client %d in the next round, want 0 … %d", i, n-1)
		}
	}
	return nil
}
