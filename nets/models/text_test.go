package models

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/internal/must"
)

// Spellings of one net have one text.
func TestTexts(t *testing.T) {
	for _, c := range []struct{ text, name, want string }{
		{"conv 6 5x5 pool, linear 10", "", "conv 6 5x5 pool, linear 10"},
		{"CONV 06 5X5 stride 1 pad 0 Pool ,\tlinear  10", "", "conv 6 5x5 pool, linear 10"},
		{"conv 6 5×5 pool pad 2 stride 3", "", "conv 6 5x5 stride 3 pad 2 pool"},
		{"conv 6 5x3 relu norm pad 1", "", "conv 6 5x3 pad 1 norm relu"},
		{"conv 6 1x1 norm", "", "conv 6 1x1 norm"},
		{"conv 6 1x1", "", "conv 6 1x1"},
		{"block 8 stride 1, block 8 stride 2, average", "", "block 8, block 8 stride 2, average"},
		{"dropout 0.50, dropout 5e-1, linear 3", "", "dropout 0.5, dropout 0.5, linear 3"},
		{"none", "", "none"},
		{"NONE\n", "", "none"},
		{"Mine: linear 3", "Mine", "linear 3"},
		{"my-net_2 :linear 3", "my-net_2", "linear 3"},
		{"mine:\nlinear 3,\n\n# a comment, of two\r\nlinear 4 # another\n", "mine", "linear 3, linear 4"},
		{"\ufeff# first\nmine: linear 3\nlinear 4, linear 5", "mine", "linear 3, linear 4, linear 5"},
		{"linear: linear 3", "linear", "linear 3"},
	} {
		name, l, err := parse(c.text)
		if err != nil || name != c.name || l.String() != c.want {
			t.Errorf("%q: name %q, %q, error %v; want %q, %q", c.text, name, l, err, c.name, c.want)
		}
		if !IsText(c.text) {
			t.Errorf("%q is not taken for a text", c.text)
		}
	}
	for _, name := range []string{
		"lenet5", "", "lenet5,resnet18", "lenet5, resnet18", "nets/my net.txt", "net.txt", "avrage",
	} {
		if IsText(name) {
			t.Errorf("%q is taken for a text", name)
		}
	}
}

