package models

import (
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
)

// Counted by hand: FedAWE's Table 6, with conv (9·C+1)·O and fully connected (I+1)·O. He et al. (2016), section 4.2,
// give 0.27 M parameters for ResNet-20; torchvision's ResNet-18 has 11,689,512, of which the stem of 7×7 and the
// classifier of 1000 are others here. Running statistics come on top, two for every channel, of each normalisation in a
// span of its own. TestGolden of nets/cpu compares names and shapes with PyTorch's.
func TestModels(t *testing.T) {
	const resnet20 = 432 + 6*9*16*16 + 9*16*32 + 5*9*32*32 + 9*32*64 + 5*9*64*64 + 2*(7*16+6*32+6*64) + 650
	for _, c := range []struct {
		name                     string
		learned, norms, channels int // parameters, batch normalisations and all their channels
		drops                    []Drop
	}{
		{"cnn-svhn", 896 + 9248 + 262272 + 1290, 0, 0, nil},
		{"cnn-cifar10", 896 + 9248 + 524544 + 16448 + 650, 0, 0, nil},
		{"cnn-cinic10", 896 + 9248 + 1049088 + 131328 + 2570, 0, 0, []Drop{
			{Name: "drop1", Rate: 0.2, Size: 2048, order: [3]int{8, 8, 32}},
			{Name: "drop2", Rate: 0.2, Size: 512},
			{Name: "drop3", Rate: 0.2, Size: 256},
		}},
		{"resnet20", resnet20, 1 + 2*9, 7*16 + 6*32 + 6*64, nil}, // none is in a shortcut
		{"resnet18", 11689512 - 64*3*49 + 64*27 - 513*1000 + 513*10, 1 + 2*8 + 3, 5 * (64 + 128 + 256 + 512), nil},
	} {
		m := must.Get(New(c.name))(t)
		learned, buffers := 0, 0
		for i, p := range m.Params {
			running := strings.HasSuffix(p.Name, "running_mean") || strings.HasSuffix(p.Name, "running_var")
			if p.Offset != learned+buffers || p.Last != (i >= len(m.Params)-2) || p.Buffer != running {
				t.Errorf("%s: %s: at %d, last %t, buffer %t", c.name, p.Name, p.Offset, p.Last, p.Buffer)
			}
			if p.Buffer {
				buffers += p.Size
			} else {
				learned += p.Size
			}
		}
		if learned != c.learned || buffers != 2*c.channels || m.P != learned+buffers || len(m.Buffers()) != c.norms {
			t.Errorf("%s: %d parameters and %d running statistics of %d, in %d spans, want %d and %d in %d",
				c.name, learned, buffers, m.P, len(m.Buffers()), c.learned, 2*c.channels, c.norms)
		}
		if !slices.Equal(m.Drops, c.drops) {
			t.Errorf("%s: dropout layers %v, want %v", c.name, m.Drops, c.drops)
		}
	}
}

// Multiply-adds of cnn-cifar10, layer by layer: forward once, backward once for the weights and once for the input,
// which the first layer does without. A client-step of 128 samples comes to 2.68 GFLOP.
func TestOperations(t *testing.T) {
	m := must.Get(New("cnn-cifar10"))(t)
	const first, rest = 32 * 32 * 27 * 32, 16*16*288*32 + 2048*256 + 256*64 + 64*10
	if m.Forward != 2*(first+rest) || m.Train != 2*(2*first+3*rest) {
		t.Errorf("%.0f operations forward and %.0f in training, want %d and %d",
			m.Forward, m.Train, 2*(first+rest), 2*(2*first+3*rest))
	}
	for net, want := range map[string]float64{"resnet20": 15.58, "resnet18": 213.06} { // GFLOP of 64 samples
		if got := 64 * must.Get(New(net))(t).Train / 1e9; math.Abs(got-want) > 0.1 {
			t.Errorf("%s: %.2f GFLOP per client-step, want %.1f", net, got, want)
		}
	}
}

// Kaiming: hidden weights are normal, so mean 0 and standard deviation √(2/fan_in), kurtosis 3, hidden biases 0; the
// last layer is uniform in ±1/√fan_in. Torch: all layers are. Tolerance: five standard errors (of a standard deviation:
// σ·√((kurtosis−1)/4n)).
func TestInit(t *testing.T) {
	longtest.Numbers(t)
	for _, how := range []Init{Kaiming, Torch} {
		for _, name := range Names() {
			t.Run(string(how)+"/"+name, func(t *testing.T) { testInit(t, how, name) })
		}
	}
}

