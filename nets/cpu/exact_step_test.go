package cpu

import (
	"fmt"
	"math"
	"slices"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/cpu/kernels/bf16"
	"rollcall/nets/models"
	"rollcall/nets/ops"
)

// exactGradients returns the gradients of cnn-cifar10, by parameter, that float64 computes for a batch x [B,34,34,3].
func exactGradients(t *testing.T, w [][]float32, m *models.Model, x []float32, labels []int32) [][]float64 {
	t.Helper()
	exec := kernels.NewExec(kernels.Generic[float64](), nil)
	g, B := G.NewGraph(), len(labels)
	input := func(name string, data []float32, shape ...int) *G.Node {
		n := G.NewTensor(g, tensor.Float64, len(shape), G.WithShape(shape...), G.WithName(name))
		must.OK(t, G.Let(n, tensor.New(tensor.WithShape(shape...), tensor.WithBacking(float64s(data)))))
		return n
	}
	var params G.Nodes
	for i, n := range must.Get(m.Graph(nil, 1, B, true))(t).Weights {
		params = append(params, input(n.Name(), w[i], n.Shape()...))
	}
	y := G.NewTensor(g, tensor.Int32, 2, G.WithShape(1, B), G.WithName("labels"))
	must.OK(t, G.Let(y, tensor.New(tensor.WithShape(1, B), tensor.WithBacking(labels))))
	h := must.Get(ops.NewConvReLUPool(exec, input("x", x, 1, B, 34, 34, 3), params[0], params[1], 1, 1, false))(t)
	h = must.Get(ops.NewConvReLUPool(exec, h, params[2], params[3], 1, 0, true))(t)
	h = must.Get(ops.NewView[float64](h, 1, B, 2048))(t)
	for i := 4; i < len(params); i += 2 {
		h = must.Get(ops.NewLinear(exec, h, params[i], params[i+1], i+2 < len(params), i == 4, true))(t)
	}
	cost := must.Get(ops.NewSumClients[float64](must.Get(ops.NewCrossEntropy(exec, h, y))(t)))(t)
	grads := must.Get(G.Grad(cost, params...))(t)
	vm := G.NewTapeMachine(g)
	defer func() { must.OK(t, vm.Close()) }()
	must.OK(t, vm.RunAll())
	var out [][]float64
	for _, n := range grads {
		out = append(out, slices.Clone(n.Value().Data().([]float64)))
	}
	return out
}

// apart returns how far two updates are apart at most, by the largest element of the second.
func apart(got [][]float32, want [][]float64) float64 {
	far, largest := 0.0, 0.0
	for i, p := range want {
		for j, v := range p {
			far, largest = max(far, math.Abs(float64(got[i][j])-v)), max(largest, math.Abs(v))
		}
	}
	return far / largest
}

// layerError returns how far the gradients of the layers of a net are from what float64 makes of the same inputs, by
// the largest of each gradient. If products is given, it rounds the operands of every matrix product, and nothing else.
func layerError(t *testing.T, m *machine, products bf16.Kernels[float64]) float64 {
	t.Helper()
	exec := kernels.NewExec(kernels.Generic[float64](), nil)
	exec.Products = products
	worst, layers := 0.0, 0
	for _, c := range m.calls {
		op, is := c.node.Op().(*ops.Grad[float32])
		if !is {
			continue
		}
		var in [][]float64 // x, w, y and the gradient of y
		for _, v := range c.in {
			if data, is := v.Data().([]float32); is {
				in = append(in, float64s(data))
			}
		}
		var dx, dw, db []float64
		switch of := op.Forward.(type) {
		case *ops.ConvReLUPool[float32]:
			dw, db = make([]float64, len(in[1])), make([]float64, of.Shape.O)
			if of.InputGrad {
				dx = make([]float64, len(in[0]))
			}
			var back kernels.ConvBackward[float64]
			back.Run(exec, of.Shape, dx, dw, db, in[0], in[1], in[3], of.Arg)
		case *ops.Linear[float32]:
			dx, dw, db = make([]float64, len(in[0])), make([]float64, len(in[1])), make([]float64, of.Shape.O)
			var back kernels.LinearBackward[float64]
			back.Run(exec, of.Shape, dx, dw, db, in[0], in[1], in[2], in[3])
		default:
			continue
		}
		layers++
		got := floats(c.out)
		for _, want := range [][]float64{dx, dw, db} {
			if want != nil {
				worst = max(worst, apart([][]float32{got[:len(want)]}, [][]float64{want}))
				got = got[len(want):]
			}
		}
	}
	if layers != 5 {
		t.Fatalf("%d layers with weights, want 5", layers)
	}
	return worst
}

