package many

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/internal/files"
	"rollcall/results"
)

// NamedCells are the cells of a sweep that have a name, and what they have in place of the sweep's own: methods, data,
// nets, availability, like, and settings.
type NamedCells struct {
	Name  string
	Lists []settings.List
}

// listNames are the lists of a sweep that are no settings of a run, and like, which has one value.
var listNames = []string{"methods", "data", "nets", "availability", "like"}

// The separators of [ParseNamed].
const (
	nameEnd = ":"
	listEnd = ";"
)

// SplitNamed returns the name in a text of [ParseNamed], and what stands behind it: name and value, in pairs.
func SplitNamed(text string) (name string, pairs [][2]string, err error) {
	name, rest, ok := strings.Cut(text, nameEnd)
	name = strings.TrimSpace(name)
	if !ok {
		return name, nil, settings.Usagef("--cell %q: want NAME: setting=values; setting=values", text)
	}
	for pair := range strings.SplitSeq(rest, listEnd) {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return name, nil, settings.Usagef("--cell %q: %q: want setting=values", text, pair)
		}
		pairs = append(pairs, [2]string{strings.TrimSpace(key), strings.TrimSpace(value)})
	}
	return name, pairs, nil
}

// JoinNamed is the inverse of [SplitNamed].
func JoinNamed(name string, pairs [][2]string) string {
	var words []string
	for _, p := range pairs {
		words = append(words, p[0]+"="+p[1])
	}
	return name + nameEnd + " " + strings.Join(words, listEnd+" ")
}

// ParseNamed reads named cells as a command line has them: "short: local-steps=5; gamma=0.1,0.3". The same setting
// twice has the values of both, as a flag that is repeated has.
func ParseNamed(text string) (c NamedCells, err error) {
	var pairs [][2]string
	if c.Name, pairs, err = SplitNamed(text); err != nil {
		return c, err
	}
	wrong := func(err error) error { return settings.Usagef("cell %s: %w", c.Name, err) }
	known := slices.Clone(listNames)
	for _, r := range settings.Rows() {
		known = append(known, r.Name)
	}
	if (results.Setup{Method: c.Name}).Named() != nil || c.Name == "" || slices.Contains(known, c.Name) {
		return c, settings.Usagef("--cell %q: want a name that is no setting's: a letter or a digit, then those, "+
			"spaces and . _ + ( ) -", c.Name)
	}
	texts := map[string][]string{}
	var order []string
	for _, p := range pairs {
		name, value := p[0], p[1]
		switch name {
		case "method", "net":
			name += "s"
		}
		if !slices.Contains(known, name) {
			return c, wrong(settings.Usagef("--%s: unknown setting%s", name, files.DidYouMean(name, known)))
		}
		texts[name], order = append(texts[name], value), append(order, name)
	}
	for _, name := range files.Unique(order) {
		l := settings.List{Name: name}
		if slices.Contains(listNames, name) {
			for _, text := range texts[name] {
				for _, word := range settings.SplitList(text) {
					l.Values = append(l.Values, strings.TrimSpace(word))
				}
			}
			err = settings.Once(name, l.Values)
			if name == "like" && len(l.Values) > 1 {
				err = settings.Usagef("--like %s: want one method", strings.Join(l.Values, ","))
			}
		} else {
			l, err = settings.NewList(name, texts[name]...)
		}
		if err != nil {
			return c, wrong(err)
		}
		c.Lists = append(c.Lists, l)
	}
	return c, nil
}

// sweepPart is the cells of a sweep that share their lists: all of them, or those of a name.
type sweepPart struct {
	Sweep
	name string
	own  []string // what it has in place of the sweep's
}

// parts returns the parts of a sweep.
func (w *Sweep) parts() ([]sweepPart, error) {
	if w.Named == nil {
		return []sweepPart{{Sweep: *w}}, nil
	}
	var parts []sweepPart
	var names []string
	for _, named := range w.Named {
		p := sweepPart{Sweep: *w, name: named.Name}
		p.Lists = slices.Clone(w.Lists)
		for _, l := range named.Lists {
			p.put(l)
		}
		parts, names = append(parts, p), append(names, p.name)
	}
	return parts, settings.Once("cell", names)
}

// put puts what the cells of a name have over the sweep's own.
func (p *sweepPart) put(l settings.List) {
	into := map[string]*[]string{
		"methods": &p.Methods, "data": &p.Data, "nets": &p.Nets, "availability": &p.Availability,
	}[l.Name]
	switch {
	case into != nil:
		*into = l.Values
		return
	case l.Name == "like":
		p.Like = l.Values[0]
		return
	}
	p.own = append(p.own, l.Name)
	p.Given = slices.DeleteFunc(slices.Clone(p.Given), func(s algos.Setting) bool { return s.Name == l.Name })
	p.Lists = slices.DeleteFunc(p.Lists, func(o settings.List) bool { return o.Name == l.Name })
	if len(l.Values) == 1 {
		p.Given = append(p.Given, algos.Setting{Name: l.Name, Value: l.Values[0]})
	} else {
		p.Lists = append(p.Lists, l)
	}
}

// of returns an error of the part, with its name.
func (p *sweepPart) of(err error) error {
	if p.name == "" {
		return err
	}
	return settings.Usagef("cell %s: %w", p.name, err)
}