func testInit(t *testing.T, how Init, name string) {
	m := must.Get(New(name))(t)
	w := m.Init(how, 3)
	if len(w) != m.P {
		t.Fatalf("%d weights, want %d", len(w), m.P)
	}
	for _, p := range m.Params {
		x := w[p.Offset:][:p.Size]
		fan := 1.0
		for _, d := range p.Shape[1:] {
			fan *= float64(d)
		}
		if len(p.Shape) == 1 {
			fan = float64(p.FanIn)
		}
		var sum, squares, fourth, largest float64
		for _, v := range x {
			v := float64(v)
			sum += v
			squares += v * v
			fourth += v * v * v * v
			largest = max(largest, math.Abs(v))
		}
		n := float64(len(x))
		sigma, kurtosis := math.Sqrt(2/fan), 3.0
		switch bound := 1 / math.Sqrt(fan); {
		case p.Last || how == Torch && p.kind != scaleParam && p.kind != shiftParam:
			sigma, kurtosis = bound/math.Sqrt(3), 1.8
			if largest > bound {
				t.Errorf("%s: largest %g, want at most %g", p.Name, largest, bound)
			}
		case len(p.Shape) == 1:
			want := 0.0
			if strings.Contains(p.Name, "bn") && strings.HasSuffix(p.Name, ".weight") ||
				strings.HasSuffix(p.Name, "running_var") || strings.HasSuffix(p.Name, "downsample.1.weight") {
				want = 1
			}
			if largest != want || sum != want*float64(len(x)) {
				t.Errorf("%s: largest %g, sum %g, want all %g", p.Name, largest, sum, want)
			}
			continue
		}
		if mean, tol := sum/n, 5*sigma/math.Sqrt(n); math.Abs(mean) > tol {
			t.Errorf("%s: mean %g, want 0 ± %g", p.Name, mean, tol)
		}
		std := math.Sqrt(squares / n)
		if tol := 5 * sigma * math.Sqrt((kurtosis-1)/(4*n)); math.Abs(std-sigma) > tol {
			t.Errorf("%s: standard deviation %g, want %g ± %g", p.Name, std, sigma, tol)
		}
		if k := fourth / n / (std * std * std * std); n > 1000 && math.Abs(k-kurtosis) > 5*math.Sqrt(24/n) {
			t.Errorf("%s: kurtosis %g, want %g ± %g", p.Name, k, kurtosis, 5*math.Sqrt(24/n))
		}
	}
	if !slices.Equal(w, m.Init(how, 3)) {
		t.Error("the same seed gives other weights")
	}
	other := m.Init(how, 4)
	for _, p := range m.Params {
		if p.kind != scaleParam && w[p.Offset] != 0 && w[p.Offset] == other[p.Offset] {
			t.Errorf("%s: seeds 3 and 4 both start with %g", p.Name, w[p.Offset])
		}
	}
}

func TestUnknownModel(t *testing.T) {
	m, err := New("cnn-cifar")
	if err == nil {
		t.Fatalf("cnn-cifar: got %v, want an error", m.Name)
	}
	if want := `nets: unknown net "cnn-cifar", want one of ` + strings.Join(Names(), ", "); err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// Element by element, where rows hold what PyTorch's state_dict holds: convolutions [O,C,R,S] as [R,S,C,O], fully
// connected layers [O,I] as [I,O], and behind the maps feature c·64+h·8+w as (h·8+w)·32+c.
func TestLayout(t *testing.T) {
	m := must.Get(New("cnn-cinic10"))(t)
	torch, row, back := make([]float32, m.P), make([]float32, m.P), make([]float32, m.P)
	for i := range torch {
		torch[i] = float32(i) // exact: P < 2²⁴
	}
	m.FromTorch(row, torch)
	expect := func(name string, kernels, torch int) {
		t.Helper()
		i := slices.IndexFunc(m.Params, func(p Param) bool { return p.Name == name })
		if got, want := int(row[m.Params[i].At+kernels]), m.Params[i].Offset+torch; got != want {
			t.Errorf("%s: the row's element %d is PyTorch's %d, want %d", name, kernels, got, want)
		}
	}
	for _, at := range [][4]int{{0, 0, 0, 0}, {31, 2, 2, 2}, {5, 1, 0, 2}, {6, 2, 2, 0}, {7, 0, 1, 1}} {
		o, c, r, s := at[0], at[1], at[2], at[3]
		expect("conv1.weight", ((r*3+s)*3+c)*32+o, ((o*3+c)*3+r)*3+s)
		expect("conv2.weight", ((r*3+s)*32+c)*32+o, ((o*32+c)*3+r)*3+s)
	}
	for _, at := range [][4]int{{0, 0, 0, 0}, {511, 31, 7, 7}, {3, 17, 2, 5}, {4, 1, 6, 0}, {5, 30, 0, 6}} {
		o, c, h, w := at[0], at[1], at[2], at[3]
		expect("fc1.weight", ((h*8+w)*32+c)*512+o, o*2048+c*64+h*8+w)
	}
	for _, at := range [][2]int{{0, 0}, {255, 511}, {7, 300}} {
		expect("fc2.weight", at[1]*256+at[0], at[0]*512+at[1])
	}
	expect("fc1.bias", 9, 9)
	m.ToTorch(back, row)
	if !slices.Equal(back, torch) {
		t.Error("to the kernels' order and back changes weights")
	}
}

// A linear net is initialised alike in every way, which is why --init is refused there; the others are not.
func TestInitOfLinearNets(t *testing.T) {
	longtest.Numbers(t)
	for _, name := range Names() {
		m := must.Get(New(name))(t)
		alike := slices.Equal(m.Init(Kaiming, 3), m.Init(Torch, 3))
		if want := strings.HasPrefix(name, "linear-"); alike != want {
			t.Errorf("%s: initial weights alike: %t, want %t", name, alike, want)
		}
	}
}
