package kernels

import "testing"

// The traffic of kernels, worked out by hand from their headers. The maps of a resnet, with 8 samples, 16×16 pixels and
// 32 channels, have 65,536 elements. With 8 lanes of 4 channels a block takes 32·256/8 = 1024 rows, so that there are 2
// chunks.
func TestCostsByHand(t *testing.T) {
	const maps = 8 * 16 * 16 * 32
	norm := NormArgs{B: 8, Pixels: 16 * 16, C: 32, P: 1 << 20}
	norm.Split()
	if norm.Chunks != 2 || norm.Lanes != 8 {
		t.Fatalf("%d chunks, %d lanes, want 2, 8", norm.Chunks, norm.Lanes)
	}
	added, summed := norm, norm
	added.Add = 1
	summed.Y, summed.D, summed.GY2 = 1, 1, 1
	conv := Conv2DArgs{B: 8, H: 16, W: 16, C: 32, R: 3, S: 3, O: 64, U: 2, Pad: 1, Images: 3} // 8×8 pixels out
	bias := BiasReLUArgs{B: 8, H: 17, W: 16, C: 32, Side: 2}                                  // 8×8 pixels out
	bias.Split()
	if bias.Chunks != 1 || bias.Lanes != 8 {
		t.Fatalf("%d chunks, %d lanes, want 1, 8", bias.Chunks, bias.Lanes)
	}
	flat := BiasReLUArgs{B: 8, H: 16, W: 16, C: 32, Side: 1}
	flat.Split()
	sub := SubsampleArgs{B: 8, H: 16, W: 16, C: 32, O: 64, Stride: 2}
	sgd := SGDArgs{P: 1088, N: 1024}
	linear := LinearArgs{B: 8, I: 32, O: 64}
	reduce := ConvReduceArgs{N: 1024, O: 32, Chunks: 3}
	written := conv
	written.DW, conv.Images = 1, 8
	graded := linear
	graded.Grad = 1
	for _, c := range []struct {
		name string
		got  Cost
		want Cost
	}{
		{"norm_moments tf32", norm.Moments(TF32).Cost, Cost{Bytes: 4*maps + 16*2*32}},
		{"norm_moments bf16", norm.Moments(BF16).Cost, Cost{Bytes: 2*maps + 16*2*32}},
		{"norm_statistics", norm.Channels(BF16).Cost, Cost{Bytes: 16 * 2 * 32}},
		{"norm_apply", norm.Apply(FP32).Cost, Cost{Bytes: 8 * maps}},
		{"norm_apply and add", added.Apply(BF16).Cost, Cost{Bytes: 6 * maps}},
		{"norm_sums", norm.Sums(FP32).Cost, Cost{Bytes: 8 * maps}},
		{"norm_sums of two gradients behind a sum", summed.Sums(FP32).Cost, Cost{Bytes: 20 * maps}},
		{"norm_input", norm.Input(BF16).Cost, Cost{Bytes: 6 * maps}},
		{"bias_relu", flat.Forward(TF32).Cost, Cost{Bytes: 8 * maps}},
		{"bias_relu and pooling", bias.Forward(BF16).Cost, Cost{Bytes: 11 * 8 * 8 * 8 * 32}},
		{"bias_relu_backward", flat.Backward(FP32).Cost, Cost{Bytes: 12*maps + 4*2*32}},
		{"bias_relu_backward and pooling", bias.Backward(BF16).Cost, Cost{
			Bytes: 3*8*8*8*32 + 2*8*17*16*32 + 4*32,
		}},
		{"average_pool", (&AverageArgs{B: 8, Pixels: 64, C: 64}).Launch(TF32).Cost, Cost{Bytes: 4 * (8*64*64 + 8*64)}},
		{"subsample", sub.Forward(TF32).Cost, Cost{Bytes: 4 * (8*8*8*64 + 8*8*8*32)}},
		{"subsample_backward", sub.Backward(BF16).Cost, Cost{Bytes: 2 * (maps + 8*8*8*32)}},
		{"conv2d_forward", conv.Forward(TF32).Cost, Cost{
			FLOP:  2 * 8 * 64 * 288 * 64,
			Bytes: 4 * (maps + 288*64 + 8*64*64),
		}},
		{"conv2d_backward_data", conv.BackwardData(BF16).Cost, Cost{
			FLOP:  2 * 8 * 64 * 288 * 64,
			Bytes: 2 * (maps + 288*64 + 8*64*64),
		}},
		{"conv2d_backward_filter, 3 chunks", written.BackwardFilter(BF16).Cost, Cost{
			FLOP:  2 * 8 * 64 * 288 * 64,
			Bytes: 2*(maps+8*64*64) + 3*4*288*64,
		}},
		{"conv2d_backward_filter, an update", conv.BackwardFilter(BF16).Cost, Cost{
			FLOP:     2 * 8 * 64 * 288 * 64,
			Bytes:    2*(maps+8*64*64) + 10*288*64,
			Momentum: 8 * 288 * 64, Drift: 4 * 288 * 64,
		}},
		{"linear_backward_filter", graded.BackwardFilter(BF16).Cost, Cost{
			FLOP:  2 * 8 * 32 * 64,
			Bytes: 2*(8*32+8*64) + 4*33*64,
		}},
		{"linear_backward_filter, an update", linear.BackwardFilter(FP32).Cost, Cost{
			FLOP:     2 * 8 * 32 * 64,
			Bytes:    4*(8*32+8*64) + 8*33*64,
			Momentum: 8 * 33 * 64, Drift: 4 * 33 * 64,
		}},
		{"conv_reduce, an update", reduce.Launch(BF16).Cost, Cost{
			Bytes: (3*4 + 10) * 1056, Momentum: 8 * 1056, Drift: 4 * 1056,
		}},
		{"gather of features", (&GatherArgs{B: 8, H: 1, W: 1, C: 60}).Launch(BF16).Cost, Cost{Bytes: 6 * 8 * 60}},
		{"cross_entropy of the loss alone", (&CrossEntropyArgs{B: 8, O: 10}).Launch(FP32).Cost, Cost{Bytes: 320}},
		{"head bf16", (&HeadArgs{B: 8, I: 30, J: 20, O: 10, Grad: 1}).Launch(BF16).Cost, Cost{
			FLOP:  6 * 8 * (30*20 + 20*10),
			Bytes: 2*(2*8*30+30*20+20*10) + 4*(31*20+21*10),
		}},
		{"head fp32, an update", (&HeadArgs{B: 8, I: 30, J: 20, O: 10}).Launch(FP32).Cost, Cost{
			FLOP:     6 * 8 * (30*20 + 20*10),
			Bytes:    4*(2*8*30+30*20+20*10) + 8*(31*20+21*10),
			Momentum: 8 * (31*20 + 21*10), Drift: 4 * (31*20 + 21*10),
		}},
		{"log_odds", (&LogOddsArgs{N: 8}).Forward(FP32).Cost, Cost{Bytes: 96}},
		{"log_odds_backward", (&LogOddsArgs{N: 8}).Backward(BF16).Cost, Cost{Bytes: 48}},
		{"score", (&ScoreArgs{B: 8, O: 10}).Launch(BF16).Cost, Cost{Bytes: 320}},
		{"begin fp32", (&RowsArgs{P: 1024}).Begin(FP32).Cost, Cost{Bytes: 8 * 1024}},
		{"begin bf16", (&RowsArgs{P: 1024}).Begin(BF16).Cost, Cost{Bytes: 10 * 1024}},
		{"begin tf32", (&RowsArgs{P: 1024}).Begin(TF32).Cost, Cost{Bytes: 8 * 1024}},
		{"round_weights", (&RowsArgs{P: 1024}).Round().Cost, Cost{Bytes: 6 * 1024}},
		{"combine of 3", (&CombineArgs{P: 1024, Terms: 3}).Launch().Cost, Cost{Bytes: 16 * 1024}},
		{"dot", (&DotArgs{X: 1, Y: 2, N: 1024}).Launch().Cost, Cost{Bytes: 8192}},
		{"dot of a row with itself", (&DotArgs{X: 1, Y: 1, N: 1024}).Launch().Cost, Cost{Bytes: 4096}},
		{"grad_squares", (&ClipArgs{N: 5000}).Squares(TF32).Cost, Cost{Bytes: 20000}},
		{"clip_scale, 2 partial sums", (&ClipArgs{N: 5000}).Scales(TF32).Cost, Cost{Bytes: 20}},
		{"sgd tf32", sgd.Launch(TF32).Cost, Cost{Bytes: 12 * 1024, Momentum: 8 * 1024, Drift: 4 * 1024}},
		{"sgd of the last", (&SGDArgs{P: 1088, N: 1024, First: 960}).Launch(BF16).Cost, Cost{
			Bytes: 14 * 64, Momentum: 8 * 64, Drift: 4 * 64,
		}},
		{"track", sgd.Running(TF32).Cost, Cost{Bytes: 12 * 64}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, c.got, c.want)
		}
	}
	flop, bytes := sgd.Launch(FP32).Of(3, 2, 1)
	if want := 1024. * (3*12 + 2*8 + 4); flop != 0 || bytes != want {
		t.Errorf("sgd of 3 slots, 2 with momentum, 1 with drift: %g operations, %g bytes, want 0, %g",
			flop, bytes, want)
	}
}

