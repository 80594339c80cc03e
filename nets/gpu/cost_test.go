package gpu

import (
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"

	"rollcall/internal/must"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/models"
)

// addressed returns a frame with an address for everything that a wave places, as if the samples were images. A cost
// depends on which addresses are 0.
func addressed(p *program) *frame {
	f := &frame{
		buffers: map[*buffer]uint64{}, capacity: 1, E: 1, work: 1, grad: 1, loss: 1, scale: 1, norms: 1, score: 1,
		parts: [2]partMemory{{images: 1, classes: 1, table: 1}, {images: 1, classes: 1, table: 1}},
	}
	for i, b := range p.buffers {
		f.buffers[b] = uint64(i + 2)
	}
	return f
}

// trimPrecision returns the name of a kernel without the suffix of its precision.
func trimPrecision(kernel string, p Precision) string {
	return strings.TrimSuffix(kernel, "_"+string(p))
}

// plus returns the sum of two costs.
func plus(c, d kernels.Cost) kernels.Cost {
	return kernels.Cost{
		FLOP: c.FLOP + d.FLOP, Bytes: c.Bytes + d.Bytes, Momentum: c.Momentum + d.Momentum, Drift: c.Drift + d.Drift,
	}
}

// programs calls f with every possible program: for all nets and precisions, training with and without clipping, and
// evaluation.
func programs(t *testing.T, batch int, f func(m *models.Model, precision Precision, key programKey, p *program)) {
	t.Helper()
	for _, name := range models.Names() {
		m := must.Get(models.New(name))(t)
		for _, precision := range []Precision{FP32, TF32, BF16} {
			for _, key := range []programKey{{train: true}, {train: true, clip: true}, {}} {
				p, err := lower(m, newLayout(m), precision, batch, key.train, key.clip)
				if err != nil {
					t.Fatalf("%s %s %+v: %v", name, precision, key, err)
				}
				f(m, precision, key, p)
			}
		}
	}
}

// The launches of a program do exactly as many multiplications and additions as the net declares. (Neither counts the
// gradient of the first layer's input, which nobody computes.) Every launch moves bytes, and no two launches have the
// same kernel and layer. With -v the test prints the costs, from which a prediction of speed starts.
func TestCosts(t *testing.T) {
	const batch = 128
	programs(t, batch, func(m *models.Model, precision Precision, key programKey, p *program) {
		what := fmt.Sprintf("%s %s %+v", m.Name, precision, key)
		want := m.Forward * batch
		if key.train {
			want = m.Train * batch
		}
		f := addressed(p)
		var total kernels.Cost
		seen := map[string]bool{}
		for _, l := range p.launches {
			c := l.cost(f)
			if c.Bytes <= 0 || c.FLOP < 0 || c.Momentum < 0 || c.Drift < 0 {
				t.Errorf("%s: %s of %s: %+v, want bytes above 0", what, l.kernel, l.layer, c)
			}
			if name := l.kernel + " " + l.layer; seen[name] || l.layer == "" {
				t.Errorf("%s: launch %s: want a name that no other has", what, name)
			} else {
				seen[name] = true
			}
			total = plus(total, c)
		}
		if float64(total.FLOP) != want {
			t.Errorf("%s: %d floating-point operations, want %.0f: those of %d samples", what, total.FLOP, want, batch)
		}
		if testing.Verbose() && key == (programKey{train: true}) {
			t.Log(costTable(what, p, f, total))
		}
	})
}

// costTable returns a table of the launches of a program and their costs.
func costTable(title string, p *program, f *frame, total kernels.Cost) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s, one slot\tlayer\tMFLOP\tMB\tFLOP/byte\t\n", title)
	line := func(kernel, layer string, c kernels.Cost) {
		fmt.Fprintf(w, "%s\t%s\t%.1f\t%.3f\t%.1f\t\n",
			kernel, layer, float64(c.FLOP)/1e6, float64(c.Bytes)/1e6, float64(c.FLOP)/float64(c.Bytes))
	}
	for _, l := range p.launches {
		line(l.kernel, l.layer, l.cost(f))
	}
	line("all", "", total)
	_ = w.Flush() // into memory
	return "\n" + text.String()
}

// The bytes that a few launches of cnn-cifar10 move with batches of 128, worked out by hand from the sizes of the net:
// images 32×32 of 3 channels, two convolutions of 32 channels with 3·3·3·32 = 864 and 3·3·32·32 = 9216 weights, and
// linear layers 2048 → 256 → 64 → 10.
func TestBytesByHand(t *testing.T) {
	const (
		x, y1, y2 = 128 * 32 * 32 * 3, 128 * 16 * 16 * 32, 128 * 8 * 8 * 32 // 393,216, 1,048,576, 262,144
		x4        = 4 * x / 3
		P         = 896 + 64 + 9216 + 64 + 2048*256 + 256 + 256*64 + 64 + 640 + 64
	)
	m := must.Get(models.New("cnn-cifar10"))(t)
	if l := newLayout(m); l.P != P {
		// 864 weights take 14 lines of 64 elements, 32 biases one, and so on.
		t.Fatalf("a row has %d elements, want %d", l.P, P)
	}
	want := map[Precision]map[string]int64{
		FP32: {
			"gather x":                       x + 4*x4, // bytes in, floats out, of four channels each
			"conv_forward conv1":             4*(x4+864+y1) + y1,
			"conv_backward_filter_few conv1": 4*(x4+y1) + y1 + 4*32*(864+32), // 32 chunks of 4 images
			"conv_reduce conv1":              (4*32 + 8) * (864 + 32),        // the row has no copy
			"conv_forward conv2":             4*(y1+9216+y2) + y2,
			"conv_backward_data conv2":       4*(y2+9216+y1) + y2,
			"conv_backward_filter conv2":     4*(y1+y2) + y2 + 4*32*(9216+32),
			"linear_forward fc1":             4 * (128*2048 + 2048*256 + 128*256),
			"linear_backward_data fc1":       4 * (128*256 + 2048*256 + 128*2048),
			"linear_backward_filter fc1":     4*(128*2048+128*256) + 8*(2048*256+256),
			"head fc2":                       4*(2*128*256+256*64+640) + 8*(256*64+64+640+10),
		},
		BF16: {
			"gather x":                   x + 2*x4,
			"conv_forward conv1":         2*(x4+864+y1) + y1,
			"conv_backward_filter conv2": 2*(y1+y2) + y2 + 4*32*(9216+32), // sums stay in float32
			"conv_reduce conv1":          (4*32 + 10) * (864 + 32),
			"linear_backward_filter fc1": 2*(128*2048+128*256) + 10*(2048*256+256),
			"head fc2":                   2*(2*128*256+256*64+640) + 10*(256*64+64+640+10),
		},
	}
	for precision, launches := range want {
		p := must.Get(lower(m, newLayout(m), precision, 128, true, false))(t)
		f := addressed(p)
		for _, l := range p.launches {
			name := trimPrecision(l.kernel, precision) + " " + l.layer
			if bytes, ok := launches[name]; ok {
				delete(launches, name)
				if c := l.cost(f); c.Bytes != bytes {
					t.Errorf("%s %s: %d bytes, want %d", precision, name, c.Bytes, bytes)
				}
			}
		}
		for name := range launches {
			t.Errorf("%s: there is no launch %q", precision, name)
		}
	}
}
