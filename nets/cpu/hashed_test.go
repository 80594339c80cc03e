package cpu

import (
	"math"
	"strings"

	"rollcall/datasets/plan"
	"rollcall/nets"
	"rollcall/nets/models"
)

// What a hashed number is for; goldens.py has the same list.
const (
	hashImage = iota + 1
	hashLabel
	hashWeight
	hashIndex
	hashCrop
	hashFlip
	hashDrift
	hashPlace
	hashFeature
)

// hashed is goldens.py's source of numbers.
func hashed(kind, tensor, i int) uint32 {
	x := uint32(i)*0x9E3779B1 + uint32(kind)*0x85EBCA6B + uint32(tensor)*0xC2B2AE35
	for _, m := range []uint32{0x7FEB352D, 0x846CA68B} {
		x ^= x >> 16
		x *= m
	}
	return x ^ x>>15
}

// symmetric returns n numbers in ±bound.
func symmetric(kind, tensor, n int, bound float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32((float64(hashed(kind, tensor, i))*0x1p-31 - 1) * bound)
	}
	return x
}

// hashedWeights are the weights the goldens start from, in PyTorch's order.
func hashedWeights(m *models.Model) []float32 {
	var w []float32
	for i, p := range m.Params {
		bound := 0.125
		if len(p.Shape) > 1 {
			bound = math.Sqrt(6 / float64(p.FanIn))
			if p.Last {
				bound = math.Sqrt(1 / float64(p.FanIn))
			}
		}
		x := symmetric(hashWeight, i, p.Size, bound)
		for j := range x {
			if strings.HasSuffix(p.Name, ".running_var") || len(p.Shape) == 1 && strings.HasSuffix(p.Name, ".weight") {
				x[j]++
			}
		}
		w = append(w, x...)
	}
	return w
}

// hashedSamples are n samples of noise, as a net takes them: images, of whose mean and std the first channels are used,
// or features.
func hashedSamples(m *models.Model, n int, mean, std []float32) *plan.Samples {
	s := &plan.Samples{Name: "hashed", H: m.H, W: m.W, C: m.C, Classes: m.Classes, Labels: make([]uint8, n)}
	for i := range s.Labels {
		s.Labels[i] = uint8(hashed(hashLabel, 0, i) % uint32(m.Classes))
	}
	size := n * m.H * m.W * m.C
	if m.H == 1 {
		s.Features = symmetric(hashFeature, 0, size, 1)
		return s
	}
	s.Mean, s.Std, s.Images = mean[:m.C], std[:m.C], make([]uint8, size)
	for i := range s.Images {
		s.Images[i] = uint8(hashed(hashImage, 0, i) >> 24)
	}
	return s
}

// rest returns the samples of s from number n on.
func rest(s *plan.Samples, n int) *plan.Samples {
	r := *s
	r.Labels = s.Labels[n:]
	if s.Features != nil {
		r.Features = s.Features[n*s.H*s.W*s.C:]
	} else {
		r.Images = s.Images[n*s.H*s.W*s.C:]
	}
	return &r
}

// hashedPlan reads n samples in hashed order, crops and flips; tensor tells plans apart; places from count on are
// padding.
func hashedPlan(tensor, steps, batch, count, n int) plan.Local {
	l := plan.Local{
		E: steps, B: batch, Index: make([]int32, steps*batch), Crop: make([]uint8, 2*steps*batch),
		Flip: make([]uint8, steps*batch),
	}
	for i := range l.Index {
		l.Index[i] = -1
		if i%batch < count {
			l.Index[i] = int32(hashed(hashIndex, tensor, i) % uint32(n))
		}
		l.Flip[i] = uint8(hashed(hashFlip, tensor, i) % 2)
	}
	for i := range l.Crop {
		l.Crop[i] = uint8(hashed(hashCrop, tensor, i) % (2*plan.Pad + 1))
	}
	return l
}

// rowOf returns row i of a bank.
func rowOf(b nets.Bank, i int) nets.Row { return nets.Row{Bank: b, Index: i} }
