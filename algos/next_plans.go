package algos

import (
	"context"
	"sync"

	"rollcall/datasets/plan"
)

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
