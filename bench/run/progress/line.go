package progress

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
)

// newest returns the run at work that started last; nil: none is at work.
func (c *Command) newest() (newest *run) {
	for _, r := range c.runs {
		if r.state == isAtWork && (newest == nil || r.began.After(newest.began)) {
			newest = r
		}
	}
	return newest
}

// where returns the first parts of the line: "run 3/32" if there are several runs, and "round 120/2000".
func (c *Command) where() (parts []string) {
	if len(c.runs) > 1 {
		ended, atWork := c.count()
		parts = append(parts, fmt.Sprintf("run %d/%d", ended+atWork, len(c.runs)))
	}
	if r := c.newest(); r != nil {
		parts = append(parts, fmt.Sprintf("round %d/%d", r.done, r.rounds))
	}
	return parts
}

// outlook returns the next parts of the line, as far as they are known: "64 %" and "2 h 10 min left".
func (c *Command) outlook() (parts []string) {
	if done := c.doneFrac(); !math.IsNaN(done) {
		parts = append(parts, fmt.Sprintf("%d %%", int(100*done)))
	}
	if left, ok := c.left(); ok {
		parts = append(parts, Duration(left)+" left")
	}
	return parts
}

// reached returns the last accuracy, if the command has only one run.
func (c *Command) reached() []string {
	if len(c.runs) > 1 || c.runs[0].accuracy == "" {
		return nil
	}
	return []string{c.runs[0].accuracy}
}

const (
	between = " · " // separates the parts of a line
	least   = 10    // the fewest columns of a bar
)

// fit returns a line for a terminal of so many columns: the first parts that fit, and a bar in the rest if there is
// enough room. doneFrac is the share of the bar, NaN for no bar.
func fit(parts []string, doneFrac float64, columns int) string {
	line := ""
	for i, part := range parts {
		if i > 0 {
			part = between + part
		}
		if utf8.RuneCountInString(line+part) > columns {
			return line
		}
		line += part
	}
	if room := columns - utf8.RuneCountInString(line) - 1; room >= least && !math.IsNaN(doneFrac) {
		line += " " + bar(doneFrac, room)
	}
	return line
}

// bar returns a bar of so many columns: "|███  |".
func bar(doneFrac float64, columns int) string {
	var text strings.Builder
	drawn := progressbar.NewOptions(100, progressbar.OptionSetWriter(&text), progressbar.OptionSetWidth(columns-2),
		progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false))
	if percent := int(100 * doneFrac); percent > 0 {
		_ = drawn.Set(percent) // writing to a string never fails
	} else {
		_ = drawn.RenderBlank()
	}
	_, after, _ := strings.Cut(text.String(), "|") // the text before the bar repeats the percent
	within, _, _ := strings.Cut(after, "|")
	return "|" + within + "|"
}