// Every wrong text has an error of one line that says where and what.
func TestWrongTexts(t *testing.T) {
	small := plan.Shape{H: 6, W: 8, C: 3, Classes: 5}
	for _, c := range []struct{ text, want string }{
		{"", "no layers, want some, or none for the last layer alone"},
		{"2nd: linear 3", `name "2nd": want a letter, then letters, digits, _ and -`},
		{
			"my net: linear 3",
			`layer 1 "my net: linear 3": "my": unknown, want one of conv, block, average, dropout, linear`,
		},
		{": linear 3", `name "": want a letter, then letters, digits, _ and -`},
		{"linear 3,, linear 4", `layer 2 "": empty`},
		{", linear 3", `layer 1 "": empty`},
		{
			"cnov 8 3x3 pool",
			`layer 1 "cnov 8 3x3 pool": "cnov": unknown, did you mean conv, want one of conv, block, ` +
				`average, dropout, linear`,
		},
		{
			"lenet5, linear 3",
			`layer 1 "lenet5": "lenet5": unknown, did you mean linear, want one of conv, block, average, ` +
				`dropout, linear`,
		},
		{"pool", `layer 1 "pool": "pool": unknown, want one of conv, block, average, dropout, linear`},
		{"conv", `layer 1 "conv": want conv N RxS [stride S] [pad P] [pool | norm [relu]]`},
		{"conv 8", `layer 1 "conv 8": want conv N RxS [stride S] [pad P] [pool | norm [relu]]`},
		{"conv 8 3", `layer 1 "conv 8 3": window "3": want one such as 3x3`},
		{"conv 8 3x", `layer 1 "conv 8 3x": window "": want a whole number, 1 … 63`},
		{"conv 8 3x3x3", `layer 1 "conv 8 3x3x3": window "3x3": want a whole number, 1 … 63`},
		{"conv 70000 3x3", `layer 1 "conv 70000 3x3": channels "70000": want a whole number, 1 … 65536`},
		{"conv 8 64x3", `layer 1 "conv 8 64x3": window "64": want a whole number, 1 … 63`},
		{
			"conv 8 3x3 stirde 2",
			`layer 1 "conv 8 3x3 stirde 2": "stirde": unknown, did you mean stride, want conv N RxS [stride ` +
				`S] [pad P] [pool | norm [relu]]`,
		},
		{"conv 8 3x3 stride", `layer 1 "conv 8 3x3 stride": want conv N RxS [stride S] [pad P] [pool | norm [relu]]`},
		{"conv 8 3x3 stride 0", `layer 1 "conv 8 3x3 stride 0": stride "0": want a whole number, 1 … 63`},
		{
			"conv 8 3x3 stride 99999999999999999999",
			`layer 1 "conv 8 3x3 stride 99999999999999999999": stride "99999999999999999999": want a whole ` +
				`number, 1 … 63`,
		},
		{"conv 8 3x3 pad 3", `layer 1 "conv 8 3x3 pad 3": padding 3 of a 3×3 window, want at most 2`},
		{"conv 8 3x3 pool norm", `layer 1 "conv 8 3x3 pool norm": pool and norm: want one of the two`},
		{
			"conv 8 3x3 relu",
			`layer 1 "conv 8 3x3 relu": relu without norm: a convolution without norm always has a ReLU`,
		},
		{"conv 8 3x3 pad 1 pad 1", `layer 1 "conv 8 3x3 pad 1 pad 1": pad twice`},
		{
			"conv 8 3x3 2",
			`layer 1 "conv 8 3x3 2": "2": unknown, want conv N RxS [stride S] [pad P] [pool | norm [relu]]`,
		},
		{"block 8 stride 3", `layer 1 "block 8 stride 3": stride "3": want a whole number, 1 … 2`},
		{"block 8 pad 1", `layer 1 "block 8 pad 1": "pad": unknown, want block N [stride 2]`},
		{"block 8 3x3", `layer 1 "block 8 3x3": "3x3": unknown, want block N [stride 2]`},
		{"average, conv 8 3x3", `layer 2 "conv 8 3x3": behind average there are no maps, want conv before it`},
		{
			"linear 3, conv 8 3x3 pool",
			`layer 2 "conv 8 3x3 pool": behind linear there are no maps, want conv before it`,
		},
		{"dropout 0.5, block 8", `layer 2 "block 8": behind dropout there are no maps, want block before it`},
		{"dropout", `layer 1 "dropout": want dropout RATE`},
		{"dropout 0", `layer 1 "dropout 0": rate "0": want a number above 0 and below 1`},
		{"dropout nan", `layer 1 "dropout nan": rate "nan": want a number above 0 and below 1`},
		{"linear", `layer 1 "linear": want linear N`},
		{"linear 1e3", `layer 1 "linear 1e3": outputs "1e3": want a whole number, 1 … 65536`},
		{"linear 3 relu", `layer 1 "linear 3 relu": "relu": unknown, want linear N`},
		{"linear 3, none", `layer 2 "none": none is for a net without other layers`},
		{"none, none", `layer 1 "none": none is for a net without other layers`},
		{"block 3, linear 4", `layer 2 "linear 4": behind a block, want average before it, or a conv`},
		{"block 3", `layer 1 "block 3": the end, want average behind it, or a conv`},
		{
			"conv 8 3x3, conv 16 5x7",
			`net-8d47b1ef: layer 2 "conv 16 5x7": 4×6×8 maps with padding 0 are smaller than the 5×7 window`,
		},
		{
			"conv 8 7x3",
			`net-0c433670: layer 1 "conv 8 7x3": 6×8×3 maps with padding 0 are smaller than the 7×3 window`,
		},
		{
			"conv 8 3x3 stride 2, conv 8 2x3, conv 4 1x1 pool",
			`net-28822def: layer 3 "conv 4 1x1 pool": of 1×1×8 maps the convolution makes 1×1×4, want at ` +
				`least 2×2 to pool`,
		},
		{
			"conv 8 5x8 pool",
			`net-36263808: layer 1 "conv 8 5x8 pool": of 6×8×3 maps the convolution makes 2×1×8, want at ` +
				`least 2×2 to pool`,
		},
		{
			"conv 8 6x8 norm",
			`net-baecf394: layer 1 "conv 8 6x8 norm": of 6×8×3 maps it makes 1×1×8, which have no variance ` +
				`in a batch of one sample, want at least 2 pixels to normalise`,
		},
		{
			"conv 8 6x8, block 8, average",
			`net-0a3151bd: layer 2 "block 8": of 1×1×8 maps it makes 1×1×8, which have no variance in a ` +
				`batch of one sample, want at least 2 pixels to normalise`,
		},
		{
			"conv 8 3x3 pad 1 pool, block 8 stride 2, block 8 stride 2, average",
			`net-49db5a2e: layer 3 "block 8 stride 2": of 2×2×8 maps it makes 1×1×8, which have no variance ` +
				`in a batch of one sample, want at least 2 pixels to normalise`,
		},
		{
			"conv 65536 1x1, conv 65536 1x1 pool",
			`net-4d768a9c: layer 2 "conv 65536 1x1 pool": 4295294976 parameters up to here, want at most 2147483647`,
		},
		{"linear \xff", "want UTF-8"},
		{
			"conv 8 3x3 pool, linear twelvetwelvetwelvetwelvetwelvetwelvetwelvetwelvetwelvetwelvetwelvetwelve",
			`layer 2 "linear twelvetwelvetwelvetwelvetwelvetwelvetwelvetwelvetwelv…": outputs ` +
				`"twelvetwelvetwelvetwelvetwelvetwelvetwel": want a whole number, 1 … 65536`,
		},
		{
			"linear 3\r\nconv 8 3x3 \x1b[31m",
			"layer 2 \"conv 8 3x3 \\x1b[31m\": \"\\x1b[31m\": unknown, want conv N RxS [stride S] [pad P] " +
				"[pool | norm [relu]]",
		},
		{strings.Repeat("linear 2, ", 200) + "linear 2", "201 layers, want at most 200"},
		{strings.Repeat("#", 1<<17), "a text of 131072 bytes, want at most 65536"},
	} {
		_, err := Describe(c.text, small)
		if err == nil || err.Error() != "nets: "+c.want {
			t.Errorf("%q:\ngot  %v\nwant nets: %s", c.text, err, c.want)
		}
	}
}

