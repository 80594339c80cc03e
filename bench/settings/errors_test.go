package settings

import (
	"testing"
)

func TestDidYouMean(t *testing.T) {
	for _, name := range []string{"fedawe-2", "x", ""} {
		if got := DidYouMean(name, []string{"stationary", "sine"}); got != "" {
			t.Errorf("%q: %q, want nothing", name, got)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"kitten", "sitting", 3}, {"sine", "sine", 0}, {"flaw", "lawn", 2}} {
		if got := editDistance(c.a, c.b); got != c.want {
			t.Errorf("distance of %q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
