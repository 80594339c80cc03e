package algos

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/datasets/plan"
)

func TestNames(t *testing.T) {
	want := []string{"fedavg-active", "fedavg-all", "fedavg-known", "fedau", "f3ast", "fedawe", "mifa", "mifa-wait", "fedvarp", "unbiased", "more-available", "adafed", "ca-fed", "fedar", "fedavg-is", "fedavg-s", "scaffold"}
	if got := Names(); !slices.Equal(got, want) {
		t.Errorf("Names() = %v, want %v", got, want)
	}
}

// Appendix J of FedAWE: 0.1 for FedAvg-known and FedAWE, 0.05 for the others, η_g = 1. ToN, table II, CIFAR-10: 0.03, η_g = 1
// and 3 for More available. FedAR, section 6.1: 0.1.
func TestDefaultLR(t *testing.T) {
	for _, name := range Names() {
		want, wantServer := 0.05, 1.0
		switch name {
		case "fedavg-known", "fedawe", "fedar", "fedavg-is", "fedavg-s", "scaffold":
			want = 0.1
		case "unbiased", "adafed", "ca-fed":
			want = 0.03
		case "more-available":
			want, wantServer = 0.03, 3
		}
		if lr, serverLR, err := DefaultLR(name); lr != want || serverLR != wantServer || err != nil {
			t.Errorf("%s: %g, %g, %v, want %g and %g", name, lr, serverLR, err, want, wantServer)
		}
	}
	if _, _, err := DefaultLR("fedavg"); err == nil || !strings.HasPrefix(err.Error(), `algos: method "fedavg": unknown, want one of fedavg-active, `) {
		t.Errorf("unknown method: %v, want an error with the names", err)
	}
}

// η_0/sqrt(t/10 + 1): 1 at t = 0, 1/2 at t = 30, 1/√1.5 at t = 5 (t/10 is not rounded).
func TestDecayedLR(t *testing.T) {
	for round, want := range map[int]float64{0: 0.1, 30: 0.05, 5: 0.1 / math.Sqrt(1.5), 1999: 0.1 / math.Sqrt(200.9)} {
		if got := DecayedLR(0.1, round); math.Abs(got-want) > 1e-16 { // one float64 rounding of 0.1
			t.Errorf("round %d: %.17g, want %.17g ± 1e-16", round, got, want)
		}
	}
}

// The presets differ in the clip, in what is clipped, in the augmentation and in ca-fed's settings; in nothing else.
func TestPresets(t *testing.T) {
	code, paper := Defaults(Code), Defaults(Paper)
	if code.FedAWEClip == nil || *code.FedAWEClip != 0.5 || Code.LocalClip() != nil || Code.Augment() != plan.AugmentPerBatch {
		t.Errorf("code: update clip %v, local clip %v, augment %v, want 0.5, none, per batch", code.FedAWEClip, Code.LocalClip(), Code.Augment())
	}
	if c := Paper.LocalClip(); paper.FedAWEClip != nil || c == nil || *c != 0.5 || Paper.Augment() != plan.AugmentPerSample {
		t.Errorf("paper: update clip %v, local clip %v, augment %v, want none, 0.5, per sample", paper.FedAWEClip, c, Paper.Augment())
	}
	if code.CAFed == nil || *code.CAFed.BiasConst != 1 || paper.CAFed != nil {
		t.Errorf("ca-fed: code %+v, paper %+v, want the code's and nil for the paper's", code.CAFed, paper.CAFed)
	}
	code.FedAWEClip, code.CAFed = nil, nil
	if code != paper || paper != (Options{FedAUCutoff: 50, F3ASTBeta: 0.001, FedAWEModel: MeanOfAll}) {
		t.Errorf("code without its clip %+v, paper %+v, want the same, K = 50, β = 0.001, mean of all", code, paper)
	}
	for _, name := range Presets() {
		if p, err := ParsePreset(name); err != nil || string(p) != name {
			t.Errorf("ParsePreset(%q) = %q, %v", name, p, err)
		}
	}
	if _, err := ParsePreset("cod"); err == nil || err.Error() != `algos: preset "cod": unknown, want code or paper` {
		t.Errorf("got %v, want the two names", err)
	}
}

