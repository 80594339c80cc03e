package algos

import (
	"errors"
	"math"
	"slices"
	"strconv"
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

// none is the value of a parameter that may be without a number.
const none = "none"

// Param is one parameter of one or several methods: a flag of `rollcall run`, declared beside the method that reads it.
type Param struct {
	Name          string    // of the flag: "fedau-cutoff"
	Kind          Kind      // what values it takes
	None          bool      // the word none is a value as well; of Number and Whole alone
	Default       string    // as it stands on a command line
	Paper         string    // the default of preset paper; empty: Default
	Range         Range     // of Number and Whole; the zero Range: every finite number
	AtMostClients bool      // of Whole: no more than there are clients; see [Param.CheckFor]
	Words         []string  // of Word
	Help          string    // usage text, without the default
	Only          Condition // when the parameter has a say, in the methods that read it; the zero Condition: always
	Overrides     []Setting // what a command line that gives this parameter sets beside it, unless it gives that too
}

// Condition says that another parameter is none, or that it is not. The zero Condition is always met.
type Condition struct {
	Other *Param
	None  bool   // true: Other must be none; false: Other must not be
	Text  string // how a command line meets it; follows "--method m ": "--bias-const none"
}

// Setting is the value of one parameter, by its name.
type Setting struct{ Name, Value string }

// DefaultFor returns the value of the parameter where none is given.
func (p *Param) DefaultFor(preset Preset) string {
	if preset == Paper && p.Paper != "" {
		return p.Paper
	}
	return p.Default
}

// CheckFor reports that text is no value of a Number or a Whole in a federation of so many clients, which AtMostClients
// looks at. The error says what is wanted, as "want 0 … 1", and names neither the parameter nor text.
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
	wanted := values.String()
	if p.Kind == Whole {
		wanted = "a whole number"
		if values != (Range{}) {
			wanted += " " + values.String()
		}
	}
	if p.AtMostClients {
		wanted += ", all of the clients"
	}
	if p.None {
		wanted += ", or none"
	}
	return errors.New("want " + wanted)
}

// isWhole reports whether x is a whole number that float64 tells from its neighbours.
func isWhole(x float64) bool { return x == math.Trunc(x) && math.Abs(x) <= 1<<53 }

// HasSay reports whether the parameter makes a difference to a method that reads it and is started with o.
func (p *Param) HasSay(o Options) bool {
	return p.Only.Other == nil || (p.Only.Other.text(o) == none) == p.Only.None
}

// Methods returns the names of the methods that read the parameter: those that list it earlier among their parameters
// first, and then in the order of [Names].
func (p *Param) Methods() []string {
	var readers []Definition
	for _, d := range methods {
		if slices.Contains(d.Params, p) {
			readers = append(readers, d)
		}
	}
	place := func(d Definition) int { return slices.Index(d.Params, p) }
	slices.SortStableFunc(readers, func(a, b Definition) int { return place(a) - place(b) })
	return namesOf(readers)
}

// The methods below return the value in o, which is one of the parameter.

func (p *Param) text(o Options) string {
	if text, given := o.Values[p.Name]; given {
		return text
	}
	return p.DefaultFor(o.Preset)
}

func (p *Param) isOn(o Options) bool {
	on, _ := strconv.ParseBool(p.text(o))
	return on
}

// optional returns the number, nil for none.
func (p *Param) optional(o Options) *float64 {
	text := p.text(o)
	if text == none {
		return nil
	}
	x, _ := strconv.ParseFloat(text, 64)
	return &x
}

func (p *Param) number(o Options) float64 { return *p.optional(o) }

func (p *Param) whole(o Options) int { return int(p.number(o)) }

// optionalWhole returns the whole number, nil for none.
func (p *Param) optionalWhole(o Options) *int {
	x := p.optional(o)
	if x == nil {
		return nil
	}
	n := int(*x)
	return &n
}