// A launch covers every element, and never has an empty grid.
func TestRowGeometry(t *testing.T) {
	for _, n := range []uint32{1, 63, 64, 1023, 1024, 1025, 4095, 4096, 4097, 551786} {
		for name, c := range map[string]struct {
			g    Launch
			each int // elements of a block
		}{
			"relu_backward": {(&ReLUArgs{N: n}).Launch(FP32), 1024},
			"dropout":       {(&DropoutArgs{N: n}).Launch(FP32), 1024},
			"begin":         {(&RowsArgs{P: n}).Begin(FP32), 1024},
			"combine":       {(&CombineArgs{P: n}).Launch(), 1024},
			"sgd":           {(&SGDArgs{N: n + 64, First: 64}).Launch(FP32), 1024},
			"track":         {(&SGDArgs{P: n + 64, N: 64}).Running(FP32), 1024},
			"average_pool":  {(&AverageArgs{B: 1, C: n}).Launch(FP32), 1024},
			"dot":           {(&DotArgs{N: n}).Launch(), 4096},
			"grad_squares":  {(&ClipArgs{N: n}).Squares(FP32), 4096},
			"gather":        {(&GatherArgs{B: 1, H: 1, W: n, C: 1}).Launch(FP32), 4096},
			"conv_reduce":   {(&ConvReduceArgs{N: n, O: 0}).Launch(FP32), 512},
		} {
			if covered := c.g.X * c.each; covered < int(n) || covered-c.each >= int(n) || c.g.Threads%32 != 0 {
				t.Errorf("%s of %d elements: %+v, %d elements a block: covers %d", name, n, c.g, c.each, covered)
			}
		}
	}
	for _, c := range []struct {
		a    GatherArgs
		want int
	}{
		{GatherArgs{Images: 1, B: 1, H: 1, W: 1, C: 3}, 3072},
		{GatherArgs{Images: 1, B: 1, H: 1, W: 1, C: 33}, 0},
		{GatherArgs{B: 1, H: 1, W: 1, C: 3}, 0},
	} {
		if got := c.a.Launch(FP32).Shared; got != c.want {
			t.Errorf("gather of %d channels, images %t: %d bytes of shared memory, want %d",
				c.a.C, c.a.Images != 0, got, c.want)
		}
	}
}

