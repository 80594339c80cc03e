package algos

import (
	"context"

	"rollcall/datasets/plan"
)

// ahead makes the batch plans of the next round while the engine trains this one. Plans are functions of round, client and
// steps taken alone, so one made ahead is the one that would be made later, and one that nobody asks for is thrown away.
type ahead struct {
	plans map[planKey]plan.Local
	done  chan struct{} // closed when plans is complete; nil: none are being made
}

type planKey struct{ round, client, taken int }

// begin starts to make the plans of these, until the context ends.
func (a *ahead) begin(ctx context.Context, planner *plan.Planner, keys []planKey) {
	a.plans = make(map[planKey]plan.Local, len(keys))
	plans, done := a.plans, make(chan struct{})
	a.done = done
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
func (a *ahead) wait() {
	if a.done != nil {
		<-a.done
		a.done = nil
	}
}

// take returns a plan: the one made ahead if there is one.
func (a *ahead) take(planner *plan.Planner, k planKey) plan.Local {
	a.wait()
	if p, made := a.plans[k]; made {
		delete(a.plans, k)
		return p
	}
	return planner.Client(k.round, k.client, k.taken)
}
