package settings

import (
	"testing"
)

func TestDidYouMean(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"fedawe-2", ""}, {"x", ""}, {"", ""},
	} {
		if got := DidYouMean(c.name, []string{"stationary", "sine"}); got != c.want {
			t.Errorf("%q: %q, want %q", c.name, got, c.want)
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
