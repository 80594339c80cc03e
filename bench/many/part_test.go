package many

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Part{"1/1": {1, 1}, "2/8": {2, 8}, "10000/10000": {10000, 10000}} {
		var got Part
		if err := got.Set(text); got != want || err != nil || got.String() != text {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "1", "/", "0/8", "9/8", "-1/8", "+1/8", "1/0", "1/-1", "1/10001", "1/8/9", " 1/8", "a/b", "1.0/2",
		"1/99999999999",
	} {
		var got Part
		if err := got.Set(text); err == nil {
			t.Errorf("%q: %+v, want an error", text, got)
		}
	}
	if whole := (Part{}); whole.String() != "" || !whole.IsWhole() {
		t.Errorf("the zero value: %q, want the whole, without a name", whole)
	}
}

// The parts are the sorted keys dealt out one by one: numbers sort as numbers, and a key that two cells have is one.
func TestKeys(t *testing.T) {
	all := []RunKey{{"b", 3}, {"a", 10}, {"a", 9}, {"b", 1}, {"a", 9}, {"c", 7}}
	for _, c := range []struct {
		part Part
		want string
	}{
		{Part{}, "map[{a 9}:true {a 10}:true {b 1}:true {b 3}:true {c 7}:true]"},
		{Part{1, 2}, "map[{a 9}:true {b 1}:true {c 7}:true]"},
		{Part{2, 2}, "map[{a 10}:true {b 3}:true]"},
		{Part{5, 5}, "map[{c 7}:true]"},
		{Part{6, 6}, "map[]"},
	} {
		if got := fmt.Sprint(c.part.Keys(all)); got != c.want {
			t.Errorf("part %s: %s, want %s", c.part, got, c.want)
		}
	}
}

// However runs are listed and however many parts there are, every run is in one part, and parts differ by a run.
func TestPartsCover(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		keys := make([]RunKey, draw.IntN(60))
		for i := range keys {
			keys[i] = RunKey{fmt.Sprint("cell", draw.IntN(9)), draw.Uint32N(6)}
		}
		n, times := 1+draw.IntN(70), map[RunKey]int{}
		least, most := len(keys), 0
		for i := range n {
			draw.Shuffle(len(keys), func(a, b int) { keys[a], keys[b] = keys[b], keys[a] })
			in := Part{i + 1, n}.Keys(keys)
			least, most = min(least, len(in)), max(most, len(in))
			for key := range in {
				times[key]++
			}
		}
		for _, key := range keys {
			if times[key] != 1 {
				t.Fatalf("%d parts: %+v is in %d of them, want one", n, key, times[key])
			}
		}
		if most-least > 1 {
			t.Errorf("%d parts of %d to %d runs, want them equal to one run", n, least, most)
		}
	}
}
