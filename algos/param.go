package algos

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Kind says what values a parameter takes.
type Kind int

// The kinds.
const (
	Number Kind = iota // a finite number
	Whole              // a whole number, of at most 2⁵³
	Switch             // true or false
	Word               // one of a few words
)

// none is the value of a Number or Whole that has no number, for example of a limit that does not limit.
const none = "none"

// Param is one parameter of one or several methods: a flag of `rollcall run`, declared beside the method that reads it.
type Param struct {
	Name          string      // name of the flag, such as "fedau-cutoff"
	Kind          Kind        // what values it takes
	None          bool        // whether the word none is a value too; Number and Whole only
	Default       string      // written as on a command line
	Paper         string      // the default of preset paper; empty: Default
	Range         Range       // Number and Whole only; the zero Range: every finite number
	AtMostClients bool        // Whole only: at most the number of clients, see [Param.CheckFor]
	Words         []string    // the values of a Word
	Help          string      // usage text, without the default
	Only          []Condition // when the parameter makes a difference to its methods: if all are met; nil: always
	AsBefore      string      // the value that changes nothing, for methods that have the parameter among Later
	Overrides     []Setting   // set as well when a command line sets this parameter, unless it sets them itself
}

// Condition says that another parameter is none, or that it is not none.
type Condition struct {
	Other *Param
	None  bool   // true: Other must be none; false: Other must not be none
	Text  string // the words of a command line that meet the condition, behind "--method m ": "--bias-const none"
}

// Setting is the value of one parameter, by its name.
type Setting struct{ Name, Value string }

// DefaultFor returns the default of the parameter for a preset.
func (p *Param) DefaultFor(preset Preset) string {
	if preset == Paper && p.Paper != "" {
		return p.Paper
	}
	return p.Default
}

// CheckFor returns an error if text is not a value of the parameter, a Number or a Whole. clients is the number of
// clients, the limit of a parameter with AtMostClients. The error says what values there are, such as "want 0 … 1"; it
// names neither the parameter nor text.
func (p *Param) CheckFor(text string, clients int) error {
	if p.None && text == none {
		return nil
	}
	values := p.Range
	if p.AtMostClients {
		values.high, values.highEnd = float64(clients), closedEnd
	}
	x, err := strconv.ParseFloat(text, 64)
	if err == nil && values.Contains(x) && (p.Kind == Number || isWhole(x)) {
		return nil
	}
	more := ""
	if p.AtMostClients {
		more = ", all of the clients"
	}
	return errors.New("want " + p.wanted(values, more))
}

// Values says what values there are: "a whole number 1 … 50, or none".
func (p *Param) Values() string {
	switch p.Kind {
	case Switch:
		return "true or false"
	case Word:
		return strings.Join(p.Words, ", ")
	}
	r := p.Range
	if r.high == math.MaxInt32 { // against overflow, and nobody's limit
		r.high, r.highEnd = 0, noEnd
	}
	return p.wanted(r, "")
}

// wanted is Values of a number in a range, of which more says more.
func (p *Param) wanted(values Range, more string) string {
	wanted := values.String()
	if p.Kind == Whole {
		wanted = "a whole number"
		if values != (Range{}) {
			wanted += " " + values.String()
		}
	}
	if wanted += more; p.None {
		wanted += ", or none"
	}
	return wanted
}

// isWhole reports whether x is a whole number that float64 holds exactly.
func isWhole(x float64) bool { return x == math.Trunc(x) && math.Abs(x) <= 1<<53 }

// HasSay reports whether the parameter makes a difference to its methods when they are started with o.
func (p *Param) HasSay(o Options) bool {
	return !slices.ContainsFunc(p.Only, func(c Condition) bool { return (c.Other.Text(o) == none) != c.None })
}

// Methods returns the names of the methods that read the parameter. Methods that list it earlier among their parameters
// come first, and equals are in the order of [Names].
func (p *Param) Methods() []string {
	var readers []Definition
	for _, d := range methods {
		if slices.Contains(d.all(), p) {
			readers = append(readers, d)
		}
	}
	place := func(d Definition) int { return slices.Index(d.all(), p) }
	slices.SortStableFunc(readers, func(a, b Definition) int { return place(a) - place(b) })
	return namesOf(readers)
}

