package main

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"rollcall/internal/must"
	"rollcall/nets/gpu/ptx"
	"rollcall/nets/gpu/sass"
)

// asked is the question of the check about an opcode.
func asked(opcode string) question {
	types := ptx.Operations()[opcode]
	return question{opcode: opcode, types: types, operands: operands(types[1:])}
}

func TestInterpret(t *testing.T) {
	for opcode, compute := range map[string]func(o [3]uint64) uint64{
		"shr.u64": func(o [3]uint64) uint64 { return o[0] >> o[1] },
		"selp.u16": func(o [3]uint64) uint64 {
			return o[1-o[2]]
		},
		"setp.lt.s32": func(o [3]uint64) uint64 {
			if int32(uint32(o[0])) < int32(uint32(o[1])) {
				return 1
			}
			return 0
		},
		"neg.f64": func(o [3]uint64) uint64 { return o[0] ^ 1<<63 },
	} {
		q := asked(opcode)
		for i, got := range must.Get(q.interpret())(t) {
			if want := compute(q.operands[i]); got != want {
				t.Errorf("%s of %x: got %x, want %x", opcode, q.operands[i], got, want)
			}
		}
	}
}

type offline struct{}

func (offline) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("make check-ptx gets NVIDIA's assemblers")
}

// A result that differs from the assembler's is reported with its operands. One that the assembler does not compute is
// not, right or wrong.
func TestFold(t *testing.T) {
	online := http.DefaultTransport
	http.DefaultTransport = offline{}
	t.Cleanup(func() { http.DefaultTransport = online })
	all, err := sass.Assemblers(t.Context())
	if errors.Is(err, sass.ErrUnavailable) {
		t.Skip("left out: ", err)
	}
	must.OK(t, err)
	for _, c := range []struct {
		opcode string
		folds  bool
	}{
		{"add.s32", true},
		{"mul.rn.f32", true},
		{"setp.lt.u64", true},
		{"cvt.rna.tf32.f32", true},
		{"rcp.rn.f64", false},
	} {
		t.Run(c.opcode, func(t *testing.T) {
			q := asked(c.opcode)
			results := must.Get(q.interpret())(t)
			f := must.Get(q.fold(t.Context(), all[len(all)-1], results))(t)
			if len(f.differences) > 0 || (f.equal == cases) != c.folds {
				t.Errorf("%d of %d equal, different: %q", f.equal, f.cases, f.differences)
			}
			results[5] ^= 1
			f = must.Get(q.fold(t.Context(), all[len(all)-1], results))(t)
			var want []string
			if c.folds {
				want = []string{q.describe(5, results[5])}
			}
			if !slices.Equal(f.differences, want) || c.folds && f.equal != cases-1 {
				t.Errorf("%d of %d equal, different: %q, want %q", f.equal, f.cases, f.differences, want)
			}
		})
	}
}