func TestNewRefuses(t *testing.T) {
	zero, nan := 0, math.NaN()
	for _, c := range []struct {
		name   string
		change func(*Federation, *Options)
		want   string
	}{
		{"no engine", func(f *Federation, _ *Options) { f.Engine = nil }, "algos: federation: no engine or no planner, want both"},
		{"no clients", func(f *Federation, _ *Options) { f.N = 0 }, "algos: federation: 0 clients, want at least 1"},
		{"lengths", func(f *Federation, _ *Options) { f.P = f.P[:1] }, "algos: federation: importance of 2, probabilities of 1, samples of 2 clients, want 2 of each"},
		{"importance", func(f *Federation, _ *Options) { f.Importance = []float64{0.5, 0.6} }, "algos: federation: importance sums to 1.1, want 1"},
		{"importance NaN", func(f *Federation, _ *Options) { f.Importance[1] = nan }, "algos: federation: client 1: importance NaN, want 0 or more"},
		{"probability", func(f *Federation, _ *Options) { f.P[1] = 2 }, "algos: federation: client 1: probability 2, want 0 … 1"},
		{"weight decay", func(f *Federation, _ *Options) { f.WeightDecay = -1 }, "algos: federation: weight decay -1, want 0 or more"},
		{"momentum", func(f *Federation, _ *Options) { f.Momentum = 1 }, "algos: federation: momentum 1, want at least 0 and below 1"},
		{"clip", func(f *Federation, _ *Options) { f.Clip = &nan }, "algos: federation: clip at norm NaN, want positive"},
		{"lambda's length", func(f *Federation, _ *Options) { f.Lambda = []float64{0} }, "algos: federation: lambda of 1 clients, want 2"},
		{"lambda", func(f *Federation, _ *Options) { f.Lambda = []float64{0, nan} }, "algos: federation: client 1: lambda NaN, want −1 … 1"},
		{"server's momentum", func(_ *Federation, o *Options) { o.ServerSGD = &ServerSGD{Momentum: 1} }, "algos: server: momentum 1, want at least 0 and below 1"},
		{"server's decay", func(_ *Federation, o *Options) { o.ServerSGD = &ServerSGD{WeightDecay: nan} }, "algos: server: weight decay NaN, want 0 or more"},
		{"prior", func(_ *Federation, o *Options) { o.Bayes = &Bayes{Form: Code} }, "algos: estimator: prior of 0 rounds, want at least 1"},
		{"estimator", func(_ *Federation, o *Options) { o.Bayes = &Bayes{Prior: 1} }, `algos: estimator: form "": unknown, want paper or code`},
		{"steps", func(f *Federation, _ *Options) { f.Planner.E = 0 }, "plan: E=0 B=1, want both at least 1"},
		{"cut-off", func(_ *Federation, o *Options) { o.FedAUCutoff = 0 }, "algos: fedau: cut-off of 0 rounds, want at least 1"},
		{"beta", func(_ *Federation, o *Options) { o.F3ASTBeta = nan }, "algos: f3ast: beta NaN, want above 0 and at most 1"},
		{"limit", func(_ *Federation, o *Options) { o.F3ASTLimit = &zero }, "algos: f3ast: limit of 0 clients, want at least 1"},
		{"model", func(_ *Federation, o *Options) { o.FedAWEModel = "" }, `algos: fedawe: model "": unknown, want mean or last`},
		{"update clip", func(_ *Federation, o *Options) { o.FedAWEClip = new(float64) }, "algos: fedawe: clip at norm 0, want positive"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, _ := toyFederation(8, 16)
			o := Defaults(Code)
			c.change(&f, &o)
			if _, err := New("fedau", f, make([]float32, 2), o); err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	f, _ := toyFederation(8, 16)
	if _, err := New("fedau", f, make([]float32, 3), Defaults(Code)); err == nil || err.Error() != "algos: fedau: 3 initial weights, want 2" {
		t.Errorf("three weights for P = 2: got %v", err)
	}
	if _, err := New("fedsgd", f, make([]float32, 2), Defaults(Code)); err == nil || !strings.HasPrefix(err.Error(), `algos: method "fedsgd": unknown, want one of `) {
		t.Errorf("unknown method: got %v", err)
	}
}

func TestRoundRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Round)
		want   string
	}{
		{"negative", func(r *Round) { r.T = -1 }, "round -1: negative round, want 0 or more"},
		{"probabilities", func(r *Round) { r.P = nil }, "round 4: 0 probabilities, want 2"},
		{"lr NaN", func(r *Round) { r.LR = math.NaN() }, "round 4: learning rate NaN, want positive"},
		{"lr 0", func(r *Round) { r.LR = 0 }, "round 4: learning rate 0, want positive"},
		{"server lr", func(r *Round) { r.ServerLR = math.Inf(1) }, "round 4: server learning rate +Inf, want positive"},
		{"order", func(r *Round) { r.Active = []int{1, 0} }, "round 4: active client 0 after 1, want ascending in 0 … 1"},
		{"twice", func(r *Round) { r.Active = []int{1, 1} }, "round 4: active client 1 after 1, want ascending in 0 … 1"},
		{"stranger", func(r *Round) { r.Active = []int{0, 2} }, "round 4: active client 2 after 0, want ascending in 0 … 1"},
		{"stranger next", func(r *Round) { r.Next = []int{2} }, "round 4: client 2 in the next round, want 0 … 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, e := toyFederation(8, 16)
			r := at(4, f, 1, 0)
			c.change(&r)
			_, err := start(t, "mifa", f, Defaults(Code)).Round(t.Context(), r)
			if want := fmt.Sprintf("algos: mifa: %s", c.want); err == nil || err.Error() != want {
				t.Errorf("got %v, want %q", err, want)
			}
			if len(e.work) != 0 {
				t.Errorf("trained in spite of it")
			}
		})
	}
}
