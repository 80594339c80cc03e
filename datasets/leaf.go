package datasets

import (
	"context"
	"fmt"
	"math"

	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
	"rollcall/internal/files"
)

// The synthetic set of LEAF (Caldas et al. 2019) in the version of CA-Fed's papers (ToN, appendix G1). Every client k
// has its own linear model, and its own mean of the samples.
//
//	u_k ~ N(0, γ), B_k ~ N(0, δ), v_k ~ N(B_k, 1) in R⁶⁰
//	W_k ~ N(u_k, 1) in R^{10×60}, b_k ~ N(u_k, 1) in R¹⁰
//	x ~ N(v_k, Σ), Σ diagonal; y = argmax(W_k x + b_k)
//
// The meaning of N(0, γ) and Σ, and the number n_k of a client's samples, depend on the [Reading]:
//
//	paper  γ and δ are variances, as in N(μ, σ²) elsewhere in the papers; x_j has the standard deviation j^−1.2;
//	       n_k follows the power law P(n_k ≥ n) = 50/n [inferred: the paper prints neither the smallest size nor the
//	       exponent; these give about the median and the mean of the code]
//	code   γ and δ are standard deviations; x_j has the variance j^−1.2; n_k = ⌊LogNormal(4, 2)⌋ + 50
//
// γ changes no label: u_k adds the same u_k·(Σ_j x_j + 1) to all ten scores, in the papers' generator as in the
// released one. At γ = 0 the clients' models are as unlike as at γ = 1.
//
// Two switches of the released generator, in both readings:
//
//	--augmentation  the 7000 samples go to the clients by availability: a more available client has ten times as many
//	                as another, n_k = ⌊10s⌋ and ⌊s⌋ with s = 7000/(10 M + L) for M more and L less available clients
//	--iid           all clients share W_k and b_k, which are N(0, 1), and v_k = B_k in every feature
//
// And one of ours, under which γ is what its name says, and all clients are alike at γ = 0:
//
//	--leaf-shared   W_k = W + γ′Z_k and b_k = b + γ′z_k, W, b, Z_k and z_k being N(0, 1) and γ′ the standard deviation
//	                of the reading; v_k = 0, so that δ has no effect
//
// n_k is limited to 100,000, which affects one client in 12,000 by the code and one in 2,000 by the power law. The
// median of n_k is then 100 by the power law and 105 by the code, and the mean is 430 and 445. The first ⌊0.9 n_k⌋
// samples of a client are for training and the others for testing, in both readings [inferred for the paper].
//
// Stream (0, k, 3) of rng.Generated has client k's parameters in the order n_k, u_k, B_k, v_k, W_k, b_k, and stream
// (0, k, 4) its samples. With --leaf-shared it has n_k, u_k, B_k, Z_k, z_k. Stream (0, 0, 7) has the shared W and b.
const (
	leafFeatures = 60
	leafClasses  = 10
	leafLeast    = 50
	leafMost     = 100_000

	leafTotal      = 7000 // samples of all clients, by availability
	leafProportion = 10   // of the samples of a more available client and of another
)

// Limits of a generated set, against typing errors in the options.
const (
	maxMadeClients = 100_000
	maxMadeSamples = 5_000_000 // 1.2 GB of features
)

type leafModel struct {
	w    [leafClasses][leafFeatures]float64 // W_k
	bias [leafClasses]float64               // b_k
}

// leafClient has the parameters from which a client's samples are drawn.
type leafClient struct {
	n    int                   // n_k
	u, b float64               // u_k, B_k
	v    [leafFeatures]float64 // v_k
	leafModel
}

var leafInfo = Info{
	Name: "leaf", Net: "linear-synthetic", Shape: plan.Shape{H: 1, W: 1, C: leafFeatures, Classes: leafClasses},
	Features: true,
}

// generateLEAF generates the set for o.Seed, o.Clients, o.Reading and the options of leaf.
func generateLEAF(ctx context.Context, o Options) (*Set, error) {
	if err := o.made(); err != nil {
		return nil, err
	}
	for _, p := range []struct {
		name  string
		value float64
	}{{"gamma", o.LeafGamma}, {"delta", o.LeafDelta}} {
		if !(p.value >= 0) || math.IsInf(p.value, 1) {
			return nil, fmt.Errorf("%s %g, want a finite number, 0 or more", p.name, p.value)
		}
	}
	byAvailability, err := leafSizes(&o)
	if err != nil {
		return nil, err
	}
	// All clients are drawn before any sample, so that a set that is too large is refused early.
	clients := make([]leafClient, o.Clients)
	var sizes [2][]int // train and test
	total := 0
	for k := range clients {
		c := newLEAFClient(&o, k)
		if byAvailability != nil {
			c.n = byAvailability[k]
		}
		clients[k] = c
		train := c.n * 9 / 10
		sizes[0], sizes[1] = append(sizes[0], train), append(sizes[1], c.n-train)
		if total += c.n; total > maxMadeSamples {
			return nil, fmt.Errorf("%d clients: more than %d samples, want fewer clients", o.Clients, maxMadeSamples)
		}
	}
	return makeByClient(ctx, "leaf", sizes, leafFeatures, leafClasses, func(k int) func([]float32) uint8 {
		r := rng.Key{Seed: o.Seed, Purpose: rng.Generated}.Stream(0, k, rng.GeneratedStepLEAFSamples)
		return func(x []float32) uint8 { return clients[k].draw(r, o.Reading, x) }
	})
}

