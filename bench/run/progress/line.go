package progress

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
)

// newest returns the run that started last of those at work; nil: there is none.
func (c *Command) newest() (newest *run) {
	for _, r := range c.runs {
		if r.state == isAtWork && (newest == nil || r.began.After(newest.began)) {
			newest = r
		}
	}
	return newest
}

// where returns "run 3/32", where there are several, and "round 120/2000".
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

// ahead returns "64 %" and "2 h 10 min left", as far as they are known.
func (c *Command) ahead() (parts []string) {
	if done := c.doneFrac(); !math.IsNaN(done) {
		parts = append(parts, fmt.Sprintf("%d %%", int(100*done)))
	}
	if left, ok := c.left(); ok {
		parts = append(parts, Duration(left)+" left")
	}
	return parts
}

// reached returns the accuracy that was found last, where there is one run.
func (c *Command) reached() []string {
	if len(c.runs) > 1 || c.runs[0].accuracy == "" {
		return nil
	}
	return []string{c.runs[0].accuracy}
}

const (
	between = " · "
	least   = 10 // columns of a bar
)

// fit returns the line of a terminal of so many columns: the parts for which there is room, and a bar in the rest if
// that is large enough.
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

// bar returns a bar of so many columns, "|███  |".
func bar(doneFrac float64, columns int) string {
	var text strings.Builder
	drawn := progressbar.NewOptions(100, progressbar.OptionSetWriter(&text), progressbar.OptionSetWidth(columns-2),
		progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false))
	if percent := int(100 * doneFrac); percent > 0 {
		_ = drawn.Set(percent) // nothing goes wrong with a string
	} else {
		_ = drawn.RenderBlank()
	}
	_, after, _ := strings.Cut(text.String(), "|") // before it the bar says the percent as well
	within, _, _ := strings.Cut(after, "|")
	return "|" + within + "|"
}