// LeftOut reports whether the name of a run and run.json leave the parameter out at a value: the method had no such
// parameter when its first runs were made, and at this value runs as it did then.
func (p *Param) LeftOut(method, value string) bool {
	return value == p.AsBefore && slices.Contains(Of(method).Later, p)
}

// The functions below return the value that the parameter has in o. They rely on CheckFor: an impossible value is a bug
// of the caller.

// Text returns the value as it is written on a command line.
func (p *Param) Text(o Options) string {
	if text, given := o.Values[p.Name]; given {
		return text
	}
	return p.DefaultFor(o.Preset)
}

// IsOn returns the value of a Switch.
func (p *Param) IsOn(o Options) bool {
	on, _ := strconv.ParseBool(p.Text(o))
	return on
}

// Optional returns the value of a Number, nil for none.
func (p *Param) Optional(o Options) *float64 {
	text := p.Text(o)
	if text == none {
		return nil
	}
	x, _ := strconv.ParseFloat(text, 64)
	return &x
}

// Number returns the value of a Number that cannot be none.
func (p *Param) Number(o Options) float64 { return *p.Optional(o) }

// Whole returns the value of a Whole that cannot be none.
func (p *Param) Whole(o Options) int { return int(p.Number(o)) }

// OptionalWhole returns the value of a Whole, nil for none.
func (p *Param) OptionalWhole(o Options) *int {
	x := p.Optional(o)
	if x == nil {
		return nil
	}
	n := int(*x)
	return &n
}

// Range is an interval of numbers. The zero Range holds every finite number.
type Range struct {
	low, high       float64
	lowEnd, highEnd end
}

// end is the kind of one end of an interval: none, closed (the number there belongs to the interval) or open.
type end int

const (
	noEnd end = iota
	closedEnd
	openEnd
)

// AtLeast returns the range x ≥ low.
func AtLeast(low float64) Range { return Range{low: low, lowEnd: closedEnd} }

// Above returns the range x > low.
func Above(low float64) Range { return Range{low: low, lowEnd: openEnd} }

// Between returns the range low ≤ x ≤ high.
func Between(low, high float64) Range { return Range{low, high, closedEnd, closedEnd} }

// AboveUpTo returns the range low < x ≤ high.
func AboveUpTo(low, high float64) Range { return Range{low, high, openEnd, closedEnd} }

// AtLeastBelow returns the range low ≤ x < high.
func AtLeastBelow(low, high float64) Range { return Range{low, high, closedEnd, openEnd} }

// Interval returns the range between two ends, each of which may be missing; an open end is not in the range itself.
func Interval(low *float64, lowOpen bool, high *float64, highOpen bool) (r Range) {
	kind := map[bool]end{false: closedEnd, true: openEnd}
	if low != nil {
		r.low, r.lowEnd = *low, kind[lowOpen]
	}
	if high != nil {
		r.high, r.highEnd = *high, kind[highOpen]
	}
	return r
}

// Contains reports whether x is in r. NaN and the infinities are in no Range.
func (r Range) Contains(x float64) bool {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return false
	case r.lowEnd == closedEnd && x < r.low, r.lowEnd == openEnd && x <= r.low:
		return false
	case r.highEnd == closedEnd && x > r.high, r.highEnd == openEnd && x >= r.high:
		return false
	}
	return true
}

// String describes r in the words that follow "want " in an error: "0 … 1", "a positive number".
func (r Range) String() string {
	low, high := withoutExponent(r.low), withoutExponent(r.high)
	switch {
	case r.lowEnd == noEnd && r.highEnd == noEnd:
		return "a finite number"
	case r.highEnd == noEnd && r.lowEnd == closedEnd:
		return low + " or more"
	case r.highEnd == noEnd && r.low == 0:
		return "a positive number"
	case r.highEnd == noEnd:
		return "a number above " + low
	case r.lowEnd == closedEnd && r.highEnd == closedEnd:
		return low + " … " + high
	}
	ends := map[end]string{closedEnd: "at least " + low + " and ", openEnd: "above " + low + " and "}[r.lowEnd]
	if r.highEnd == openEnd {
		return ends + "below " + high
	}
	return ends + "at most " + high
}

func withoutExponent(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
