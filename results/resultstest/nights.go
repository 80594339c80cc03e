package resultstest

import (
	"testing"
	"time"

	"rollcall/internal/must"
	"rollcall/results/track"
)

// Nights puts so many nights with ten samples of about 100 ms each in a history, the last ones slower by a factor.
func Nights(t *testing.T, dir string, m track.Machine, nights, slow int, factor float64) {
	t.Helper()
	w := must.Get(track.NewWriter(dir))(t)
	defer w.Close()
	begin := time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC)
	for night := range nights {
		ms := 100 + float64(night*7%11)/10
		if night >= nights-slow {
			ms *= factor
		}
		v := track.Measurement{Metric: "round/cifar10", Unit: "ms"}
		for i := range 10 {
			v.Wall = append(v.Wall, ms*(1+float64(i%7)/1000))
		}
		at := begin.AddDate(0, 0, night)
		must.OK(t, w.Append(m, track.Night{
			Run: track.RunName(at), Time: at, Version: "v1", Go: "go1.26", Values: []track.Measurement{v},
		}))
	}
}
