package papers

import (
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
)

// A row's own settings are those that its table does not give its method; the table's 1/T is a number in a row.
func TestOwn(t *testing.T) {
	of := must.Get(TableByID("cafed-1"))(t)
	for _, c := range []struct {
		data   string
		params results.Params
		want   results.Params
	}{
		{"binary", "batch=32;f3ast-beta=0.25;lr=0.03;rounds=4", "rounds=4"},
		{"mnist", "batch=64;f3ast-beta=0.25;lr=0.0316;rounds=4", "rounds=4"},
		{"mnist", "batch=32;lr=0.0316", "batch=32"}, // the other column's
		{"binary", "batch=32;eval-every=5;lr=0.03", "eval-every=5"},
		{"leaf", "batch=32", "batch=32"},
	} {
		r := results.SummaryRow{Setup: results.Setup{
			Method: "f3ast", Preset: "code", Data: c.data, Availability: "markov",
		}, Params: c.params}
		if got := of.Own(&r); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.data, c.params, got, c.want)
		}
	}
	// A method that the table does not have has nothing of its own but what the user gave.
	for method, params := range map[string]results.Params{
		"fedar": "batch=32;local-steps=10;lr=0.2;rounds=4;split=classes;weight-decay=0.01",
		"new":   "augment=none;batch=32;init=torch;lr=0.2;rounds=4;split=classes",
	} {
		r := results.SummaryRow{Setup: results.Setup{
			Method: method, Preset: "code", Data: "binary", Net: "linear-binary", Availability: "markov",
		}, Params: params}
		if got := of.Own(&r); got != "lr=0.2;rounds=4" {
			t.Errorf("%s %s: %q, want lr=0.2;rounds=4", method, params, got)
		}
	}
}
