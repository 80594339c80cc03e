package page

import (
	"regexp"
	"strings"
	"testing"

	"rollcall/results/plot"
)

// Paths in tenths, each relative to the one before: the last point is where it should be whatever came before.
func TestTrail(t *testing.T) {
	var b strings.Builder
	trail(&b, []plot.Place{{X: 1, Y: 2}, {X: 1.04, Y: 2.5}, {X: 1.55, Y: 1.5}, {X: 12, Y: -3.14}})
	if got, want := b.String(), "M1 2l0 .5 .6-1 10.4-4.6"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The names of marks stand in one line as long as they leave each other space, and then above. The lines are below all
// names, and the data keeps its height.
func TestMarks(t *testing.T) {
	c := plot.LineChart{Series: []plot.Series{{Name: "night", X: []float64{0, 100}, Y: []float64{1, 2}}}}
	place := regexp.MustCompile(`<path d="M\S+ (\S+)V(\S+)"/><text x="(\S+)" y="(\S+)">`)
	for _, test := range []struct {
		x    []float64
		want string // the tops of the lines, the ends, and where the names stand
	}{
		{nil, ""},
		{[]float64{20, 60}, "24 234 128.8 20, 24 234 278.4 20"},
		{[]float64{20, 25, 30, 80}, "56 266 128.8 52, 56 266 147.5 36, 56 266 166.2 20, 56 266 353.2 52"},
		{[]float64{100}, "24 234 411 20"}, // the name stays in the chart
	} {
		var marks []Mark
		for _, x := range test.x {
			marks = append(marks, Mark{X: x, To: x, Name: "1a2b3c", Class: "open"})
		}
		drawn, err := Draw(c, map[string]Key{}, marks...)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range place.FindAllStringSubmatch(string(drawn.SVG), -1) {
			got = append(got, strings.Join(m[1:], " "))
		}
		if text := strings.Join(got, ", "); text != test.want {
			t.Errorf("marks at %v: %q, want %q", test.x, text, test.want)
		}
		if strings.Contains(string(drawn.SVG), `<path class="open"`) {
			t.Errorf("marks at %v are shaded, want lines", test.x)
		}
	}
}
