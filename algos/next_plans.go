package algos

import (
	"context"
	"sync"

	"rollcall/datasets/plan"
)

// nextPlans makes the batch plans of the next round while the engine trains this one.
// Plans are functions of round, client and steps taken alone, so a plan made early is
// the plan that would be made later, and one that nobody asks for is dropped.
type nextPlans struct {
	plans  map[planKey]plan.Local // complete once making is done
	making sync.WaitGroup
}

type planKey struct{ round, client, taken int }

// begin starts to make the plans of these, until the context ends.
func (n *nextPlans) begin(ctx context.Context, planner *plan.Planner, keys []planKey) {
	plans := make(map[planKey]plan.Local, len(keys))
	n.plans = plans
	n.making.Go(func() {
		for _, k := range keys {
			if ctx.Err() != nil {
				return
			}
			plans[k] = planner.Client(k.round, k.client, k.taken)
		}
	})
}

// take returns a plan: the one that was made early if there is one.
func (n *nextPlans) take(planner *plan.Planner, k planKey) plan.Local {
	n.making.Wait()
	if p, made := n.plans[k]; made {
		delete(n.plans, k)
		return p
	}
	return planner.Client(k.round, k.client, k.taken)
}
