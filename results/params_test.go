package results

import "testing"

// Labels have few digits, and as many as tell two values apart; what a person typed stays.
func TestShortParams(t *testing.T) {
	const third = "f3ast-beta=0.006666666666666667"
	for _, c := range []struct {
		params Params
		among  []Params
		want   string
	}{
		{"", nil, ""},
		{third, nil, "f3ast-beta=0.00667"},
		{third + ";lr=0.05", []Params{third}, "f3ast-beta=0.00667, lr=0.05"},
		{third, []Params{"f3ast-beta=0.0066666667"}, "f3ast-beta=0.00666666667"},
		{third, []Params{"f3ast-beta=0.00666711111"}, "f3ast-beta=0.0066667"},
		{third, []Params{"f3ast-beta=0.00667"}, "f3ast-beta=0.006667"},
		{third, []Params{"lr=0.00667"}, "f3ast-beta=0.00667"},
		{"lr=0.031622776601683795", []Params{"lr=0.0316"}, "lr=0.03162"},
		{"lr=1.2345678901234567e-05", nil, "lr=1.23e-05"},
		{"lr=-0.3333333333333333", nil, "lr=-0.333"},
		{"x=1234.56789012", nil, "x=1235"},
		{"x=0.125001", nil, "x=0.125001"},
		{"seed-init=4294967295;rounds=1000000", nil, "seed-init=4294967295, rounds=1000000"},
		{"trace=0.123456789.csv;classes=drawn;flag", nil, "trace=0.123456789.csv, classes=drawn, flag"},
	} {
		if got := c.params.Short(", ", c.among...); got != c.want {
			t.Errorf("%s among %q: %q, want %q", c.params, c.among, got, c.want)
		}
		all := append(c.among, c.params)
		for _, other := range c.among {
			if other != c.params && other.Short(";", all...) == c.params.Short(";", all...) {
				t.Errorf("%s and %s look alike", c.params, other)
			}
		}
	}
}
