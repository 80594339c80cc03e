package settings

import (
	"testing"

	"rollcall/results"
)

// FuzzSet: a setting that is taken has one form, which is taken again, and what is valid has a hash.
func FuzzSet(f *testing.F) {
	for _, r := range Rows() {
		f.Add(r.Name, r.Default, "fedawe", "code")
		f.Add(r.Name, "none", "ca-fed", "paper")
	}
	for _, text := range []string{"NaN", "-Inf", "0x1p-1074", "1e309", "9223372036854775808", "0b1_0", "", "a;b=c\n"} {
		f.Add("lr", text, "mifa", "paper")
		f.Add("clients", text, "fedar", "code")
		f.Add("trace", text, "fedar", "code")
	}
	f.Fuzz(func(t *testing.T, name, value, method, preset string) {
		s, err := Defaults(method, preset, "binary")
		if err != nil {
			return
		}
		if name == "clients" && len(value) > 4 {
			return // as many are made, to see whether the availability model takes them
		}
		if s.Set(name, value) != nil {
			return
		}
		once := s.Get(name)
		if err := s.Set(name, once); err != nil || s.Get(name) != once {
			t.Errorf("--%s %q is %q, and that %q: %v", name, value, once, s.Get(name), err)
		}
		if s.Validate() != nil {
			return
		}
		results.Hash(s)
		for param, v := range s.Params().All() {
			if _, known := s.Values()[param]; !known || v == "" && name != param {
				t.Errorf("--%s %q: params %q, want settings of a run", name, value, s.Params())
			}
		}
	})
}
