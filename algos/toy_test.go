package algos

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"rollcall/datasets/plan"
	"rollcall/internal/must"
	"rollcall/nets"
)

// toy is an engine whose clients have the loss ‖w − u_i‖²/2: one plain step is w ← w − η(w − u_i), E of them end in
// u_i + (1−η)^E (w − u_i). It holds float32 rows, as the contract says, and is strict about how it is used. It knows
// weight decay, momentum and drift, but no clipping.
//
// Every row has one running statistic too, of which neither Load nor Store know: a step of client i takes it half of
// the way to 100·i.
type toy struct {
	u       [][]float64 // [N,P]
	planner *plan.Planner
	work    []nets.LocalWork
	jobs    []nets.EvalJob
	banks   []*toyBank
	starts  [][]float32 // where each client of the last Train started
	failing error       // of Train
	rowsMax int         // rows it has memory for
}

type toyBank struct {
	rows    [][]float32
	running []float32
	freed   bool
}

func (b *toyBank) Rows() int { return len(b.rows) }
func (b *toyBank) Free()     { b.freed = true }

func (e *toy) Info() nets.Info { return nets.Info{Engine: "toy", Params: len(e.u[0])} }

func (e *toy) rows() (n int) {
	for _, b := range e.banks {
		if !b.freed {
			n += len(b.rows)
		}
	}
	return n
}

func (e *toy) NewBank(rows int) (nets.Bank, error) {
	if n := e.rows() + rows; rows < 1 || n > e.rowsMax {
		return nil, fmt.Errorf("toy: %d rows in all, want at most %d", n, e.rowsMax)
	}
	b := &toyBank{rows: make([][]float32, rows), running: make([]float32, rows)}
	for i := range b.rows {
		b.rows[i] = make([]float32, len(e.u[0]))
	}
	e.banks = append(e.banks, b)
	return b, nil
}

// at returns a row, and panics on one that is none, out of range or freed: no method may ever name such a row.
func (e *toy) at(r nets.Row) []float32 {
	b := r.Bank.(*toyBank)
	if b.freed {
		panic("toy: row of a freed bank")
	}
	return b.rows[r.Index]
}

func (e *toy) running(r nets.Row) *float32 {
	e.at(r) // panics on a row that is none
	return &r.Bank.(*toyBank).running[r.Index]
}

func (e *toy) CombineBuffers(dst nets.Row, c []float64, src []nets.Row) error {
	sum := float32(0)
	for k, row := range src {
		sum += float32(c[k]) * *e.running(row)
	}
	*e.running(dst) = sum
	return nil
}

func (e *toy) Combine(dst nets.Row, c []float64, src []nets.Row) error {
	sum := make([]float32, len(e.u[0]))
	for k, row := range src {
		if c[k] == 0 {
			return fmt.Errorf("toy: term %d has coefficient 0, which turns Inf into NaN", k)
		}
		for j, x := range e.at(row) {
			sum[j] += float32(c[k]) * x
		}
	}
	copy(e.at(dst), sum)
	return nil
}

func (e *toy) Dot(a, b nets.Row) (float64, error) {
	sum, y := 0.0, e.at(b)
	for j, x := range e.at(a) {
		sum += float64(x) * float64(y[j])
	}
	return sum, nil
}

func (e *toy) Load(r nets.Row, w []float32) error  { copy(e.at(r), w); return nil }
func (e *toy) Store(r nets.Row, w []float32) error { copy(w, e.at(r)); return nil }
func (e *toy) Close() error                        { return nil }

// Evaluate knows the training samples, of which each has the loss of the client that holds it. Sample 1000+i of the
// test part has ten times the loss of client i.
func (e *toy) Evaluate(_ context.Context, jobs []nets.EvalJob) ([]nets.EvalResult, error) {
	e.jobs = append(e.jobs, jobs...)
	results := make([]nets.EvalResult, len(jobs))
	for k, job := range jobs {
		if job.Index == nil {
			return nil, fmt.Errorf("toy: job %d is of a whole part, which no method may ask for", k)
		}
		for _, sample := range job.Index {
			owner, weight := int(sample)-1000, 10.0
			if job.Part == nets.Train {
				has := func(part []int32) bool { return slices.Contains(part, sample) }
				owner, weight = slices.IndexFunc(e.planner.Parts, has), 1
			}
			for j, x := range e.at(job.Row) {
				d := float64(x) - e.u[owner][j]
				results[k].Loss += weight * d * d / 2 / float64(len(job.Index))
			}
		}
		results[k].N = len(job.Index)
	}
	return results, nil
}

