package algos

import (
	"context"

	"rollcall/datasets/plan"
)

// nextPlans makes the batch plans of the next round while the engine trains this one.
// Plans are functions of round, client and steps taken alone, so a plan made early is
// the plan that would be made later, and one that nobody asks for is dropped.
type nextPlans struct {
	plans map[planKey]plan.Local
	done  chan struct{} // closed when plans is complete; nil: none are being made
}

type planKey struct{ round, client, taken int }

// begin starts to make the plans of these, until the context ends.
func (n *nextPlans) begin(ctx context.Context, planner *plan.Planner, keys []planKey) {
	n.plans = make(map[planKey]plan.Local, len(keys))
	plans, done := n.plans, make(chan struct{})
	n.done = done
	go func() {
		defer close(done)
		for _, k := range keys {
			if ctx.Err() != nil {
				return
			}
			plans[k] = planner.Client(k.round, k.client, k.taken)
		}
	}()
}

// wait returns once no plan is being made.
func (n *nextPlans) wait() {
	if n.done != nil {
		<-n.done
		n.done = nil
	}
}

// take returns a plan: the one that was made early if there is one.
func (n *nextPlans) take(planner *plan.Planner, k planKey) plan.Local {
	n.wait()
	if p, made := n.plans[k]; made {
		delete(n.plans, k)
		return p
	}
	return planner.Client(k.round, k.client, k.taken)
}
