// Package modelstest draws random nets, and computes their loss in the plainest loops, for tests of the engines.
package modelstest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"rollcall/datasets/plan"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/models"
)

// Batch is the number of samples of a case.
const Batch = 3

// margin is how far every number must be from where a ReLU or a maximum changes sides, so that programs that round
// differently have the same gradient.
const margin = 3e-6

// Case is a net, its weights, and a batch of samples for a step.
type Case struct {
	Text    string
	Model   *models.Model
	Weights []float32     // [P] in PyTorch's order
	Samples *plan.Samples // Batch samples of features, which no engine changes
}

// Draw draws a net with at most six layers of few channels, for samples of a size of its own.
func Draw(seed uint64) *Case {
	r := rand.New(rand.NewPCG(seed, 52))
	for {
		shape := plan.Shape{H: 2 + r.IntN(11), W: 2 + r.IntN(11), C: 1 + r.IntN(5), Classes: 2 + r.IntN(11)}
		if r.IntN(12) == 0 {
			shape.H, shape.W = 1, 1
		}
		text := draw(r)
		m, err := models.Describe(text, shape)
		if err != nil { // most often: no maps are left
			continue
		}
		if c := Fill(m, seed, r); c != nil {
			return c
		}
	}
}

// Fill draws weights of a net, and samples that keep every number away from where a gradient jumps; nil if it finds
// none.
func Fill(m *models.Model, seed uint64, r *rand.Rand) *Case {
	c := &Case{Text: models.LayersOf(m), Model: m, Weights: m.Init(models.Torch, uint32(seed))}
	for _, p := range m.Params {
		if len(p.Shape) > 1 {
			continue
		}
		for i := range p.Size { // a scale of 1 and a shift of 0 would hide errors
			c.Weights[p.Offset+i] += float32(0.2 * (r.Float64() - 0.5))
		}
	}
	for range 20 {
		c.samples(r)
		if _, near := c.Loss(c.wide()); near > margin {
			return c
		}
	}
	return nil
}

// draw returns a text, which need not fit.
func draw(r *rand.Rand) string {
	var layers []string
	add := func(format string, args ...any) { layers = append(layers, fmt.Sprintf(format, args...)) }
	last := ""
	for range min(r.IntN(10), 1+r.IntN(3)) { // a tenth have none
		last = "conv"
		switch rows, columns := 1+r.IntN(5), 1+r.IntN(5); {
		case r.IntN(3) == 0:
			last = "block"
			add("block %d stride %d", 1+r.IntN(5), 1+r.IntN(2))
		default:
			if r.IntN(3) > 0 {
				columns = rows
			}
			add("conv %d %dx%d stride %d pad %d %s", 1+r.IntN(6), rows, columns, 1+r.IntN(5)/3+r.IntN(5)/4,
				r.IntN(min(rows, columns)), []string{"", "pool", "pool", "norm", "norm relu"}[r.IntN(5)])
		}
	}
	if last == "block" || last != "" && r.IntN(4) == 0 {
		add("average")
	}
	for range r.IntN(4) {
		if r.IntN(3) == 0 {
			add("dropout %g", []float64{0.1, 0.25, 0.5}[r.IntN(3)])
		} else {
			add("linear %d", 1+r.IntN(9))
		}
	}
	if layers == nil {
		return "none"
	}
	return strings.Join(layers, ", ")
}

// samples draws samples.
func (c *Case) samples(r *rand.Rand) {
	m := c.Model
	s := &plan.Samples{Name: "random", H: m.H, W: m.W, C: m.C, Classes: m.Classes}
	for range Batch {
		s.Labels = append(s.Labels, uint8(r.IntN(m.Classes)))
	}
	for range Batch * m.Pixels() {
		s.Features = append(s.Features, float32(r.NormFloat64()))
	}
	c.Samples = s
}

