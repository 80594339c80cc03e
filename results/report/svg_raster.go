package report

import (
	"fmt"
	"strings"

	"rollcall/results/plot"
)

// rasterKeys returns the legend of a raster's colours.
func rasterKeys(c plot.Raster) []key {
	keys := []key{{Name: "active", Class: "bar"}, {Name: "absent", Class: "away"}}
	for _, row := range c.Rows {
		if len(row.Out) > 0 {
			return []key{
				{Name: "active and included", Class: "bar"},
				{Name: "active and left out", Class: "out"},
				{Name: "absent", Class: "away"},
				{Name: "absent and left out", Class: "gone"},
			}
		}
	}
	return keys
}

// raster draws the activity of clients, with a bar of rounds for each client, as one path for each colour.
func (p place) raster(b *strings.Builder, c plot.Raster) {
	half := 0.34
	if len(c.Rows) > 20 {
		half = 0.5 // so many bars have no space for gaps
	}
	// Drawn one over the other: absent over the whole length, then the rounds of each other colour. So each colour is
	// one path, however often a client comes and goes.
	left := func(row plot.RasterRow, i int) bool { return i < len(row.Out) && row.Out[i] }
	for _, colour := range []struct {
		class string
		has   func(row plot.RasterRow, i int) bool
	}{
		{"away", func(plot.RasterRow, int) bool { return true }},
		{"bar", func(row plot.RasterRow, i int) bool { return row.On[i] && !left(row, i) }},
		{"out", func(row plot.RasterRow, i int) bool { return row.On[i] && left(row, i) }},
		{"gone", func(row plot.RasterRow, i int) bool { return !row.On[i] && left(row, i) }},
	} {
		var path strings.Builder
		for i, row := range c.Rows {
			y := float64(len(c.Rows) - 1 - i)
			plot.Stretches(len(row.On), func(round int) bool { return colour.has(row, round) }, func(from, to int) {
				p.box(&path, float64(from), float64(to), y-half, y+half, 0)
			})
		}
		if path.Len() > 0 {
			fmt.Fprintf(b, `<path class="%s" d="%s"/>`, colour.class, path.String())
		}
	}
}

// rasterWords says how often the clients are active, for readers who cannot see the chart.
func rasterWords(c plot.Raster) string {
	rounds, on, out := 0, 0, 0
	for _, row := range c.Rows {
		rounds += len(row.On)
		for i, here := range row.On {
			if here {
				on++
				if i < len(row.Out) && row.Out[i] {
					out++
				}
			}
		}
	}
	text := fmt.Sprintf("%d clients, active in %.0f %% of the rounds", len(c.Rows),
		100*float64(on)/float64(max(rounds, 1)))
	if out > 0 {
		text += fmt.Sprintf(", of these left out in %.0f %%", 100*float64(out)/float64(on))
	}
	return text + "."
}