// leafSizes returns the n_k [N] of clients that have samples by availability; nil if o.LeafMore is nil. A client needs
// two samples, one of them for testing.
func leafSizes(o *Options) ([]int, error) {
	if o.LeafMore == nil {
		return nil, nil
	}
	if len(o.LeafMore) != o.Clients {
		return nil, fmt.Errorf("more available: %d clients, want all %d", len(o.LeafMore), o.Clients)
	}
	parts := 0
	for _, more := range o.LeafMore {
		if parts++; more {
			parts += leafProportion - 1
		}
	}
	sizes := make([]int, o.Clients)
	for k, more := range o.LeafMore {
		if sizes[k] = leafTotal / parts; more {
			sizes[k] = leafProportion * leafTotal / parts
		}
		if sizes[k] < 2 {
			return nil, fmt.Errorf("%d samples by availability for %d clients: client %d has %d, want 2 at least: "+
				"fewer clients", leafTotal, o.Clients, k, sizes[k])
		}
	}
	return sizes, nil
}

func newLEAFClient(o *Options, k int) leafClient {
	r := rng.Key{Seed: o.Seed, Purpose: rng.Generated}.Stream(0, k, rng.GeneratedStepLEAFModel)
	var c leafClient
	var size float64
	gamma, delta := o.LeafGamma, o.LeafDelta
	if o.Reading == ReadCode {
		size = math.Floor(math.Exp(4+2*r.Normal())) + leafLeast
	} else {
		gamma, delta = math.Sqrt(gamma), math.Sqrt(delta)
		size = math.Floor(leafLeast / (1 - r.Float64()))
	}
	c.n = int(min(size, leafMost))
	c.u, c.b = gamma*r.Normal(), delta*r.Normal()
	if !o.LeafIID && !o.LeafShared {
		drawAround(r, c.b, c.v[:])
		c.leafModel = newLEAFModel(r, c.u)
		return c
	}
	shared := rng.Key{Seed: o.Seed, Purpose: rng.Generated}.Stream(0, 0, rng.GeneratedStepLEAFShared)
	c.leafModel = newLEAFModel(shared, 0)
	if o.LeafShared {
		c.move(newLEAFModel(r, 0), gamma)
		return c
	}
	for j := range c.v {
		c.v[j] = c.b
	}
	return c
}

// move adds scale times another model.
func (m *leafModel) move(by leafModel, scale float64) {
	for o := range m.w {
		for j := range m.w[o] {
			m.w[o][j] += float64(scale * by.w[o][j]) // the conversion rounds, as in draw
		}
		m.bias[o] += float64(scale * by.bias[o])
	}
}

func newLEAFModel(r *rng.Stream, mean float64) (m leafModel) {
	for o := range m.w {
		drawAround(r, mean, m.w[o][:])
	}
	drawAround(r, mean, m.bias[:])
	return m
}

// drawAround draws x ~ N(mean, 1) in every feature.
func drawAround(r *rng.Stream, mean float64, x []float64) {
	for j := range x {
		x[j] = mean + r.Normal()
	}
}

var leafDeviations = map[Reading]*[leafFeatures]float64{ReadPaper: leafPowers(-1.2), ReadCode: leafPowers(-0.6)}

// leafPowers returns j^exponent for the features j = 1, 2, ….
func leafPowers(exponent float64) *[leafFeatures]float64 {
	var d [leafFeatures]float64
	for j := range d {
		d[j] = math.Pow(float64(j+1), exponent)
	}
	return &d
}

// draw draws a sample x [60] and returns its label. The label follows from x after rounding to float32; of equally good
// labels it is the first.
func (c *leafClient) draw(r *rng.Stream, reading Reading, x []float32) uint8 {
	for j, d := range leafDeviations[reading] {
		x[j] = float32(c.v[j] + d*r.Normal())
	}
	best, label := math.Inf(-1), 0
	for o := range c.w {
		z := c.bias[o]
		for j, w := range c.w[o] {
			z += float64(w * float64(x[j])) // the conversion rounds, so that no machine fuses multiply and add
		}
		if z > best {
			best, label = z, o
		}
	}
	return uint8(label)
}

// made checks the options of a set that is generated client by client.
func (o *Options) made() error {
	if o.Clients < 1 || o.Clients > maxMadeClients {
		return fmt.Errorf("%d clients, want 1 … %d", o.Clients, maxMadeClients)
	}
	if o.Reading != ReadPaper && o.Reading != ReadCode {
		return fmt.Errorf("reading %q: unknown, want %s or %s", string(o.Reading), ReadPaper, ReadCode)
	}
	return nil
}

// makeByClient generates a set of real-valued samples, client by client, on all cores. sizes [2][N] has the number of
// training and of test samples of each client. drawer returns a function for one client that draws its next sample into
// x [features] and returns the label; the training samples come first.
func makeByClient(
	ctx context.Context, name string, sizes [2][]int, features, classes int,
	drawer func(client int) func(x []float32) uint8,
) (*Set, error) {
	var parts [2][][]int32
	var samples [2]*plan.Samples
	for part, own := range sizes {
		var n int
		parts[part], n = consecutive(own)
		samples[part] = &plan.Samples{
			Name: name + "/" + partNames[part], H: 1, W: 1, C: features, Classes: classes,
			Features: make([]float32, n*features), Labels: make([]uint8, n),
		}
	}
	err := files.Parallel(ctx, len(sizes[0]), func(k int) {
		draw := drawer(k)
		for part, s := range samples {
			for _, i := range parts[part][k] {
				s.Labels[i] = draw(s.Features[int(i)*features:][:features])
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return &Set{Train: samples[0], Test: samples[1], Split: &Split{Train: parts[0], Test: parts[1]}}, nil
}
