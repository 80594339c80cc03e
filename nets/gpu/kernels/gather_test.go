//go:build gpu && linux && cgo

package kernels

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"rollcall/datasets/plan"
	cpu "rollcall/nets/cpu/kernels"
)

// normal returns a normalisation of C channels, and the table [C,256] of the value of each byte in each channel.
func normal(C int) (*cpu.Normal[float32], []float32) {
	mean, std := make([]float32, C), make([]float32, C)
	for c := range C {
		mean[c], std[c] = 0.3+0.01*float32(c), 0.2+0.003*float32(c)
	}
	n := cpu.NewNormal[float32](mean, std)
	bytes, line, table := make([]uint8, 256*C), make([]float32, 256*C), make([]float32, 256*C)
	for i := range bytes {
		bytes[i] = uint8(i / C)
	}
	cpu.Generic[float32]().Gather(line, bytes, n, cpu.Crop{H: 1, W: 256, C: C})
	for i, v := range line {
		table[i%C*256+i/C] = v
	}
	return n, table
}

// batchCase is a data set of n images, and the samples that K clients take from it in E steps.
type batchCase struct {
	H, W, C, K, B      int
	crop, flip, ragged bool
}

func TestGather(t *testing.T) {
	var cases []batchCase
	for _, K := range clientCounts {
		for _, B := range []int{1, 5} {
			for _, size := range [][3]int{{32, 32, 3}, {5, 7, 1}, {6, 3, 4}, {4, 5, 3}, {2, 2, 33}, {1, 1, 1}} {
				for i := range 4 {
					cases = append(cases, batchCase{size[0], size[1], size[2], K, B, i&1 > 0, i > 1, B > 1 && i != 2})
				}
			}
		}
	}
	cases = append(cases, batchCase{12, 10, 3, 2, 128, true, true, false}, batchCase{3, 3, 1, 1, 300, true, true, true})
	for _, p := range precisions {
		for _, c := range cases {
			t.Run(fmt.Sprintf("%s/%d×%d×%d_K=%d_B=%d_crop=%t_flip=%t_ragged=%t",
				p.name, c.H, c.W, c.C, c.K, c.B, c.crop, c.flip, c.ragged), func(t *testing.T) { testGather(t, p, c) })
		}
	}
}

func testGather(t *testing.T, p precision, c batchCase) {
	const E, step, samples = 2, 1, 11
	r, rnd := newRig(t), rand.New(rand.NewPCG(uint64(c.H*c.W*c.C), uint64(c.B)))
	pixel := int(ConvPixel(uint32(c.C)))
	size, elements := c.H*c.W*c.C, c.H*c.W*pixel
	images, classes := make([]uint8, samples*size), make([]uint8, samples)
	for i := range images {
		images[i] = uint8(rnd.Uint32())
	}
	for i := range classes {
		classes[i] = uint8(rnd.IntN(200))
	}
	norm, table := normal(c.C)
	w := wave{Slots: make([]Slot, c.K), E: E, B: c.B, Index: make([]int32, c.K*E*c.B)}
	for i := range w.Index {
		w.Index[i] = int32(rnd.IntN(samples))
		if c.ragged && i%c.B >= c.B/2 {
			w.Index[i] = -1
		}
	}
	if c.crop {
		w.Crop = make([]uint8, 2*len(w.Index))
		for i := range w.Crop {
			w.Crop[i] = uint8(rnd.IntN(2*plan.Pad + 1))
		}
		w.Crop[2*step*c.B] = 255 // nothing of the image
	}
	if c.flip {
		w.Flip = make([]uint8, len(w.Index))
		for i := range w.Flip {
			w.Flip[i] = uint8(rnd.IntN(2))
		}
	}
	a := GatherArgs{
		Work: r.work(w), Images: upload(r, images), Classes: upload(r, classes), Table: upload(r, table),
		Y: p.blank(r, w.room()*c.B*elements), Labels: blank[int32](r, w.room()*c.B),
		Step: step, E: E, B: uint32(c.B), H: uint32(c.H), W: uint32(c.W), C: uint32(c.C), Pixel: uint32(pixel),
	}
	launch(r, "gather_"+p.name, a.Launch(p.kind()), w.room(), &a)

	want, labels := make([]float32, c.K*c.B*size), make([]int32, c.K*c.B)
	for i := range labels {
		at := (i/c.B*E+step)*c.B + i%c.B
		s := w.Index[at]
		if labels[i] = cpu.Ignore; s < 0 {
			continue
		}
		labels[i] = int32(classes[s])
		crop := cpu.Crop{H: c.H, W: c.W, C: c.C, Pad: plan.Pad, Row: plan.Pad, Col: plan.Pad}
		if c.crop {
			crop.Row, crop.Col = int(w.Crop[2*at]), int(w.Crop[2*at+1])
		}
		crop.Flip = c.flip && w.Flip[at] != 0
		cpu.Generic[float32]().Gather(want[i*size:][:size], images[int(s)*size:], norm, crop)
	}
	want = pixels(want, c.C, pixel)
	same(t, "y", p.download(r, a.Y, len(want)), p.rounded(want))
	r.untouched("y of the slot not in use", a.Y+uint64(len(want)*p.bytes), c.B*elements*p.bytes)
	if got := download[int32](r, a.Labels, len(labels)); !slices.Equal(got, labels) {
		t.Errorf("labels: got %d, want %d", got, labels)
	}
	r.untouched("labels of the slot not in use", a.Labels+uint64(4*len(labels)), 4*c.B)
}

// Features are copied as they are, whatever crops and flips the plan has.
func TestGatherFeatures(t *testing.T) {
	for _, p := range precisions {
		for _, F := range []int{1, 60, 784} {
			t.Run(fmt.Sprintf("%s/F=%d", p.name, F), func(t *testing.T) {
				const K, B, samples = 2, 5, 9
				r, rnd := newRig(t), rand.New(rand.NewPCG(9, uint64(F)))
				features := numbers(rnd, samples*F)
				w := wave{Slots: make([]Slot, K), E: 1, B: B, Index: []int32{3, 8, -1, 0, 3, 1, 1, 2, -1, -1}}
				w.Crop, w.Flip = make([]uint8, 2*K*B), slices.Repeat([]uint8{1}, K*B)
				a := GatherArgs{
					Work: r.work(w), Features: upload(r, features),
					Classes: upload(r, []uint8{0, 1, 2, 3, 4, 5, 6, 7, 8}), Y: p.blank(r, w.room()*B*F),
					Labels: blank[int32](r, w.room()*B), E: 1, B: B, H: 1, W: 1, C: uint32(F),
				}
				launch(r, "gather_"+p.name, a.Launch(p.kind()), w.room(), &a)
				want := make([]float32, K*B*F)
				for i, s := range w.Index {
					if s >= 0 {
						copy(want[i*F:], features[int(s)*F:][:F])
					}
				}
				same(t, "y", p.download(r, a.Y, K*B*F), p.rounded(want))
				if got := download[int32](r, a.Labels, K*B); !slices.Equal(got, w.Index) { // class i of sample i
					t.Errorf("labels: got %d, want %d", got, w.Index)
				}
				r.untouched("y of the slot not in use", a.Y+uint64(K*B*F*p.bytes), B*F*p.bytes)
			})
		}
	}
}
