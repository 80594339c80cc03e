package run

import (
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/algos"
	"rollcall/bench/settings/settingstest"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets"
)

// Nets with batch normalisation train with every method, however rarely the clients are there: losses stay finite, the
// model changes, and no running variance is ever negative. Weights of 1/p_i, echoes, memories and server rates above 1
// would make it so if running statistics were averaged as weights are.
func TestBatchNormalisation(t *testing.T) {
	for _, method := range algos.Names() {
		for _, p := range []string{"0.05", "0.3", "1"} {
			t.Run(method+"/p="+p, func(t *testing.T) {
				rounds := 40
				if !longtest.On() {
					if p != "0.3" {
						t.Skip("left to make test-long: rare clients, and all of them")
					}
					rounds = 2
				}
				normalised(t, 3, "resnet20", rounds, method, append(ratesOf(t, method), "p="+p)...)
			})
		}
	}
}

// ResNet-18 does so too.
func TestBatchNormalisationResNet18(t *testing.T) {
	longtest.Only(t, "a step of ResNet-18 takes a third of a second")
	for _, method := range []string{"fedavg-known", "fedawe", "mifa", "fedar"} {
		t.Run(method, func(t *testing.T) { normalised(t, 3, "resnet18", 40, method, "p=0.3") })
	}
}

// Two runs that once ended in NaN, as their running variances became negative: a single client with the weight 5, and
// an echo of up to 15 rounds.
func TestBatchNormalisationOnceNaN(t *testing.T) {
	longtest.Only(t, "40 rounds of ResNet-20")
	normalised(t, 9, "resnet20", 1, "fedavg-known", "p=0.05", "train-size=400", "test-size=200", "batch=16",
		"local-steps=5")
	normalised(t, 3, "resnet20", 40, "fedawe", "preset=paper", "p=0.15", "train-size=300", "batch=16", "local-steps=5")
}

// normalised trains a net with batch normalisation, and checks the model after every round. more are settings.
func normalised(t *testing.T, seed uint32, net string, rounds int, method string, more ...string) {
	t.Helper()
	s := settingstest.Resolved(t, "data=synthetic train-size=64 test-size=16 clients=4 rounds=40 local-steps=2 "+
		"batch=8 augment=none method="+method+" net="+net, more...)
	ses := &Session{Machine: Machine{Device: "cpu", Threads: 2}, Stderr: io.Discard}
	defer ses.Close() // nothing is written
	must.OK(t, ses.Open(t.Context(), &s, seed))
	f := must.Get(ses.Federate(t.Context(), s, seed, ses.Engine))(t)
	defer f.Method.Close()
	active, w := 0, make([]float32, ses.model.P)
	for r := range rounds {
		n, _ := must.Get2(f.round(t.Context(), r))(t)
		active += n
		row := must.Get(f.Method.Model())(t)
		must.OK(t, ses.Engine.Store(row, w))
		for _, p := range ses.model.Params {
			least := slices.Min(w[p.Offset:][:p.Size])
			negative := strings.HasSuffix(p.Name, "running_var") && least < 0
			if negative || !finite(w[p.Offset:][:p.Size]) {
				t.Fatalf("round %d: %s: least %g, want finite numbers, and no running variance below 0",
					r+1, p.Name, least)
			}
		}
		answers := must.Get(ses.Engine.Evaluate(t.Context(), []nets.EvalJob{{Row: row, Part: nets.Test}}))(t)
		if loss := answers[0].Loss; math.IsNaN(loss) || math.IsInf(loss, 0) {
			t.Fatalf("round %d: test loss %g, want a finite number", r+1, loss)
		}
	}
	// more-available may leave everybody out, and mifa-wait waits for the last client.
	stays := active == 0 || method == "more-available" || method == "mifa-wait"
	if !stays && slices.Equal(w, f.W0) {
		t.Errorf("%d active clients in %d rounds, and the model is the initial one", active, rounds)
	}
}

func finite(w []float32) bool {
	return !slices.ContainsFunc(w, func(v float32) bool { return math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) })
}