// Draw0 is the step of which [Case.Loss] has the dropout masks.
var Draw0 = kernels.Draw{Seed: 8, Round: 4, Client: 5}

// Plan returns the plan of one step on the samples.
func Plan() plan.Local {
	l := plan.Local{E: 1, B: Batch, Crop: make([]uint8, 2*Batch), Flip: make([]uint8, Batch)}
	for i := range Batch {
		l.Index = append(l.Index, int32(i))
	}
	return l
}

func (c *Case) wide() []float64 {
	var w []float64
	for _, v := range c.Weights {
		w = append(w, float64(v))
	}
	return w
}

// maps are feature maps [Batch,C,H,W], or features with h = 0.
type maps struct {
	x       [][]float64
	c, h, w int
}

// naive computes a loss.
type naive struct {
	m     *models.Model
	w     []float64
	param int // the next one
	layer int // of dropout, the next one
	near  float64
}

// next returns the values of the next parameter.
func (n *naive) next() (values []float64, shape []int) {
	p := n.m.Params[n.param]
	n.param++
	return n.w[p.Offset:][:p.Size], p.Shape
}

// Loss returns the mean cross-entropy of the batch for weights w [P], in training mode, and how near any number is to
// where a gradient jumps.
func (c *Case) Loss(w []float64) (loss, near float64) {
	m := c.Model
	n := &naive{m: m, w: w, near: math.Inf(1)}
	h := maps{c: m.C, h: m.H, w: m.W}
	for b := range Batch {
		x := make([]float64, m.Pixels())
		for i, v := range c.Samples.Features[b*m.Pixels():][:m.Pixels()] {
			x[i%m.C*m.H*m.W+i/m.C] = float64(v)
		}
		h.x = append(h.x, x)
	}
	if c.Text != "none" {
		for layer := range strings.SplitSeq(c.Text, ", ") {
			h = n.add(h, strings.Fields(layer))
		}
	}
	h = n.linear(h, false)
	for b, z := range h.x {
		sum := 0.0
		for _, v := range z {
			sum += math.Exp(v - z[c.Samples.Labels[b]])
		}
		loss += math.Log(sum) / Batch
	}
	return loss, n.near
}

// add computes a layer.
func (n *naive) add(h maps, words []string) maps {
	number := func(after string) int { // a number, or the default
		for i, w := range words {
			if w == after {
				k, err := strconv.Atoi(words[i+1])
				if err != nil {
					panic(err) // a text of ours
				}
				return k
			}
		}
		return map[string]int{"stride": 1}[after]
	}
	has := func(word string) bool { return strings.Contains(" "+strings.Join(words, " ")+" ", " "+word+" ") }
	switch words[0] {
	case "conv":
		h = n.conv(h, number("stride"), number("pad"))
		if has("norm") {
			h = n.norm(h)
		} else {
			bias, _ := n.next()
			h = h.each(func(_, c int, v float64) float64 { return v + bias[c] })
		}
		if !has("norm") || has("relu") {
			h = n.relu(h)
		}
		if has("pool") {
			h = n.pool(h)
		}
		return h
	case "block":
		return n.block(h, number("block"), number("stride"))
	case "average":
		y := maps{c: h.c}
		for _, x := range h.x {
			means := make([]float64, h.c)
			for i, v := range x {
				means[i/(h.h*h.w)] += v / float64(h.h*h.w)
			}
			y.x = append(y.x, means)
		}
		return y
	case "dropout":
		mask, rate := n.m.DropoutMask(n.layer, Draw0, Batch), n.m.Drops[n.layer].Rate
		n.layer++
		flat := maps{}
		for b, x := range h.x {
			y := make([]float64, len(x))
			for i, v := range x {
				y[i] = v * float64(mask[b*len(x)+i]) / (1 - rate)
			}
			flat.x = append(flat.x, y)
		}
		return flat
	}
	return n.linear(h, true)
}

