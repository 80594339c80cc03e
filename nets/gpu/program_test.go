package gpu

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"rollcall/internal/must"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/gpu/ptx"
	"rollcall/nets/models"
)

// Launches wait for the last writer of what they read, and for writers and readers of what they write, once.
func TestOrder(t *testing.T) {
	a, b, c := &buffer{name: "a"}, &buffer{name: "b"}, &buffer{name: "c"}
	o := orderOf([]access{
		0: {nil, buffers{a}},
		1: {buffers{a}, buffers{b}},
		2: {buffers{a}, buffers{c}},    // beside 1
		3: {buffers{a, b}, buffers{b}}, // in place; 0 has ended when 1 has
		4: {buffers{b, c}, nil},
		5: {nil, buffers{a}}, // the readers of a: 1 has ended when 3 has
		6: {buffers{a}, buffers{c}},
	})
	want := [][]int{nil, {0}, {0}, {1}, {3, 2}, {3, 2}, {5, 4}}
	if fmt.Sprint(o.waits) != fmt.Sprint(want) {
		t.Errorf("waits %v, want %v", o.waits, want)
	}
	if a, b := o.depth(7), o.depth(4); a != 5 || b != 3 { // 0, 1, 3, 4 and 6
		t.Errorf("%d launches in turn, and %d of the first four, want 5 and 3", a, b)
	}
	if !o.followsAll(6, []int{0, 1, 2, 3, 4, 5}) || o.followsAll(5, []int{4}) || o.followsAll(2, []int{1}) {
		t.Error("6 follows all others, 5 does not follow 4, nor 2 follow 1")
	}
}

// In every program of every net, two launches of which one writes what the other reads or writes wait for each other,
// in a step and from step to step, and no wait goes without saying.
func TestOrderOfPrograms(t *testing.T) {
	programs(t, 5, func(m *models.Model, precision Precision, key programKey, p *program) {
		what := fmt.Sprintf("%s %s %+v", m.Name, precision, key)
		n := len(p.launches)
		meet := func(a, b buffers) bool {
			return slices.ContainsFunc(a, func(x *buffer) bool { return slices.Contains(b, x) })
		}
		for i := range p.order.ended {
			u := p.launches[i%n].access
			for j := range i {
				v := p.launches[j%n].access
				if meet(u.writes, v.writes) || meet(u.writes, v.reads) || meet(u.reads, v.writes) {
					if !p.order.followsAll(i, []int{j}) {
						t.Errorf("%s: launch %d (%s) may run beside %d (%s), which it depends on",
							what, i, p.launches[i%n].kernel, j, p.launches[j%n].kernel)
					}
				}
			}
			for _, w := range p.order.waits[i] {
				for _, other := range p.order.waits[i] {
					if w != other && p.order.followsAll(other, []int{w}) {
						t.Errorf("%s: launch %d waits for %d and for %d, which waits for it", what, i, w, other)
					}
				}
			}
		}
	})
}

// The launches of a step that wait for each other in turn, at the most: every one of them costs the start of a kernel,
// which few clients notice.
func TestCriticalPath(t *testing.T) {
	for net, want := range map[string]int{"cnn-cifar10": 10, "cnn-svhn": 13, "cnn-cinic10": 22, "lenet5": 15} {
		m := must.Get(models.New(net))(t)
		p := must.Get(lower(m, newLayout(m), TF32, 128, true, false))(t)
		n := len(p.launches)
		if one, both := p.order.depth(n), p.order.depth(2*n); one > want || both > 2*want {
			t.Errorf("%s: %d of %d launches in turn in a step, and %d in two, want at most %d and %d",
				net, one, n, both, want, 2*want)
		}
	}
}

