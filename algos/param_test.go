package algos

import (
	"math"
	"slices"
	"testing"
)

// The values of both kinds of numbers: what is wanted in place of impossible ones.
func TestParamCheck(t *testing.T) {
	number := Param{Kind: Number}
	positive := Param{Kind: Number, None: true, Range: Above(0)}
	whole := Param{Kind: Whole, Range: Between(1, 1e6)}
	anyWhole := Param{Kind: Whole, None: true}
	for _, c := range []struct {
		name   string
		p      *Param
		text   string
		wanted string // the error, where there is one
	}{
		{"number", &number, "0.50", ""},
		{"number without a point", &number, "-3", ""},
		{"number with an exponent", &number, "1E-3", ""},
		{"NaN", &number, "NaN", "want a finite number"},
		{"infinity", &number, "inf", "want a finite number"},
		{"above all numbers", &number, "1e999", "want a finite number"},
		{"word for a number", &number, "much", "want a finite number"},
		{"nothing for a number", &number, "", "want a finite number"},
		{"two numbers", &number, "1 2", "want a finite number"},
		{"none that is no value", &number, "none", "want a finite number"},
		{"none", &positive, "none", ""},
		{"capital none", &positive, "None", "want a positive number, or none"},
		{"outside", &positive, "0", "want a positive number, or none"},
		{"whole", &whole, "1000000", ""},
		{"whole with an exponent", &whole, "1e6", ""},
		{"fraction", &whole, "1.5", "want a whole number 1 … 1000000"},
		{"whole outside", &whole, "1000001", "want a whole number 1 … 1000000"},
		{"whole NaN", &whole, "nan", "want a whole number 1 … 1000000"},
		{"whole of nothing", &whole, "", "want a whole number 1 … 1000000"},
		{"negative whole", &anyWhole, "-7", ""},
		{"no whole", &anyWhole, "none", ""},
		{"whole beyond 2⁵³", &anyWhole, "1e18", "want a whole number, or none"},
		{"the clients' number", fedAvgSLimit, "5", ""},
		{"more than the clients", fedAvgSLimit, "6", "want a whole number 1 … 5, all of the clients, or none"},
		{"more than the clients where it does not matter", f3astLimit, "6", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			if err := c.p.CheckFor(c.text, 5); err != nil {
				got = err.Error()
			}
			if got != c.wanted {
				t.Errorf("%s %q among 5 clients: %q, want %q", c.p.Name, c.text, got, c.wanted)
			}
		})
	}
}

// The ends of every range, and just beyond them.
func TestRange(t *testing.T) {
	for text, c := range map[string]struct {
		r       Range
		in, out []float64
	}{
		"a finite number":         {Range{}, []float64{-1e308, 0, 1e308}, nil},
		"0 or more":               {AtLeast(0), []float64{0, 1e308}, []float64{-1e-300}},
		"a positive number":       {Above(0), []float64{1e-300}, []float64{0, -1}},
		"a number above 2":        {Above(2), []float64{2.0000001}, []float64{2}},
		"0 … 1":                   {Between(0, 1), []float64{0, 0.5, 1}, []float64{-0.1, 1.1}},
		"1 … 2147483647":          {Between(1, 2147483647), []float64{1, 2147483647}, []float64{0, 2147483648}},
		"above 0 and at most 1":   {AboveUpTo(0, 1), []float64{1e-300, 1}, []float64{0, 1.1}},
		"at least 0 and below 1":  {AtLeastBelow(0, 1), []float64{0, 0.999}, []float64{1, -0.1}},
		"at least -1 and below 0": {AtLeastBelow(-1, 0), []float64{-1}, []float64{0, -1.5}},
	} {
		if got := c.r.String(); got != text {
			t.Errorf("%q, want %q", got, text)
		}
		for _, x := range c.in {
			if !c.r.Contains(x) {
				t.Errorf("%s: %g is not in it", text, x)
			}
		}
		for _, x := range append(c.out, math.NaN(), math.Inf(1), math.Inf(-1)) {
			if c.r.Contains(x) {
				t.Errorf("%s: %g is in it", text, x)
			}
		}
	}
}

// Every declaration is complete, and its defaults are values of the parameter.
func TestParams(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Params() {
		if p.Name == "" || p.Help == "" || seen[p.Name] {
			t.Errorf("parameter %q: usage %q, named before: %t, want a name of its own and a usage",
				p.Name, p.Help, seen[p.Name])
		}
		seen[p.Name] = true
		for _, preset := range []Preset{Code, Paper} {
			if text := p.DefaultFor(preset); !isValue(p, text) {
				t.Errorf("%s: default %q of preset %s, want a value", p.Name, text, preset)
			}
		}
		numeric := p.Kind == Number || p.Kind == Whole
		if (p.None || p.Range != Range{}) && !numeric || (p.Words != nil) != (p.Kind == Word) ||
			p.AtMostClients && p.Kind != Whole {
			t.Errorf("%s: %+v: none, a range or words, which its kind does not have", p.Name, *p)
		}
		if len(p.Methods()) == 0 {
			t.Errorf("%s: no method reads it", p.Name)
		}
		for _, c := range p.Only {
			if c.Text == "" || !c.Other.None || !slices.Contains(Params(), c.Other) {
				t.Errorf("%s: has a say only with %+v, want a parameter that may be none, and a text", p.Name, c)
			}
		}
	}
	for _, p := range Params() {
		for _, s := range p.Overrides {
			place := slices.IndexFunc(Params(), func(other *Param) bool { return other.Name == s.Name })
			if place < 0 || !isValue(Params()[place], s.Value) {
				t.Errorf("%s: sets %+v, want a parameter and a value of it", p.Name, s)
			}
		}
	}
}

func isValue(p *Param, text string) bool {
	switch p.Kind {
	case Switch:
		return text == "true" || text == "false"
	case Word:
		return slices.Contains(p.Words, text)
	}
	return p.CheckFor(text, 100) == nil
}

// kappa counts where bias-const is none, fedar-b where fedar-t0 is not, be it given or by default.
func TestParamHasSay(t *testing.T) {
	for _, c := range []struct {
		p    *Param
		o    Options
		want bool
	}{
		{cafedKappa, Options{Preset: Code}, false},
		{cafedKappa, Options{Preset: Paper}, true},
		{cafedKappa, withValues(Code, "bias-const", "none"), true},
		{cafedKappa, withValues(Paper, "bias-const", "2"), false},
		{fedarB, Options{Preset: Paper}, true},
		{fedarB, withValues(Paper, "fedar-t0", "none"), false},
		{fedarB, withValues(Paper, "fedar-g", "2"), false},
		{fedarG, withValues(Paper, "fedar-t0", "none"), false},
		{fedarRho, withValues(Paper, "fedar-t0", "none"), true},
	} {
		if got := c.p.HasSay(c.o); got != c.want {
			t.Errorf("%s with %+v: %t, want %t", c.p.Name, c.o, got, c.want)
		}
	}
	if want := (Setting{"bias-const", "none"}); len(cafedKappa.Overrides) != 1 || cafedKappa.Overrides[0] != want {
		t.Errorf("kappa sets %+v, want %+v", cafedKappa.Overrides, want)
	}
}
