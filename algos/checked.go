package algos

import (
	"context"
	"fmt"

	"rollcall/nets"
)

// checked is every method as users get it: no round begins after the end of the context, and errors say where they come
// from.
type checked struct {
	Method
	name string
}

func (c *checked) Round(ctx context.Context, r Round) (loss []float32, err error) {
	if err = ctx.Err(); err == nil { // a round without clients would not look
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