// validate reports the first impossible list or name.
func (p *sweepPart) validate() error {
	for _, c := range []struct {
		flag         string
		names, known []string
	}{
		{"methods", p.Methods, algos.Names()},
		{"availability", p.Availability, availability.Names()},
		{"data", p.Data, datasets.Names()},
		{"like", []string{p.Like}, algos.Names()},
	} {
		if len(c.names) == 0 {
			return settings.Usagef("--%s: empty, want at least one of %s", c.flag, strings.Join(c.known, ", "))
		}
		for _, name := range c.names {
			if err := settings.OneOf(c.flag, name, c.known); err != nil {
				return err
			}
		}
	}
	for _, l := range p.Lists {
		if slices.ContainsFunc(settings.Rows(), func(r settings.Row) bool { return r.Name == l.Name && r.Apart }) {
			return settings.Usagef("--%s: the runs are the same at every value, want one", l)
		}
	}
	return nil
}

// count returns how many cells the part has at most; more than [mostCells] count as one more.
func (p *sweepPart) count() int {
	n := 1
	lengths := []int{len(p.Methods), len(p.Data), max(1, len(p.Nets)), len(p.Availability)}
	for _, l := range p.Lists {
		lengths = append(lengths, len(l.Values))
	}
	for _, length := range lengths {
		n = min(n*length, mostCells+1)
	}
	return n
}

// combinations returns the given settings with every combination of the values of the lists, the last list fastest.
func (p *sweepPart) combinations() []settings.Given {
	all := []settings.Given{p.Given}
	for _, l := range p.Lists {
		var longer []settings.Given
		for _, given := range all {
			for _, value := range l.Values {
				longer = append(longer, append(slices.Clone(given), algos.Setting{Name: l.Name, Value: value}))
			}
		}
		all = longer
	}
	return all
}

// netsOf returns the nets of a data set: the wanted ones, or the data set's own.
func (p *sweepPart) netsOf(data string) []string {
	if len(p.Nets) > 0 {
		return p.Nets
	}
	about, err := datasets.About(data)
	if err != nil {
		return nil // validated before
	}
	return []string{about.Net}
}

// cell returns the settings of one cell. All methods train as --like does in its paper, but with their own learning
// rates, and then the settings of the command line come over both.
func (p *sweepPart) cell(
	method, preset, data, net, model string, given settings.Given, c *sweepCells,
) (settings.Settings, error) {
	own, err := settings.Defaults(method, preset, data)
	if err != nil {
		return own, err
	}
	// Start from the settings of --like, and give them this method's name and rates.
	s, err := settings.Defaults(p.Like, preset, data)
	if err != nil {
		return s, err
	}
	s.Method, s.Net, s.Availability = method, net, model
	s.LR, s.ServerLR = own.LR, own.ServerLR
	if method == "f3ast" { // with the r of CA-Fed's code in CA-Fed's preset, as `run` has it
		if err := s.Set("f3ast-memoryless", own.Get("f3ast-memoryless")); err != nil {
			return s, err
		}
	}
	s.EvalTrainRounds = settings.EvalTrainLast
	// Apply leaves out the settings that this cell does not read: a sweep needs only one cell that reads them.
	if err := s.Apply(given.Implied().All()); err != nil {
		return s, settings.Usagef("%w", err)
	}
	r, file := c.own[method], c.of.file
	if file != nil && !r.lr.Valid { // --rates METHOD=LR comes over the file
		file.Put(&s)
	}
	s.LR, s.ServerLR = r.lr.Or(s.LR), r.serverLR.Or(s.ServerLR)
	if err := s.Validate(); err != nil {
		return s, err
	}
	return s, s.ReadFiles()
}

// label returns what a table shows of a cell in place of its settings: the name, and which of the lists' values it has.
// What has a column of its own, such as alpha, stands there.
func (p *sweepPart) label(s *settings.Settings) results.Params {
	words := []string{p.name}
	for _, r := range settings.Rows() {
		listed := slices.ContainsFunc(p.Lists, func(l settings.List) bool { return l.Name == r.Name })
		if _, reads := s.Uses(r.Name); listed && reads && !r.Column {
			word := r.Name + "=" + s.Get(r.Name)
			if r.Name == "split" && s.SplitFile != "" { // which of the files
				word = "split-file=" + s.SplitFile
			}
			words = append(words, word)
		}
	}
	return results.NewParams(words...)
}

// useless reports a setting of the part's own that none of its cells reads, and adds those that some read to c.
func (p *sweepPart) useless(used map[string]bool, c *sweepCells) error {
	maps.Copy(c.used, used)
	for _, l := range p.lists() {
		if !used[l.Name] && slices.Contains(p.own, l.Name) {
			return settings.Usagef("--%s: of no use in these cells, want it with %s, or not at all", l,
				settings.UsedIn(l.Name))
		}
	}
	return nil
}

// note adds lines to the sweep's notes about cells that are there once. twins are how many cells other parts have
// already; none: all of them are. once has the cells that do not read a setting with several values.
func (p *sweepPart) note(c *sweepCells, twins map[string]int, once map[string][]string, none bool) error {
	from := slices.Sorted(maps.Keys(twins))
	if none {
		return settings.Usagef("the same runs as cell %s, want them in one", strings.Join(from, " and "))
	}
	for _, other := range from {
		c.of.notes = append(c.of.notes, fmt.Sprintf("cell %s: %s the same as in cell %s, and only there", p.name,
			files.Count(twins[other], "cell"), other))
	}
	for _, l := range p.Lists {
		if n := len(files.Unique(once[l.Name])); n > 0 {
			c.of.notes = append(c.of.notes, fmt.Sprintf("--%s: not read by %s, trained once each (it is for %s)", l,
				files.Count(n, "cell"), settings.UsedIn(l.Name)))
		}
	}
	return nil
}