// A net is registered once under one name, and everything that lists nets has it then.
func TestRegister(t *testing.T) {
	before := len(own.nets)
	t.Cleanup(func() { own.nets = own.nets[:before] }) // the other tests are of the catalogue
	for _, c := range []struct{ text, name, want string }{
		{"LINEAR 3", "", "net-8a31d251"},
		{"linear 03 ", "", "net-8a31d251"},
		{"linear 3", "of-file", "of-file"},
		{"mine: linear 3", "of-file", "mine"},
		{"norms: conv 3 3x3 norm, linear 3", "", "norms"},
	} {
		if got, err := Register(c.text, c.name); got != c.want || err != nil {
			t.Errorf("%q: %q, %v, want %q", c.text, got, err, c.want)
		}
	}
	if got := Names()[len(catalogue):]; Registered() != before+4 ||
		!slices.Equal(got, []string{"net-8a31d251", "of-file", "mine", "norms"}) {
		t.Errorf("%d nets: %v", Registered(), got)
	}
	for _, c := range []struct{ text, name, want string }{
		{"mine: linear 4", "", `nets: two nets are called mine: "linear 3" and "linear 4"`},
		{"linear 4", "lenet5", "nets: lenet5: the name of a net of rollcall, want another"},
		{
			"linear 4", "my.net",
			`nets: name "my.net": want a letter, then letters, digits, _ and -; a text may name its net: NAME: layers`,
		},
		{"linear x", "mine", `nets: mine: layer 1 "linear x": outputs "x": want a whole number, 1 … 65536`},
	} {
		if _, err := Register(c.text, c.name); err == nil || err.Error() != c.want {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
	for _, c := range []struct {
		name, layers, text string
		revision           int
		own, linear        bool
	}{
		{"mine", "linear 3", "mine: linear 3", 1, true, false},
		{"norms", "conv 3 3x3 norm, linear 3", "norms: conv 3 3x3 norm, linear 3", normRevision, true, false},
		{"lenet5", "conv 6 5x5 pool, conv 16 5x5 pool, linear 120, linear 84", "lenet5", 1, false, false},
		{"linear-mnist", "none", "linear-mnist", 1, false, true},
		{"linear-binary", "", "linear-binary", 1, false, true},
		{"resnet20", "", "resnet20", normRevision + winogradRevision, false, false},
		{"nobody", "", "nobody", 0, false, false},
	} {
		if Layers(c.name) != c.layers || Text(c.name) != c.text || Revision(c.name) != c.revision ||
			Own(c.name) != c.own || Linear(c.name) != c.linear {
			t.Errorf("%s: layers %q, text %q, revision %d, own %t, linear %t; want %v", c.name, Layers(c.name),
				Text(c.name), Revision(c.name), Own(c.name), Linear(c.name), c)
		}
	}
	m := must.Get(Shaped("norms", plan.Shape{H: 5, W: 4, C: 2, Classes: 7}))(t)
	var names []string
	for _, p := range m.Params {
		names = append(names, fmt.Sprint(p.Name, p.Shape))
	}
	if got := strings.Join(names, " "); got != "conv1.weight[3 2 3 3] bn1.weight[3] bn1.bias[3] bn1.running_mean[3] "+
		"bn1.running_var[3] fc1.weight[3 18] fc1.bias[3] fc2.weight[7 3] fc2.bias[7]" {
		t.Errorf("norms has the parameters %s", got)
	}
}

// The one text of what parses is a text of the same net.
func FuzzParse(f *testing.F) {
	for _, m := range catalogue {
		f.Add(m.layers.String())
	}
	for _, text := range []string{
		"mine:\nconv 6 5x3 stride 2 pad 1 norm relu # x\n", "conv 6 5×5, block 3 stride 2\r\naverage, dropout .5,",
		"none", ":,",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, l, err := parse(text)
		if err != nil {
			if s := err.Error(); strings.ContainsAny(s, "\r\n") || len(s) > 1000 {
				t.Errorf("%q: error %q, want one short line", text, s)
			}
			return
		}
		one := l.String()
		if again, l, err := parse(name + ": " + one); name != "" && (err != nil || again != name || l.String() != one) {
			t.Errorf("%q: %q, and from that %q, %q, %v", text, one, again, l, err)
		}
		if _, l, err := parse(one); err != nil || l.String() != one || !IsText(one) {
			t.Errorf("%q: %q, and from that %q, %v", text, one, l, err)
		}
		_, _ = Describe(text, plan.Shape{H: 9, W: 7, C: 2, Classes: 3})
	})
}
