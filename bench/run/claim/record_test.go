package claim

import (
	"math"
	"strings"
	"testing"
)

// A record is read as it was written, and has the same length whatever its numbers are.
func TestRecord(t *testing.T) {
	r := record{id: "ID", host: "node-7", locks: "4f15.803", pid: 12, beat: 3, round: 120, rounds: 2000}
	want := "id ID\nhost node-7\npid 0000000012\nlocks 4f15.803\nbeat 0000000003\nround 0000000120\nrounds 0000002000\n"
	if got := string(r.text()); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, ok := parse(want); got != r || !ok {
		t.Errorf("read: %+v, %v, want %+v", got, ok, r)
	}
	for _, n := range []int{-1, 0, most, math.MaxInt} {
		s := r
		s.beat, s.round, s.rounds = n, n, n
		if got := len(s.text()); got != len(want) {
			t.Errorf("%d bytes for %d, want %d", got, n, len(want))
		}
	}
	odd, ok := parse(string(record{id: "ID", host: "two\nlines\x00"}.text()))
	if want := (record{id: "ID", host: "two_lines_"}); odd != want || !ok {
		t.Errorf("read: %+v, %v, want %+v", odd, ok, want)
	}
	for k := range len(want) {
		if got, ok := parse(want[:k]); ok {
			t.Errorf("the first %d bytes: %+v, want nothing", k, got)
		}
	}
}

func TestEpochOf(t *testing.T) {
	for name, want := range map[string]int{
		".claim-1": 1, ".claim-120": 120, ".claim-0": 0, ".claim-01": 0, ".claim--1": 0, ".claim-+1": 0, ".claim-": 0,
		"claim-1": 0, "1": 0, ".claim-1x": 0, ".claim-22222222222222222222222222": 0, ".epoch-1": 0,
	} {
		if got := epochOf(name); got != want {
			t.Errorf("%q: %d, want %d", name, got, want)
		}
	}
	if id := thisProcess().newID(); len(id) != 26 || epochOf(idName(id)) != 0 {
		t.Errorf("%q: %d, want the id of a claim, 26 characters", id, epochOf(idName(id)))
	}
}

func TestHolderString(t *testing.T) {
	for _, c := range []struct {
		Holder
		want string
	}{
		{Holder{PID: 123, Host: "x", Round: 120, Rounds: 2000}, "process 123 on host x, round 120/2000"},
		{Holder{PID: 123, Host: "x"}, "process 123 on host x"},
		{Holder{PID: 123}, "process 123 on host (unknown)"},
		{Holder{PID: 123, Host: "x", Mine: true, Rounds: 9}, "this process, round 0/9"},
		{
			Holder{PID: 123, Host: "x", Dead: true, Round: 1, Rounds: 9},
			"process 123 on host x (which has ended), round 1/9",
		},
		{Holder{}, "an unknown process"},
	} {
		if got := c.String(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.Holder, got, c.want)
		}
	}
}

// Whatever is read, a record that is taken for one is written as it was read.
func FuzzParse(f *testing.F) {
	f.Add(string(record{id: "ID", host: "h", locks: "b", pid: 1, beat: 2, round: 3, rounds: 4}.text()))
	f.Add("id X\n\nid Y\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, ok := parse(text)
		if !ok {
			return
		}
		odd := func(c rune) bool { return c < ' ' || c > '~' }
		if max(r.pid, r.beat, r.round, r.rounds) > most || strings.ContainsFunc(r.host+r.locks, odd) {
			return // not written by us
		}
		if again, ok := parse(string(r.text())); again != r || !ok {
			t.Errorf("%q: %+v, written and read again: %+v, %v", text, r, again, ok)
		}
	})
}
