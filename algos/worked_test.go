package algos

import (
	"fmt"
	"testing"
)

// step is one hand-worked round: who is active, and the model afterwards in units of (3, 4).
type step struct {
	t        int
	active   []int
	want     float64
	serverLR float64   // 0: 1
	p        []float64 // nil: the base probabilities
}

// Every client sits at u_i·(3, 4), the model starts at 0, η = 1/2 and E = 1: Δ_i = (u_i − w)/2 from a start at w. All
// lines below follow from that and the formulas of the methods; what is printed is the multiple of (3, 4).
//
// Tolerance 2e-5: the rows are float32, of size below 128, whose unit in the last place is 8e-6, a sum of a few.
const workedTol = 2e-5

func TestWorked(t *testing.T) {
	one, two := 1, 2          // M
	small, large := 0.5, 25.0 // clips
	for _, c := range []struct {
		name, method string
		u            []float64
		change       func(*Federation, *Options)
		steps        []step
	}{
		{"fedavg-active", "fedavg-active", []float64{8, 16, -8}, nil, []step{
			{t: 0, active: []int{0, 1}, want: 6},                                // (4 + 8)/2
			{t: 1, active: []int{2}, want: -1},                                  // 6 + (−8−6)/2
			{t: 2, want: -1},                                                    // nobody
			{t: 3, active: []int{0, 1, 2}, serverLR: 0.5, want: -1 + 0.5*19./6}, // Δ = 4.5, 8.5, −3.5; mean 9.5/3
		}},
		{"fedavg-all", "fedavg-all", []float64{8, 16, -8, 0}, nil, []step{
			{t: 0, active: []int{0, 1}, want: 3},                    // (4 + 8)/4
			{t: 1, active: []int{2}, want: 1.625},                   // 3 − 5.5/4
			{t: 2, want: 1.625},                                     // nobody
			{t: 3, active: []int{3}, serverLR: 2, want: 1.21875},    // 1.625 − 2·0.8125/4
			{t: 4, active: []int{0, 1, 2, 3}, want: 2.609375},       // mean Δ = (4 − 1.21875)/2
			{t: 5, active: []int{0, 1, 2, 3}, want: 3.3046875},      // half way to mean(u) = 4 again
			{t: 6, active: []int{0, 1, 2, 3}, serverLR: 2, want: 4}, // all of the way
		}},
		{"fedavg-known: p_i^t, not p_i", "fedavg-known", []float64{8, 16, -8, 0}, nil, []step{
			{t: 0, active: []int{0, 1}, p: []float64{0.5, 0.25, 1, 1}, want: 10},               // (4/0.5 + 8/0.25)/4
			{t: 1, active: []int{2}, p: []float64{0.5, 0.25, 0.75, 1}, want: 7},                // 10 − (9/0.75)/4
			{t: 2, p: []float64{0, 0, 0, 0}, want: 7},                                          // nobody
			{t: 3, active: []int{0}, p: []float64{1, 0.25, 0.75, 1}, serverLR: 2, want: 7.25},  // 7 + 2·0.5/4
			{t: 4, active: []int{3}, p: []float64{1, 1, 1, 0.125}, serverLR: 1, want: 0},       // 7.25 − (3.625/0.125)/4
			{t: 5, active: []int{0, 3}, p: []float64{0.25, 1, 1, 0.5}, serverLR: 0.5, want: 2}, // 0.5·(4/0.25 + 0)/4
		}},
		// FedAU, Algorithm 2, K = 3. Lists of intervals: client 0 [1], t=2 [1 2], t=3 [1 2 1], t=6 cut off [1 2 1 3];
		// client 1 t=2 cut off [3], t=4 [3 2], t=7 cut off [3 2 3]. Each adds ω(u − w)/4.
		{"fedau: K=3", "fedau", []float64{8, 16}, func(_ *Federation, o *Options) { o.FedAUCutoff = 3 }, []step{
			{t: 0, active: []int{0}, want: 2}, // ω = 1, the list is empty
			{t: 1, want: 2},
			{t: 2, active: []int{0}, want: 3.5},       // ω = 1
			{t: 3, active: []int{0}, want: 5.1875},    // ω = 3/2: 3.5 + 1.5·4.5/4
			{t: 4, active: []int{1}, want: 13.296875}, // ω = 3: 5.1875 + 3·10.8125/4
			{t: 5, want: 13.296875},
			{t: 6, want: 13.296875},
			{t: 7, want: 13.296875},
			{t: 8, want: 13.296875},
			{t: 9, active: []int{0, 1}, want: 13.296875 - 1.75*5.296875/4 + 8./3*2.703125/4}, // ω = 7/4, 8/3
		}},
		// The same rounds with K = 50: at t=4 client 1 was never seen, ω = 1; at t=9 the lists are [1 2 1] and [5].
		{"fedau: K=50", "fedau", []float64{8, 16}, nil, []step{
			{t: 0, active: []int{0}, want: 2},
			{t: 1, want: 2},
			{t: 2, active: []int{0}, want: 3.5},
			{t: 3, active: []int{0}, want: 5.1875},
			{t: 4, active: []int{1}, want: 7.890625}, // 5.1875 + 10.8125/4
			{t: 5, want: 7.890625},
			{t: 6, want: 7.890625},
			{t: 7, want: 7.890625},
			{t: 8, want: 7.890625},
			{t: 9, active: []int{0, 1}, want: 7.890625 + 4./3*0.109375/4 + 5*8.109375/4},
		}},
		// F3AST, Algorithm 1: α = (1/4, 3/4), r = (1/2, 1/4), β = 1/4. After t=0 r = (0.625, 0.1875), after t=1
		// (0.46875, 0.140625), after t=2 (0.6015625, 0.35546875).
		{"f3ast", "f3ast", []float64{8, 16}, f3astCase(nil, false), []step{
			{t: 0, active: []int{0}, want: 1.6}, // (0.25/0.625)·4
			{t: 1, want: 1.6},
			{t: 2, active: []int{0, 1}, want: 1.6 + 0.25/0.6015625*3.2 + 0.75/0.35546875*7.2},
		}},
		{"f3ast: the mean", "f3ast", []float64{8, 16}, f3astCase(nil, true), []step{
			{t: 0, active: []int{0}, want: 1.6},
			{t: 1, want: 1.6},
			{t: 2, active: []int{0, 1}, serverLR: 0.5, want: 1.6 + 0.25*(0.25/0.6015625*3.2+0.75/0.35546875*7.2)},
		}},
		// M = 1: at t=2 the scores α/r are 0.53 and 5.3, client 1 is sampled and client 0 does not count for r:
		// r = (0.3515625, 0.35546875). At t=3 they are 0.71 and 2.1: client 1 again, r_1 = 0.75·0.35546875 + 0.25.
		{"f3ast: M=1", "f3ast", []float64{8, 16}, f3astCase(&one, false), []step{
			{t: 0, active: []int{0}, want: 1.6},
			{t: 1, want: 1.6},
			{t: 2, active: []int{0, 1}, want: 1.6 + 0.75/0.35546875*7.2},
			{t: 3, active: []int{0, 1}, want: 16.791208791 - 0.75/0.5166015625*0.3956043956},
		}},
		{"f3ast: M=N", "f3ast", []float64{8, 16}, f3astCase(&two, false), []step{
			{t: 2, active: []int{0, 1}, want: 0.25/0.625*4 + 0.75/0.4375*8},
		}},
		// CA-Fed's code: r = (0.75·p_i + 0.25 if there), (0.625, 0.4375), whatever came before.
		{"f3ast: no memory", "f3ast", []float64{8, 16}, memoryless(nil), []step{
			{t: 0, active: []int{0}, want: 1.6},
			{t: 1, want: 1.6},
			{t: 2, active: []int{0, 1}, want: 1.6 + 0.4*3.2 + 0.75/0.4375*7.2},
		}},
		{"f3ast: no memory, M=1", "f3ast", []float64{8, 16}, memoryless(&one), []step{
			{t: 0, active: []int{0}, want: 1.6},
			{t: 2, active: []int{0, 1}, want: 1.6 + 0.75/0.4375*7.2}, // scores α/r 0.4 and 1.71
		}},
		// α/π = (0.25/0.5, 0.75/0.75).
		{"unbiased", "unbiased", []float64{8, 16}, weightedCase(nil), []step{
			{t: 0, active: []int{0}, want: 2},                            // 0.5·4
			{t: 1, active: []int{0, 1}, want: 10.5},                      // 2 + 0.5·3 + 7
			{t: 2, want: 10.5},                                           // nobody
			{t: 3, active: []int{1}, serverLR: 0.5, want: 11.875},        // 10.5 + 0.5·2.75
			{t: 4, active: []int{0}, serverLR: 2, want: 9.9375},          // 11.875 − 2·0.5·1.9375
			{t: 5, active: []int{0}, p: []float64{1, 1}, want: 9.453125}, // π_i, not p_i^t: 9.9375 − 0.5·0.96875
		}},
		{"more-available", "more-available", []float64{8, 16}, weightedCase(nil), []step{
			{t: 0, active: []int{0}, want: 0},                 // π_0 = 1/2 is not above it
			{t: 1, active: []int{0, 1}, want: 8},              // q_1 = 1
			{t: 2, want: 8},                                   // nobody
			{t: 3, active: []int{1}, serverLR: 0.5, want: 10}, // 8 + 0.5·4
		}},
		{"adafed", "adafed", []float64{8, 16}, weightedCase(nil), []step{
			{t: 0, active: []int{0}, want: 4},                            // q = 1
			{t: 1, active: []int{0, 1}, want: 4 + 2./3 + 4},              // q = (1/3, 2/3)
			{t: 2, want: 26. / 3},                                        // nobody
			{t: 3, active: []int{1}, serverLR: 0.5, want: 26./3 + 11./6}, // q = 1: half of (16 − 26/3)/2
		}},
		// Server SGD with momentum 0.5 and weight decay 0.1; q as for unbiased.
		{"unbiased: server SGD", "unbiased", []float64{8, 16}, weightedCase(&ServerSGD{0.5, 0.1}), []step{
			{t: 0, active: []int{0}, want: 2},                     // v = −2
			{t: 1, want: 2},                                       // nobody: v stays
			{t: 2, active: []int{0, 1}, want: 11.3},               // v = −1 − 8.5 + 0.2
			{t: 3, active: []int{1}, serverLR: 0.5, want: 14.235}, // v = −4.65 − 2.35 + 1.13
		}},
		// CA-Fed, Algorithm 1, two clients at α = 1/2, π = 1/2, so q = (1, 1); λ = (0, 0.5), so client 1 is tried first. At m·(3, 4)
		// client i's loss is 12.5 (m − u_i)². κ̄² = 1/16: ε = G/S + d_TV²·Γ̂′/4.
		{"ca-fed", "ca-fed", []float64{8, 16}, cafedCase(DefaultCAFed(Paper), 1./16, 0), []step{
			{t: 0, active: []int{0, 1}, want: 12}, // gaps 0: all stay
			{t: 1, active: []int{0, 1}, want: 12}, // losses fell to (200, 200): gaps 0; Δ = (−2, 2)
			{t: 2, active: []int{0}, want: 10},
			{t: 3, active: []int{1}, want: 10},   // F̂_1 = 450, gap 250: ε = 125 → 0 + 0.25·250/4 = 15.625 without client 1
			{t: 4, active: []int{0, 1}, want: 9}, // the same, Δ_0 = −1
			{t: 5, want: 9},
		}},
		{"ca-fed: κ̄²=1", "ca-fed", []float64{8, 16}, cafedCase(DefaultCAFed(Paper), 1, 0), []step{
			{t: 0, active: []int{0, 1}, want: 12},
			{t: 1, active: []int{0, 1}, want: 12},
			{t: 2, active: []int{0}, want: 10},
			{t: 3, active: []int{1}, want: 13}, // ε = 125 → 250 without client 1, 250 + 250 without client 0
		}},
		{"ca-fed: τ=109", "ca-fed", []float64{8, 16}, cafedCase(DefaultCAFed(Paper), 1./16, 109), []step{
			{t: 1, active: []int{0, 1}, want: 12},
			{t: 2, active: []int{0, 1}, want: 12},
			{t: 3, active: []int{0}, want: 10},
			{t: 4, active: []int{1}, want: 10}, // ε falls by 109.375
		}},
		{"ca-fed: τ=110", "ca-fed", []float64{8, 16}, cafedCase(DefaultCAFed(Paper), 1./16, 110), []step{
			{t: 1, active: []int{0, 1}, want: 12},
			{t: 2, active: []int{0, 1}, want: 12},
			{t: 3, active: []int{0}, want: 10},
			{t: 4, active: []int{1}, want: 13}, // ε falls by 109.375
		}},
		// The code: F* = 0, ε = G/S + d_TV²·Γ̂′.
		{"ca-fed: code", "ca-fed", []float64{8, 16}, cafedCase(DefaultCAFed(Code), 77, 0), []step{
			{t: 0, active: []int{0, 1}, want: 4}, // F̂ = (800, 3200): 2000 → 800 + 800 without client 1
			{t: 1, active: []int{0}, want: 6},    // (200, 3200): 1700 → 1000
			{t: 2, active: []int{1}, want: 6},    // (200, 1250): 725 → 512.5
			{t: 3, active: []int{0}, want: 7},    // (50, 1250): 650 → 362.5
		}},
		{"ca-fed: unseen clients start at the mean", "ca-fed", []float64{8, 16}, cafedCase(DefaultCAFed(Code), 77, 0), []step{
			{t: 0, want: 0},
			{t: 1, active: []int{1}, want: 8},  // F̂ = (3200, 3200): 3200 → 4000 without either
			{t: 2, active: []int{1}, want: 12}, // (3200, 800): 2000 → 3200 + 800 without 1, 800 + 800 without client 0
			{t: 3, active: []int{0}, want: 10}, // (200, 800): 500 → 200 + 200 without client 1, who is tried first
			{t: 4, active: []int{1}, want: 10}, // (200, 450): 325 → 312.5
		}},
		{"mifa", "mifa", []float64{8, 16, -8, 0}, nil, []step{
			{t: 0, want: 0},                                     // nobody was ever seen
			{t: 1, active: []int{0, 1}, want: 3},                // y = (4, 8, 0, 0)
			{t: 2, want: 6},                                     // the memory goes on
			{t: 3, active: []int{1}, want: 8.25},                // y_1 = 5: 6 + 9/4
			{t: 4, active: []int{2}, serverLR: 2, want: 8.6875}, // y_2 = −8.125: 8.25 + 2·0.875/4
			{t: 5, active: []int{3}, want: 8.6875 - 3.46875/4},  // y_3 = −4.34375: y sums to −3.46875
		}},
		{"mifa-wait: client 2 has p=0", "mifa-wait", []float64{8, 16, -8}, func(f *Federation, _ *Options) { f.P[2] = 0 }, []step{
			{t: 0, active: []int{0}, want: 0},
			{t: 1, want: 0},
			{t: 2, active: []int{0}, want: 0},
			{t: 3, active: []int{1}, want: 4}, // y = (4, 8, 0): 12/3
			{t: 4, want: 8},
			{t: 5, active: []int{0}, want: 8 + 8./3}, // y_0 = 0
		}},
		{"mifa-wait: all have p>0", "mifa-wait", []float64{8, 16, -8}, nil, []step{
			{t: 0, active: []int{0}, want: 0},
			{t: 3, active: []int{1}, want: 0},
			{t: 4, active: []int{0, 1}, want: 0},
			{t: 5, want: 0},
			{t: 6, active: []int{2}, want: 8. / 3}, // y = (4, 8, −4), all from w = 0
			{t: 7, want: 16. / 3},
		}},
		{"fedvarp", "fedvarp", []float64{8, 16, -8, 0}, nil, []step{
			{t: 0, active: []int{0, 1}, want: 6},                    // y = 0: plain mean
			{t: 1, active: []int{1, 2}, want: 4},                    // mean(5−8, −7−0) + (4+8)/4 = −2
			{t: 2, want: 4},                                         // nobody: d = 0
			{t: 3, active: []int{3}, serverLR: 0.5, want: 3.25},     // −2 − 0 + (4+5−7)/4 = −1.5
			{t: 4, active: []int{0}, want: 1.625},                   // 2.375 − 4 + 0
			{t: 5, active: []int{0, 1, 2, 3}, want: 1.625 + 1.1875}, // y cancels: mean(u) = 4, half of 2.375
		}},
		// SCAFFOLD, Algorithm 1, option II, three rounds with clients and more, a part of them in each. c_i′ is the client's gradient.
		{"scaffold", "scaffold", []float64{8, 16, -8, 0}, nil, []step{
			{t: 0, active: []int{0, 1}, want: 6},                   // controls 0: FedAvg. c_0 = −8, c_1 = −16, c = −24/4
			{t: 1, active: []int{1, 2}, want: 4},                   // −10 + 16 − 6 = 0, 14 − 6 = 8: Δ = 0, −4; c_1 = −10, c_2 = 14, c = −6 + 20/4
			{t: 2, want: 4},                                        // nobody
			{t: 3, active: []int{0, 3}, serverLR: 0.5, want: 3.25}, // −4 + 8 − 1 = 3, 4 − 1 = 3: Δ = −1.5 both; c_0 = −4, c_3 = 4, c = −1 + 8/4
			{t: 4, active: []int{2}, want: 4.125},                  // 11.25 − 14 + 1 = −1.75
		}},
		{"scaffold: E=2", "scaffold", []float64{8, 0}, func(f *Federation, _ *Options) { f.Planner.E = 2 }, []step{
			{t: 0, active: []int{0}, want: 6},       // 0 → 4 → 6; c_0 = −6/(2·0.5), the mean of −8 and −4; c = −3
			{t: 1, active: []int{1}, want: 3.75},    // 6 → 4.5 → 3.75 with −3; c_1 = 3 + 2.25, c = −3 + 5.25/2
			{t: 2, active: []int{0}, want: 2.71875}, // 3.75 → 3.0625 → 2.71875 with −0.375 + 6
		}},
		// p_i = (1/2, 1/4, 3/4, 1) in every round.
		{"fedavg-is: p_i, not p_i^t", "fedavg-is", []float64{8, 16, -8, 0}, func(f *Federation, _ *Options) { f.P = []float64{0.5, 0.25, 0.75, 1} }, []step{
			{t: 0, active: []int{0, 1}, p: []float64{1, 1, 1, 1}, want: 10}, // (4/0.5 + 8/0.25)/4
			{t: 1, active: []int{2}, want: 7},                               // 10 − (9/0.75)/4
			{t: 2, want: 7},                                                 // nobody
			{t: 3, active: []int{0}, serverLR: 2, want: 7.5},                // 7 + 2·(0.5/0.5)/4
		}},
		// FedAR, Algorithm 1, ρ = 1, so ψ = min(τ+1, 2), and g = 1 + t/4 with t from 1.
		{"fedar", "fedar", []float64{8, 16, -8, 0}, fedarCase(FedAR{Rho: 1, T0: 1, B: 4}), []step{
			{t: 0, want: 0},                                    // N_t = 0
			{t: 1, active: []int{0, 1}, want: 6},               // (4 + 8)/2
			{t: 2, want: 18},                                   // τ = 1, ψ = 2: 6 + 2·12/2
			{t: 3, active: []int{1}, want: 21.5},               // τ_0 = 2 = g: (2·4 − 1)/2
			{t: 4, active: []int{2}, want: 13.125},             // τ_0 = 3 > 2.25 is out: (−2·1 − 14.75)/2
			{t: 5, active: []int{0}, want: 13.125 - 34.0625/3}, // 0 is back: (−2.5625 − 2·1 − 2·14.75)/3
		}},
		{"fedar: too stale, all of them", "fedar", []float64{8, 16}, fedarCase(FedAR{Rho: 0.1, T0: 1, B: 1000}), []step{
			{t: 0, active: []int{0}, want: 4},
			{t: 1, want: 4 + 4*1.0717734625}, // 2^0.1
			{t: 2, want: 4 + 4*1.0717734625}, // N_t = 0
		}},
		// FedAWE, Algorithm 1, without the code's clip. x = (0, 0, 0), τ = (−1, −1, −1).
		{"fedawe: mean of all", "fedawe", []float64{8, 16, -8}, fedaweCase(nil, MeanOfAll), []step{
			{t: 0, active: []int{0}, want: 4. / 3},  // 1·4: x = (4, 0, 0)
			{t: 1, active: []int{1}, want: 20. / 3}, // 2·8: x = (4, 16, 0)
			{t: 2, want: 20. / 3},
			{t: 3, active: []int{0, 1, 2}, want: 10. / 3},                            // 4+3·2 = 10, 16+2·0 = 16, 0+4·(−4) = −16
			{t: 4, active: []int{2}, serverLR: 0.5, want: (10./3 + 10./3 + 0.5) / 3}, // 10/3 − 0.5·1·17/3 = 0.5
			{t: 5, want: (20./3 + 0.5) / 3},
			{t: 6, active: []int{1}, want: (10./3 + 67./3 + 0.5) / 3}, // 10/3 + 3·19/3
		}},
		{"fedawe: last of the server", "fedawe", []float64{8, 16, -8}, fedaweCase(nil, LastServer), []step{
			{t: 0, active: []int{0}, want: 4},
			{t: 1, active: []int{1}, want: 16},
			{t: 2, want: 16},
			{t: 3, active: []int{0, 1, 2}, want: 10. / 3},
			{t: 4, active: []int{2}, serverLR: 0.5, want: 0.5},
			{t: 5, want: 0.5},
			{t: 6, active: []int{1}, want: 67. / 3},
		}},
		// Clipped to norm 0.5, that is 0.1·(3, 4).
		{"fedawe: clip 0.5", "fedawe", []float64{8, 16, -8}, fedaweCase(&small, MeanOfAll), []step{
			{t: 0, active: []int{0}, want: 0.1 / 3}, // U = 4
			{t: 1, active: []int{1}, want: 0.2 / 3}, // U = 16
			{t: 2, want: 0.2 / 3},
			// U = (3·3.95 + 2·7.95 − 4·4)/3 = 3.9 is clipped before it is multiplied by η_g: mean x = 0.2/3, + 0.5·0.1
			{t: 3, active: []int{0, 1, 2}, serverLR: 0.5, want: 0.2/3 + 0.05},
		}},
		// Clipped to norm 25, that is 5·(3, 4): some rounds reach it, some do not.
		{"fedawe: clip 25", "fedawe", []float64{8, 16, -8}, fedaweCase(&large, LastServer), []step{
			{t: 0, active: []int{0}, want: 4}, // U = 4
			{t: 1, active: []int{1}, want: 5}, // U = 16
			{t: 2, want: 5},
			{t: 3, active: []int{0, 1, 2}, want: 3 + 1./3}, // mean x = 3, U = (3·2 + 2·5.5 − 4·4)/3
			{t: 5, active: []int{0, 2}, want: 0},           // 10/3 + U, U = 2·(7/3 − 17/3)/2 = −10/3
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, _ := toyFederation(c.u...)
			o := Defaults(Paper)
			if c.change != nil {
				c.change(&f, &o)
			}
			m := start(t, c.method, f, o)
			for _, s := range c.steps {
				r := at(s.t, f, 1, s.active...)
				if s.serverLR != 0 {
					r.ServerLR = s.serverLR
				}
				if s.p != nil {
					r.P = s.p
				}
				if _, err := m.Round(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				if got := model(t, m, f); !near(got, s.want, workedTol) {
					t.Errorf("round %d, active %v: model %v, want %v ± %g", s.t, s.active, got, scaled(s.want), workedTol)
				}
			}
		})
	}
}

func f3astCase(limit *int, mean bool) func(*Federation, *Options) {
	return func(f *Federation, o *Options) {
		f.Importance, f.P = []float64{0.25, 0.75}, []float64{0.5, 0.25}
		o.F3ASTBeta, o.F3ASTLimit, o.F3ASTMean = 0.25, limit, mean
	}
}

func memoryless(limit *int) func(*Federation, *Options) {
	return func(f *Federation, o *Options) {
		f3astCase(limit, false)(f, o)
		o.F3ASTMemoryless = true
	}
}

func weightedCase(sgd *ServerSGD) func(*Federation, *Options) {
	return func(f *Federation, o *Options) {
		f.Importance, f.P = []float64{0.25, 0.75}, []float64{0.5, 0.75}
		o.ServerSGD = sgd
	}
}

func cafedCase(settings CAFed, kappaBar2, tau float64) func(*Federation, *Options) {
	return func(f *Federation, o *Options) {
		f.P, f.Lambda = []float64{0.5, 0.5}, []float64{0, 0.5}
		settings.KappaBar2, settings.Tau = kappaBar2, tau
		o.CAFed = &settings
	}
}

func fedarCase(settings FedAR) func(*Federation, *Options) {
	return func(_ *Federation, o *Options) { o.FedAR = &settings }
}

func fedaweCase(clip *float64, model FedAWEModel) func(*Federation, *Options) {
	return func(_ *Federation, o *Options) { o.FedAWEClip, o.FedAWEModel = clip, model }
}

// With everybody there in every round and p = 1 all methods are FedAvg: w − ū shrinks by 1 − η_g(1 − (1−η)^E) a round.
func TestFullParticipation(t *testing.T) {
	for _, name := range Names() {
		for _, serverLR := range []float64{1, 0.5} {
			t.Run(fmt.Sprintf("%s/serverLR=%g", name, serverLR), func(t *testing.T) {
				f, _ := toyFederation(8, 16, -8, 0) // ū = 4
				f.P = []float64{1, 1, 1, 1}
				f.Planner.E = 2
				o := Defaults(Paper)
				o.FedAvgSLimit = &f.N
				m := start(t, name, f, o)
				want := 4.0 // w − ū is −want
				for r := range 6 {
					if _, err := m.Round(t.Context(), at(r, f, serverLR, 0, 1, 2, 3)); err != nil {
						t.Fatal(err)
					}
					want *= 1 - serverLR*0.75
					if got := model(t, m, f); !near(got, 4-want, workedTol) {
						t.Errorf("round %d: model %v, want %v ± %g", r, got, scaled(4-want), workedTol)
					}
				}
			})
		}
	}
}