// Kernels refuse sizes that they cannot take: shared memory that no card has, or more elements than they count. That
// the launches of all nets fit the smallest card is for TestEveryCard of package gpu.
func TestFits(t *testing.T) {
	for _, c := range []struct {
		H, C, R, O, pad uint32
		want            bool
	}{
		{32, 3, 5, 32, 0, true},
		{14, 6, 5, 16, 0, true},
		{16, 512, 3, 512, 1, true},
		{16, 256, 5, 256, 2, true},
		{16, 4096, 3, 64, 1, false}, // one window's pixels take 128 KB and more
		{16, 64, 3, 4096, 1, false},
	} {
		for _, p := range []Precision{FP32, TF32, BF16} {
			a := ConvArgs{B: 128, H: c.H, W: c.H, C: c.C, R: c.R, S: c.R, O: c.O, Pad: c.pad}
			a.Images = a.ChunkImages()
			if got := a.Fits(p); got != c.want {
				t.Errorf("conv %+v %s: fits %v, want %v", c, p, got, c.want)
			}
		}
	}
	for _, c := range []struct {
		a    Conv2DArgs
		want bool
	}{
		{Conv2DArgs{B: 512, H: 32, W: 32, C: 64, R: 3, S: 3, O: 128, U: 2, Pad: 1}, true},
		{Conv2DArgs{B: 1, H: 1 << 13, W: 1, C: 1, R: 1, S: 1, O: 1, U: 1}, false},
		{Conv2DArgs{B: 1 << 12, H: 32, W: 32, C: 3, R: 3, S: 3, O: 512, U: 1, Pad: 1}, false},
	} {
		if got := c.a.Fits(); got != c.want {
			t.Errorf("conv2d %+v: fits %v, want %v", c.a, got, c.want)
		}
	}
	for a, want := range map[HeadArgs]bool{
		{B: 128, I: 100000, J: 64, O: 16}: true,
		{B: 129, J: 64, O: 16}:            false, {B: 128, J: 65, O: 16}: false, {B: 128, J: 64, O: 17}: false,
	} {
		if got := a.Fits(); got != want {
			t.Errorf("head B=%d I=%d J=%d O=%d: fits %v, want %v", a.B, a.I, a.J, a.O, got, want)
		}
	}
}
