package algos

import (
	"context"
	"fmt"
	"sync"

	"rollcall/datasets/plan"
	"rollcall/nets"
)

// server is the base of all methods: the federation, how many steps each client has made, and the rows in the engine's
// memory.
type server struct {
	Federation
	taken     []int       // [N] local steps of each client in all rounds so far
	momentum  []nets.Row  // [N] the momentum of each client; nil until clients with momentum train
	ends      []nets.Row  // for the results of local steps, as many as clients ever trained at once
	banks     []nets.Bank // all memory of the method, for Close
	nextPlans nextPlans
}

func newServer(f Federation) *server { return &server{Federation: f, taken: make([]int, f.N)} }

// Rows returns n new rows of zeros. They live until Close.
func (s *server) Rows(n int) ([]nets.Row, error) {
	bank, err := s.Engine.NewBank(n)
	if err != nil {
		return nil, fmt.Errorf("%d rows of %d parameters: %w", n, s.Engine.Info().Params, err)
	}
	s.banks = append(s.banks, bank)
	rows := make([]nets.Row, n)
	for i := range rows {
		rows[i] = nets.Row{Bank: bank, Index: i}
	}
	return rows, nil
}

// grow returns rows with at least n elements. If rows has fewer, it appends new ones, so many that the length at least
// doubles, up to limit. The old rows keep their index and their contents.
func (s *server) grow(rows []nets.Row, n, limit int) ([]nets.Row, error) {
	if n <= len(rows) {
		return rows, nil
	}
	more, err := s.Rows(min(limit, max(n, 2*len(rows))) - len(rows))
	if err != nil {
		return rows, err
	}
	return append(rows, more...), nil
}

// endRows returns k rows for the results of the clients, valid until the next round.
func (s *server) endRows(k int) (ends []nets.Row, err error) {
	s.ends, err = s.grow(s.ends, k, s.N)
	if err != nil {
		return nil, err
	}
	return s.ends[:k], nil
}

// Training is the local training of some clients: from which rows to which, and how.
type Training struct {
	Clients    []int      // [K] ascending
	Start, End []nets.Row // [K] each client's weights before and after; no two clients end in one row
	Drift      []nets.Row // [K] rows that are added to every gradient of a client; nil: nothing is added
	LR         float64    // of the local steps, positive
	Decay      float64    // weight decay beside the federation's, at least 0
	Steps      []int      // [K] local steps, each at least 1; nil: as many as the planner says
}

// Train runs the local steps of w in round r, and returns the loss of each client's first batch before its first step.
// Each client continues in its own samples where its last steps ended. If nobody trains, nothing happens.
func (s *server) Train(ctx context.Context, r Round, w Training) ([]float32, error) {
	if len(w.Clients) == 0 {
		return nil, nil
	}
	if err := s.makeMomentum(); err != nil {
		return nil, err
	}
	steps := w.Steps
	if steps == nil {
		for _, i := range w.Clients {
			steps = append(steps, s.Planner.Steps(i))
		}
	}
	work := nets.LocalWork{
		Round: r.T, Seed: s.Seed, LR: w.LR, WeightDecay: s.WeightDecay + w.Decay, Momentum: s.Momentum, Clip: s.Clip,
	}
	for k, i := range w.Clients {
		if err := ctx.Err(); err != nil { // making plans of many steps takes a while
			return nil, err
		}
		batches := s.nextPlans.take(s.Planner, planKey{r.T, i, s.taken[i], steps[k]})
		c := nets.ClientWork{Client: i, Start: w.Start[k], End: w.End[k], Plan: batches}
		if s.momentum != nil {
			c.Momentum = s.momentum[i]
		}
		if w.Drift != nil {
			c.Drift = w.Drift[k]
		}
		work.Clients = append(work.Clients, c)
	}
	for k, i := range w.Clients {
		s.taken[i] += steps[k]
	}
	s.planNext(ctx, r)
	loss, err := s.Engine.Train(ctx, work)
	s.nextPlans.making.Wait() // so that no goroutine outlives the run
	return loss, err
}

// makeMomentum makes the rows for the momentum of the clients, if the federation has momentum.
func (s *server) makeMomentum() (err error) {
	if s.Momentum > 0 && s.momentum == nil {
		s.momentum, err = s.Rows(s.N)
	}
	return err
}

// planNext starts to make the plans of the next round, while this round trains. If a method then leaves clients out, or
// trains others, the result is the same and only time is lost.
func (s *server) planNext(ctx context.Context, r Round) {
	keys := make([]planKey, len(r.Next))
	for k, i := range r.Next {
		keys[k] = planKey{r.T + 1, i, s.taken[i], s.Planner.Steps(i)}
	}
	s.nextPlans.begin(ctx, s.Planner, keys)
}

// set sets the weights of dst to a sum. dst may be among its rows. The running statistics of dst stay.
func (s *server) set(dst nets.Row, sum terms) error {
	if len(sum.rows) == 1 && sum.rows[0] == dst && sum.c[0] == 1 {
		return nil
	}
	return s.Engine.Combine(dst, sum.c, sum.rows)
}