// each applies f to every number, given its sample and channel.
func (h maps) each(f func(b, c int, v float64) float64) maps {
	y := h
	y.x = nil
	for b, x := range h.x {
		z := make([]float64, len(x))
		for i, v := range x {
			c := i
			if h.h > 0 {
				c = i / (h.h * h.w)
			}
			z[i] = f(b, c, v)
		}
		y.x = append(y.x, z)
	}
	return y
}

func (n *naive) relu(h maps) maps {
	return h.each(func(_, _ int, v float64) float64 {
		n.near = min(n.near, math.Abs(v))
		return max(0, v)
	})
}

func (n *naive) conv(h maps, stride, pad int) maps {
	w, shape := n.next()
	out, rows, columns := shape[0], shape[2], shape[3]
	y := maps{c: out, h: (h.h+2*pad-rows)/stride + 1, w: (h.w+2*pad-columns)/stride + 1}
	for _, x := range h.x {
		var z []float64
		for i := range out * y.h * y.w {
			o, row, col := i/(y.h*y.w), i/y.w%y.h*stride-pad, i%y.w*stride-pad
			sum := 0.0
			for j, v := range w[o*h.c*rows*columns:][:h.c*rows*columns] {
				c, r, s := j/(rows*columns), row+j/columns%rows, col+j%columns
				if r >= 0 && r < h.h && s >= 0 && s < h.w {
					sum += v * x[(c*h.h+r)*h.w+s]
				}
			}
			z = append(z, sum)
		}
		y.x = append(y.x, z)
	}
	return y
}

func (n *naive) pool(h maps) maps {
	y := maps{c: h.c, h: h.h / 2, w: h.w / 2}
	for _, x := range h.x {
		var z []float64
		for i := range y.c * y.h * y.w {
			at := (i/(y.h*y.w)*h.h+i/y.w%y.h*2)*h.w + i%y.w*2
			most, second := math.Inf(-1), math.Inf(-1)
			for _, v := range []float64{x[at], x[at+1], x[at+h.w], x[at+h.w+1]} {
				second = max(second, min(most, v))
				most = max(most, v)
			}
			if most > 0 { // zeros of a ReLU may be equal
				n.near = min(n.near, most-second)
			}
			z = append(z, most)
		}
		y.x = append(y.x, z)
	}
	return y
}

// norm normalises with the statistics of the batch.
func (n *naive) norm(h maps) maps {
	weight, _ := n.next()
	bias, _ := n.next()
	n.param += 2 // running statistics
	count := float64(Batch * h.h * h.w)
	mean, variance := make([]float64, h.c), make([]float64, h.c)
	h.each(func(_, c int, v float64) float64 { mean[c] += v / count; return v })
	h.each(func(_, c int, v float64) float64 { variance[c] += (v - mean[c]) * (v - mean[c]) / count; return v })
	return h.each(func(_, c int, v float64) float64 {
		return weight[c]*(v-mean[c])/math.Sqrt(variance[c]+1e-5) + bias[c]
	})
}

func (n *naive) block(h maps, channels, stride int) maps {
	y := n.conv(h, stride, 1)
	y = n.relu(n.norm(y))
	y = n.norm(n.conv(y, 1, 1))
	if stride > 1 || h.c != channels {
		h = n.norm(n.conv(h, stride, 0))
	}
	at := 0
	return n.relu(y.each(func(b, _ int, v float64) float64 {
		at++
		return v + h.x[b][(at-1)%len(h.x[b])]
	}))
}

func (n *naive) linear(h maps, relu bool) maps {
	w, shape := n.next()
	bias, _ := n.next()
	y := maps{c: shape[0]}
	for _, x := range h.x {
		z := make([]float64, shape[0])
		for o := range z {
			z[o] = bias[o]
			for i, v := range x {
				z[o] += w[o*len(x)+i] * v
			}
		}
		y.x = append(y.x, z)
	}
	if relu {
		y = n.relu(y)
	}
	return y
}