// float64s returns x in float64.
func float64s(x []float32) []float64 {
	wide := make([]float64, len(x))
	for i, v := range x {
		wide[i] = float64(v)
	}
	return wide
}

// TestExactStep holds an SGD step of cnn-cifar10 to float64. The gradients are its update, but for the learning rate.
//
// Layer by layer, on the same inputs, float64 with the same rounding of operands is 1e-5 of the largest gradient away,
// as in float32, and float64 without rounding says what the precision costs: 2e-2 in bf16 and 2e-5 in bf16x3.
//
// A whole step is further away, since a gradient does not depend smoothly on the numbers: where two elements of a
// pooling window or the two sides of a ReLU are closer than an error, it goes another way. bf16 also rounds a number
// that lies between two bfloat16 either way, as its last digits are. The test reports it, and limits the median client.
func TestExactStep(t *testing.T) {
	const clients, B = 9, 16
	m := must.Get(models.New("cnn-cifar10"))(t)
	samples := hashedSamples(m, clients*B, testMean, testStd)
	for _, c := range []struct {
		precision kernels.Precision
		layer     float64 // without rounding, the most that a layer of any client may be off
		step      float64 // and the most that the whole step of the median client may be
	}{{kernels.FP32, 1e-5, 1e-5}, {kernels.BF16, 2e-2, 6e-2}, {kernels.BF16x3, 2e-5, 1e-3}} {
		t.Run(string(c.precision), func(t *testing.T) {
			if c.precision == kernels.BF16x3 {
				longtest.Only(t, "three products for every one")
			}
			choice := must.Get(kernels.Select(c.precision))(t)
			row := make([]float32, m.P)
			m.FromTorch(row, m.Init(models.Kaiming, 3))
			var weights [][]float32
			for _, p := range m.Params {
				weights = append(weights, row[p.Offset:][:p.Size])
			}
			g := must.Get(m.Graph(choice.NewExec(nil), 1, B, true))(t)
			machine := must.Get(newMachine(g, weights))(t)
			normal := kernels.NewNormal[float32](testMean, testStd)
			s := &slot{engine: &Engine{normals: [2]*kernels.Normal[float32]{normal}}, exec: choice.NewExec(nil)}
			var products bf16.Kernels[float64]
			if c.precision != kernels.FP32 {
				products = bf16.Generic[float64](c.precision == kernels.BF16x3)
			}
			var same, layer, step []float64
			for k := range clients {
				for b := range B {
					s.gather(machine, nets.Train, b, int32(k*B+b), samples, kernels.Crop{Row: 4, Col: 4})
				}
				must.OK(t, machine.run())
				same = append(same, layerError(t, machine, products))
				layer = append(layer, layerError(t, machine, nil))
				step = append(step, apart(machine.Grads, exactGradients(t, weights, m, machine.X, machine.Labels)))
			}
			for _, x := range [][]float64{same, layer, step} {
				slices.Sort(x)
			}
			t.Logf("%s, of the largest gradient: a layer %s with the same rounding, %s without; a step %s",
				choice.Name(), spread(same), spread(layer), spread(step))
			if most := same[clients-1]; !(most <= 1e-5) {
				t.Errorf("a layer with the same rounding: off by %.2g of the largest gradient, want 1e-5", most)
			}
			if most := layer[clients-1]; !(most <= c.layer) {
				t.Errorf("a layer: off by %.2g of the largest gradient, want %.0g", most, c.layer)
			}
			if median := step[clients/2]; !(median <= c.step) {
				t.Errorf("the median client's step: off by %.2g of the largest gradient, want %.0g", median, c.step)
			}
		})
	}
}

// spread returns the median and the largest of sorted numbers.
func spread(x []float64) string { return fmt.Sprintf("%.2g (at most %.2g)", x[len(x)/2], x[len(x)-1]) }