// averageBuffers gives dst the running statistics Σ α_i b_i / Σ α_i of the clients whose updates have just entered the
// model, where b_i are those that client i's local steps ended with, in rows[k] for the k-th client. Without such
// clients, or if they have no importance, dst keeps its own.
//
// Running statistics are means and variances of a batch, of which only a mean makes sense. So they have no part in
// anything else that a method does to rows: weights that do not sum to 1, such as 1/p_i or η_g, would make variances
// negative.
func (s *server) AverageBuffers(dst nets.Row, clients []int, rows []nets.Row) error {
	total := 0.0
	for _, i := range clients {
		total += s.Importance[i]
	}
	var mean terms
	for k, i := range clients {
		if s.Importance[i] > 0 {
			mean.add(s.Importance[i]/total, rows[k])
		}
	}
	if len(mean.rows) == 0 {
		return nil
	}
	return s.Engine.CombineBuffers(dst, mean.c, mean.rows)
}

// subtract sets the weights of dst to a − b. dst may be a or b.
func (s *server) subtract(dst, a, b nets.Row) error {
	var sum terms
	sum.add(1, a)
	sum.add(-1, b)
	return s.set(dst, sum)
}

// state names the parts that the state of every method has. It leaves out the momentum of clients that never trained,
// which is zero.
func (s *server) state(p *parts) {
	p.ints("taken", each(s.taken), 0, countMax)
	if s.Momentum > 0 {
		p.then(s.makeMomentum)
		p.rows("momentum", chosen(s.momentum, s.trained())...)
	}
}

func (s *server) trained() []bool {
	trained := make([]bool, s.N)
	for i, steps := range s.taken {
		trained[i] = steps > 0
	}
	return trained
}

// Inspect returns nil: a method that makes decisions has a function Inspect of its own.
func (s *server) Inspect() *Decisions { return nil }

// Close frees every row.
func (s *server) Close() {
	for _, b := range s.banks {
		b.Free()
	}
	s.banks = nil
}

// terms is a linear combination of rows, Σ c_k·rows_k, to which terms can be added. A term with coefficient 0 is left
// out: it would cost a pass over the row, and turn an infinite parameter into NaN.
type terms struct {
	c    []float64
	rows []nets.Row
}

func (t *terms) add(c float64, rows ...nets.Row) {
	if c == 0 {
		return
	}
	for _, row := range rows {
		t.c = append(t.c, c)
		t.rows = append(t.rows, row)
	}
}

func (t *terms) addEach(sign float64, c []float64, rows []nets.Row) {
	for k, row := range rows {
		t.add(sign*c[k], row)
	}
}

// Base is what a method of another package stands on, as the methods here stand on server.
type Base struct{ *server }

// NewBase returns a base whose clients have not trained yet.
func NewBase(f Federation) *Base { return &Base{newServer(f)} }

// Combine sets the weights of dst to Σ c_k·rows_k, added in this order. Terms with c_k = 0 are left out. dst may be
// among the rows. The running statistics of dst stay.
func (b *Base) Combine(dst nets.Row, c []float64, rows []nets.Row) error {
	var sum terms
	sum.addEach(1, c, rows)
	return b.set(dst, sum)
}

// Save returns the state of the base: how far the clients are in their samples, and their momentum.
func (b *Base) Save() ([]Array, error) { return save(b.state) }

// Restore loads what Save has returned, into a base that was just made.
func (b *Base) Restore(from Source) error { return restoreState(b.state, from) }

// nextPlans makes the batch plans of the next round while the engine trains this one, so that the engine need not wait
// for them. A plan depends on the round, the client, its steps and those taken so far alone. So a plan made early
// equals the plan made later, and a plan that nobody asks for is dropped.
type nextPlans struct {
	plans  map[planKey]plan.Local // may be read when making is done
	making sync.WaitGroup
}

// planKey is all that the plan of a client depends on; taken counts the steps that the client made before.
type planKey struct{ round, client, taken, steps int }

func (k planKey) plan(p *plan.Planner) plan.Local { return p.Of(k.round, k.client, k.taken, k.steps) }

// begin starts a goroutine that makes the plans of keys, until the context ends.
func (n *nextPlans) begin(ctx context.Context, planner *plan.Planner, keys []planKey) {
	plans := make(map[planKey]plan.Local, len(keys))
	n.plans = plans
	n.making.Go(func() {
		for _, k := range keys {
			if ctx.Err() != nil {
				return
			}
			plans[k] = k.plan(planner)
		}
	})
}

// take returns the plan of k. It waits for plans that are being made, and makes the plan if none was made early.
func (n *nextPlans) take(planner *plan.Planner, k planKey) plan.Local {
	n.making.Wait()
	if p, made := n.plans[k]; made {
		delete(n.plans, k)
		return p
	}
	return k.plan(planner)
}
