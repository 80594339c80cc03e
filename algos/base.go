package algos

import "rollcall/nets"

// Base is what a method of another package stands on, as the methods here stand on server: the federation, rows in the
// engine's memory, and how far each client is in its samples.
type Base struct{ *server }

// NewBase returns a base whose clients have not trained yet.
func NewBase(f Federation) *Base { return &Base{newServer(f)} }

// Rows returns n new rows of zeros. They live until Close.
func (b *Base) Rows(n int) ([]nets.Row, error) { return b.rows(n) }

// Combine sets the weights of dst to Σ c_k·rows_k, added in this order. Terms with c_k = 0 are left out. dst may be
// among the rows. The running statistics of dst stay.
func (b *Base) Combine(dst nets.Row, c []float64, rows []nets.Row) error {
	var sum terms
	sum.addEach(1, c, rows)
	return b.set(dst, sum)
}

// AverageBuffers gives dst the running statistics of the clients whose updates have just entered it: the mean, weighted
// by importance, of those that their local steps ended with, in rows[k] for the k-th client. Without clients, or if
// they have no importance, dst keeps its own.
func (b *Base) AverageBuffers(dst nets.Row, clients []int, rows []nets.Row) error {
	return b.averageBuffers(dst, clients, rows)
}

// Save returns the state of the base: how far the clients are in their samples, and their momentum.
func (b *Base) Save() ([]Array, error) { return save(b.state) }

// Restore loads what Save has returned, into a base that was just made.
func (b *Base) Restore(from Source) error { return restoreState(b.state, from) }