// depth returns how many of the first n launches wait for each other in turn, at the most.
func (o *order) depth(n int) (most int) {
	depth := make([]int, n)
	for i, waits := range o.waits[:n] {
		for _, n := range waits {
			depth[i] = max(depth[i], depth[n])
		}
		depth[i]++
		most = max(most, depth[i])
	}
	return most
}

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
			"conv_backward_filter conv2":     4*(y1+y2) + y2 + 4*16*(9216+32), // 16 chunks of 8 images
			"linear_forward fc1":             4 * (128*2048 + 2048*256 + 128*256),
			"linear_backward_data fc1":       4 * (128*256 + 2048*256 + 128*2048),
			"linear_backward_filter fc1":     4*(128*2048+128*256) + 8*(2048*256+256),
			"head fc2":                       4*(2*128*256+256*64+640) + 8*(256*64+64+640+10),
		},
		BF16: {
			"gather x":                   x + 2*x4,
			"conv_forward_few conv1":     2*(x4+864+y1) + y1,
			"conv_forward_3x3 conv2":     2*(y1+9216+y2) + y2,
			"conv_backward_filter conv2": 2*(y1+y2) + y2 + 4*16*(9216+32), // sums stay in float32
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

// The limits of the smallest cards that the engine accepts: compute capability 8.6 and 8.9.
const (
	leastShared  = 99 << 10 // bytes that a block may have, static and dynamic
	leastThreads = 1536     // of a multiprocessor
	mostX        = math.MaxInt32
)

// compiledKernels holds the kernels of the modules that were read so far.
type compiledKernels map[string]*ptx.Kernel

// of returns a kernel as its PTX says. The first call for a module reads it.
func (all compiledKernels) of(t *testing.T, kernel string) *ptx.Kernel {
	t.Helper()
	if all[kernel] == nil {
		m, ok := kernels.Find(kernel)
		if !ok {
			t.Fatalf("%s: in none of the modules", kernel)
		}
		for _, k := range must.Get(ptx.Parse(m.PTX))(t).Kernels {
			if k.Threads == 0 {
				t.Errorf("%s: not compiled for a number of threads", k.Name)
			}
			all[k.Name] = k
		}
	}
	return all[kernel]
}

// Every launch of every net, in every precision and with every size of batch, fits the smallest card: the card has the
// shared memory, and the registers too, since the launch has as many threads as its kernel was compiled for.
func TestEveryCard(t *testing.T) {
	compiled := compiledKernels{}
	// two instances, of which one runs
	if k := compiled.of(t, "norm_moments_tf32"); k.Shared != 8192+8192 || k.Threads != 256 {
		t.Fatalf("norm_moments_tf32: %d bytes of shared memory and %d threads, want 16,384 and 256: "+
			"is the PTX read rightly?", k.Shared, k.Threads)
	}
	if k := compiled.of(t, "conv_forward_tf32"); k.Threads != 128 || k.Resident != 3 {
		t.Fatalf("conv_forward_tf32: %d threads, %d blocks, want 128, 3: is the PTX read rightly?",
			k.Threads, k.Resident)
	}
	seen := map[string]bool{}
	for _, batch := range []int{1, 5, 20, 32, 50, 64, 128, 256, 512} {
		programs(t, batch, func(m *models.Model, precision Precision, key programKey, p *program) {
			for _, l := range p.launches {
				k, g := compiled.of(t, l.kernel), l.geometry(1)
				for _, slots := range []int{8, 48, 1000} {
					other := l.geometry(slots)
					if other.X > g.X || other.X < 1 || other.Threads != g.Threads || other.Shared != g.Shared {
						t.Errorf("%s %s of %s: %+v for %d slots, %+v for one: want no more blocks, the rest as for one",
							m.Name, l.kernel, l.layer, other, slots, g)
					}
				}
				seen[l.kernel] = true
				what := fmt.Sprintf("%s %s B=%d: %s of %s (%+v, compiled for %d threads, %d blocks)",
					m.Name, precision, batch, l.kernel, l.layer, g, k.Threads, k.Resident)
				if shared := g.Shared + k.Shared; shared > leastShared {
					t.Errorf("%s: %d bytes of shared memory, want at most %d", what, shared, leastShared)
				}
				if g.Threads > k.Threads || g.Threads%32 != 0 || k.Threads*k.Resident > leastThreads {
					t.Errorf("%s: want whole warps, as compiled for or fewer, and %d threads at most in all blocks",
						what, leastThreads)
				}
				if g.X < 1 || g.X > mostX {
					t.Errorf("%s: want 1 … %d blocks for a slot", what, mostX)
				}
			}
		})
	}
	if len(seen) < 60 {
		t.Errorf("%d kernels are launched, want most of the %d in their modules", len(seen), len(compiled))
	}
}
