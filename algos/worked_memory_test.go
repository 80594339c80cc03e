package algos

// workedMemory are the methods that keep something of every client, and fedavg-is, which FedAR compares them with.
var workedMemory = []workedCase{
	{"mifa", "mifa", []float64{8, 16, -8, 0}, setValues("memory", "raw"), []step{
		{t: 0, want: 0},                                     // nobody was ever seen
		{t: 1, active: []int{0, 1}, want: 3},                // y = (4, 8, 0, 0)
		{t: 2, want: 6},                                     // the memory goes on
		{t: 3, active: []int{1}, want: 8.25},                // y_1 = 5: 6 + 9/4
		{t: 4, active: []int{2}, serverLR: 2, want: 8.6875}, // y_2 = −8.125: 8.25 + 2·0.875/4
		{t: 5, active: []int{3}, want: 8.6875 - 3.46875/4},  // y_3 = −4.34375: y sums to −3.46875
	}},
	{"mifa by rate", "mifa", []float64{8, 16}, setValues("memory", "rate"), []step{
		{t: 0, active: []int{0}, want: 2},                 // Δ_0 = 4
		{t: 1, active: []int{1}, lr: 0.25, want: 4.75},    // Δ_1 = 3.5, and of Δ_0 the half: 2 + 5.5/2
		{t: 2, lr: 0.125, serverLR: 2, want: 7.5},         // 4.75 + 2·(1 + 1.75)/2
		{t: 3, active: []int{0}, lr: 1, want: 7.5 + 7.25}, // Δ_0 = 0.5, and Δ_1 four times: (0.5 + 14)/2
	}},
	{"mifa-wait by rate", "mifa-wait", []float64{8, 16}, setValues("memory", "rate"), []step{
		{t: 0, active: []int{0}, want: 0},           // Δ_0 = 4
		{t: 1, active: []int{1}, lr: 0.25, want: 3}, // Δ_1 = 4, and of Δ_0 the half: (2 + 4)/2
		{t: 2, lr: 0.5, want: 9},                    // 3 + (4 + 8)/2
	}},
	{
		"mifa-wait: client 2 has p=0", "mifa-wait",
		[]float64{8, 16, -8},
		func(f *Federation, _ *Options) { f.P[2] = 0 },
		[]step{
			{t: 0, active: []int{0}, want: 0},
			{t: 1, want: 0},
			{t: 2, active: []int{0}, want: 0},
			{t: 3, active: []int{1}, want: 4}, // y = (4, 8, 0): 12/3
			{t: 4, want: 8},
			{t: 5, active: []int{0}, want: 8 + 8./3}, // y_0 = 0
		},
	},
	{"mifa-wait: all have p>0", "mifa-wait", []float64{8, 16, -8}, nil, []step{
		{t: 0, active: []int{0}, want: 0},
		{t: 3, active: []int{1}, want: 0},
		{t: 4, active: []int{0, 1}, want: 0},
		{t: 5, want: 0},
		{t: 6, active: []int{2}, want: 8. / 3}, // y = (4, 8, −4), all from w = 0
		{t: 7, want: 16. / 3},
	}},
	{"fedvarp by rate", "fedvarp", []float64{8, 16}, setValues("memory", "rate"), []step{
		{t: 0, active: []int{0}, want: 4},                        // y = 0: Δ_0 = 4
		{t: 1, active: []int{1}, lr: 0.25, want: 8},              // Δ_1 = 3, and the mean of y is 4·½/2
		{t: 2, active: []int{0}, lr: 0.125, want: 8.25},          // Δ_0 = 0: (0 − 4·¼) + (4·¼ + 3·½)/2
		{t: 3, active: []int{1}, serverLR: 2, want: 8.25 + 1.75}, // Δ_1 = 3.875: 2·(3.875 − 6) + 2·(0 + 6)/2
	}},
	{"fedvarp", "fedvarp", []float64{8, 16, -8, 0}, setValues("memory", "raw"), []step{
		{t: 0, active: []int{0, 1}, want: 6},                    // y = 0: plain mean
		{t: 1, active: []int{1, 2}, want: 4},                    // mean(5−8, −7−0) + (4+8)/4 = −2
		{t: 2, want: 4},                                         // nobody: d = 0
		{t: 3, active: []int{3}, serverLR: 0.5, want: 3.25},     // −2 − 0 + (4+5−7)/4 = −1.5
		{t: 4, active: []int{0}, want: 1.625},                   // 2.375 − 4 + 0
		{t: 5, active: []int{0, 1, 2, 3}, want: 1.625 + 1.1875}, // y cancels: mean(u) = 4, half of 2.375
	}},
	// SCAFFOLD, Algorithm 1, option II, three rounds with clients and more, a part of them in each. c_i′ is the
	// client's gradient: c_0 = −8 and c_1 = −16 after t = 0, c_1 = −10 and c_2 = 14 after t = 1, c_0 = −4 and c_3 = 4
	// after t = 3.
	{"scaffold", "scaffold", []float64{8, 16, -8, 0}, nil, []step{
		{t: 0, active: []int{0, 1}, want: 6}, // controls 0: FedAvg. c_0 = −8, c_1 = −16, c = −24/4
		// −10 + 16 − 6 = 0, 14 − 6 = 8: Δ = 0, −4; c = −6 + 20/4
		{t: 1, active: []int{1, 2}, want: 4},
		{t: 2, want: 4}, // nobody
		// −4 + 8 − 1 = 3, 4 − 1 = 3: Δ = −1.5 both; c = −1 + 8/4
		{t: 3, active: []int{0, 3}, serverLR: 0.5, want: 3.25},
		{t: 4, active: []int{2}, want: 4.125}, // 11.25 − 14 + 1 = −1.75
	}},
	{"scaffold: E=2", "scaffold", []float64{8, 0}, func(f *Federation, _ *Options) { f.Planner.E = 2 }, []step{
		{t: 0, active: []int{0}, want: 6},       // 0 → 4 → 6; c_0 = −6/(2·0.5), the mean of −8 and −4; c = −3
		{t: 1, active: []int{1}, want: 3.75},    // 6 → 4.5 → 3.75 with −3; c_1 = 3 + 2.25, c = −3 + 5.25/2
		{t: 2, active: []int{0}, want: 2.71875}, // 3.75 → 3.0625 → 2.71875 with −0.375 + 6
	}},
	// p_i = (1/2, 1/4, 3/4, 1) in every round.
	{
		"fedavg-is: p_i, not p_i^t", "fedavg-is",
		[]float64{8, 16, -8, 0},
		func(f *Federation, _ *Options) { f.P = []float64{0.5, 0.25, 0.75, 1} },
		[]step{
			{t: 0, active: []int{0, 1}, p: []float64{1, 1, 1, 1}, want: 10}, // (4/0.5 + 8/0.25)/4
			{t: 1, active: []int{2}, want: 7},                               // 10 − (9/0.75)/4
			{t: 2, want: 7},                                                 // nobody
			{t: 3, active: []int{0}, serverLR: 2, want: 7.5},                // 7 + 2·(0.5/0.5)/4
		},
	},
	// FedAR, Algorithm 1, ρ = 1, so ψ = min(τ+1, 2), and g = 1 + t/4 with t from 1.
	{"fedar", "fedar", []float64{8, 16, -8, 0}, setValues("fedar-rho", "1", "fedar-t0", "1", "fedar-b", "4"), []step{
		{t: 0, want: 0},                                    // N_t = 0
		{t: 1, active: []int{0, 1}, want: 6},               // (4 + 8)/2
		{t: 2, want: 18},                                   // τ = 1, ψ = 2: 6 + 2·12/2
		{t: 3, active: []int{1}, want: 21.5},               // τ_0 = 2 = g: (2·4 − 1)/2
		{t: 4, active: []int{2}, want: 13.125},             // τ_0 = 3 > 2.25 is out: (−2·1 − 14.75)/2
		{t: 5, active: []int{0}, want: 13.125 - 34.0625/3}, // 0 is back: (−2.5625 − 2·1 − 2·14.75)/3
	}},
	{
		"fedar: too stale, all of them", "fedar",
		[]float64{8, 16},
		setValues("fedar-rho", "0.1", "fedar-t0", "1", "fedar-b", "1000"),
		[]step{
			{t: 0, active: []int{0}, want: 4},
			{t: 1, want: 4 + 4*1.0717734625}, // 2^0.1
			{t: 2, want: 4 + 4*1.0717734625}, // N_t = 0
		},
	},
	// FedAWE, Algorithm 1, without the code's clip. x = (0, 0, 0), τ = (−1, −1, −1).
	{
		"fedawe: mean of all", "fedawe",
		[]float64{8, 16, -8},
		setValues("fedawe-clip", "none", "fedawe-model", "mean"),
		[]step{
			{t: 0, active: []int{0}, want: 4. / 3},  // 1·4: x = (4, 0, 0)
			{t: 1, active: []int{1}, want: 20. / 3}, // 2·8: x = (4, 16, 0)
			{t: 2, want: 20. / 3},
			// 4+3·2 = 10, 16+2·0 = 16, 0+4·(−4) = −16
			{t: 3, active: []int{0, 1, 2}, want: 10. / 3},
			{t: 4, active: []int{2}, serverLR: 0.5, want: (10./3 + 10./3 + 0.5) / 3}, // 10/3 − 0.5·1·17/3 = 0.5
			{t: 5, want: (20./3 + 0.5) / 3},
			{t: 6, active: []int{1}, want: (10./3 + 67./3 + 0.5) / 3}, // 10/3 + 3·19/3
		},
	},
	{
		"fedawe: last of the server", "fedawe",
		[]float64{8, 16, -8},
		setValues("fedawe-clip", "none", "fedawe-model", "last"),
		[]step{
			{t: 0, active: []int{0}, want: 4},
			{t: 1, active: []int{1}, want: 16},
			{t: 2, want: 16},
			{t: 3, active: []int{0, 1, 2}, want: 10. / 3},
			{t: 4, active: []int{2}, serverLR: 0.5, want: 0.5},
			{t: 5, want: 0.5},
			{t: 6, active: []int{1}, want: 67. / 3},
		},
	},
	// Clipped to norm 0.5, that is 0.1·(3, 4).
	{
		"fedawe: clip 0.5", "fedawe",
		[]float64{8, 16, -8},
		setValues("fedawe-clip", "0.5", "fedawe-model", "mean"),
		[]step{
			{t: 0, active: []int{0}, want: 0.1 / 3}, // U = 4
			{t: 1, active: []int{1}, want: 0.2 / 3}, // U = 16
			{t: 2, want: 0.2 / 3},
			// U = (3·3.95 + 2·7.95 − 4·4)/3 = 3.9 is clipped before it is multiplied by η_g: mean x = 0.2/3, + 0.5·0.1
			{t: 3, active: []int{0, 1, 2}, serverLR: 0.5, want: 0.2/3 + 0.05},
		},
	},
	// Clipped to norm 25, that is 5·(3, 4): some rounds reach it, some do not.
	{"fedawe: clip 25", "fedawe", []float64{8, 16, -8}, setValues("fedawe-clip", "25", "fedawe-model", "last"), []step{
		{t: 0, active: []int{0}, want: 4}, // U = 4
		{t: 1, active: []int{1}, want: 5}, // U = 16
		{t: 2, want: 5},
		{t: 3, active: []int{0, 1, 2}, want: 3 + 1./3}, // mean x = 3, U = (3·2 + 2·5.5 − 4·4)/3
		{t: 5, active: []int{0, 2}, want: 0},           // 10/3 + U, U = 2·(7/3 − 17/3)/2 = −10/3
	}},
}