func (e *toy) Train(ctx context.Context, work nets.LocalWork) ([]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if e.failing != nil {
		return nil, e.failing
	}
	if len(work.Clients) == 0 {
		return nil, fmt.Errorf("toy: nothing to train")
	}
	for k, c := range work.Clients { // clients run side by side: nobody may write what another reads or writes
		for j, other := range work.Clients {
			if k != j && (c.End == other.Start || c.End == other.End) {
				return nil, fmt.Errorf("toy: client %d ends in a row of client %d", c.Client, other.Client)
			}
		}
	}
	e.work, e.starts = append(e.work, work), nil
	for _, c := range work.Clients {
		e.starts = append(e.starts, slices.Clone(e.at(c.Start)))
	}
	loss := make([]float32, len(work.Clients))
	for k, c := range work.Clients {
		u := e.u[c.Client]
		w, v := make([]float64, len(u)), make([]float64, len(u))
		for j, x := range e.at(c.Start) {
			w[j] = float64(x)
			loss[k] += float32((w[j] - u[j]) * (w[j] - u[j]) / 2)
		}
		if !c.Momentum.IsNone() {
			for j, x := range e.at(c.Momentum) {
				v[j] = float64(x)
			}
		}
		running := *e.running(c.Start)
		for s := range c.Plan.E {
			if c.Plan.Index[s*c.Plan.B] < 0 {
				continue
			}
			running = stepRunning(running, c.Client)
			for j := range w {
				g := w[j] - u[j] + work.WeightDecay*w[j]
				if !c.Drift.IsNone() {
					g += float64(e.at(c.Drift)[j])
				}
				if !c.Momentum.IsNone() {
					v[j] = work.Momentum*v[j] + g
					g = v[j]
				}
				w[j] -= work.LR * g
			}
		}
		*e.running(c.End) = running
		for j := range w {
			e.at(c.End)[j] = float32(w[j])
			if !c.Momentum.IsNone() {
				e.at(c.Momentum)[j] = float32(v[j])
			}
		}
	}
	return loss, nil
}

func stepRunning(running float32, client int) float32 { return (running + 100*float32(client)) / 2 }

// scaled returns the point m·(3, 4), of norm 5|m|. Everything a method does to such points it does to m.
func scaled(m float64) []float64 { return []float64{3 * m, 4 * m} }

// toyFederation returns clients at u_i = u[i]·(3, 4) with two samples each, E = 1, B = 1, p_i = 0.75 (above 1/2, so
// that more-available takes them), α_i = 1/N.
func toyFederation(u ...float64) (Federation, *toy) {
	e := &toy{rowsMax: math.MaxInt}
	parts, p := make([][]int32, len(u)), make([]float64, len(u))
	for i, m := range u {
		e.u = append(e.u, scaled(m))
		parts[i] = []int32{int32(2 * i), int32(2*i + 1)}
		p[i] = 0.75
	}
	e.planner = &plan.Planner{Seed: 1, Parts: parts, E: 1, B: 1}
	return Federation{
		Engine: e, N: len(u), Seed: 1, HistorySeed: 1, Planner: e.planner,
		Importance: equalWeights(len(u)), Pi: p, Lambda: make([]float64, len(u)),
	}, e
}

func equalWeights(n int) []float64 { return slices.Repeat([]float64{1 / float64(n)}, n) }

// with returns o with values for a method, in pairs of name and value. Values of parameters that the method does not
// read are left out, so that one call serves all methods.
func with(o Options, method string, pairs ...string) Options {
	o.Values = maps.Clone(o.Values)
	if o.Values == nil {
		o.Values = Values{}
	}
	for k := 0; k < len(pairs); k += 2 {
		for _, p := range Params() {
			if p.Name == pairs[k] && slices.Contains(p.Methods(), method) {
				o.Values[p.Name] = pairs[k+1]
			}
		}
	}
	return o
}

// withValues returns options with values in pairs of name and value, which the method they are for must read.
func withValues(preset Preset, pairs ...string) Options {
	o := Options{Preset: preset, Values: Values{}}
	for k := 0; k < len(pairs); k += 2 {
		o.Values[pairs[k]] = pairs[k+1]
	}
	return o
}

// keepAll are the parameters under which ca-fed, in either preset, leaves out nobody of a few clients.
var keepAll = []string{
	"kappa", "100", "bias-const", "none", "ca-fed-beta", "1", "ca-fed-tau", "0", "fstar", "min", "losses", "batch",
}

// start begins a method at w = 0.
func start(t checker, name string, f Federation, o Options) Method {
	t.Helper()
	m := must.Get(New(name, f, make([]float32, f.Engine.Info().Params), o))(t)
	t.Cleanup(m.Close)
	return m
}

// model returns the weights the method would have evaluated.
func model(t checker, m Method, f Federation) []float32 {
	t.Helper()
	row := must.Get(m.Model())(t)
	w := make([]float32, f.Engine.Info().Params)
	must.OK(t, f.Engine.Store(row, w))
	return w
}

// near reports whether got is want·(3, 4) to within tol in every coordinate.
func near(got []float32, want, tol float64) bool {
	at := scaled(want)
	return slices.EqualFunc(got, at, func(g float32, w float64) bool { return math.Abs(float64(g)-w) <= tol })
}

// near32 reports whether got is factor·from to within tol of its largest element.
func near32(got, from []float32, factor, tol float64) bool {
	largest := 0.0
	for _, x := range got {
		largest = max(largest, math.Abs(float64(x)))
	}
	return slices.EqualFunc(got, from, func(g, x float32) bool {
		return math.Abs(float64(g)-factor*float64(x)) <= tol*largest
	})
}

// toyTol is for models below 128, which float32 holds to 8e-6, made by a sum of a few.
const toyTol = 2e-5

// at returns round t with the local learning rate 1/2, so that one step halves the distance to u_i.
func at(t int, f Federation, serverLR float64, active ...int) Round {
	return Round{T: t, Active: active, P: f.Pi, LR: 0.5, ServerLR: serverLR}
}
