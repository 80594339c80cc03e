package many

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/papers"
)

// Sweep is a table that no paper has: any methods, availability models, nets and data sets, all on the same trace, with
// every combination of the values of its settings. No list has a value twice.
type Sweep struct {
	Name, Like                        string
	Methods, Data, Nets, Availability []string // Nets nil: each data set's own net
	Rates                             []string // METHOD=LR or METHOD=LR/SERVERLR, or one file for [ReadRates]
	Seeds                             []uint32
	Crossed                           *int            // how many seeds each part of the draws has; nil: not crossed
	Given                             settings.Given  // for all cells whose runs read the setting
	Lists                             []settings.List // of settings with several values
	Named                             []NamedCells    // in place of the whole; nil: the whole is one, without a name

	file  *Rates // among Rates; nil: none
	notes []string
}

// rate is the η_0 and η_g that --rates gives a method; none: the method's own.
type rate struct{ lr, serverLR files.Optional }

// mostCells is the largest number of cells of a sweep, against lists whose product nobody meant.
const mostCells = 10_000

// sweepCells collects the cells of a sweep, one part after the other.
type sweepCells struct {
	of    *Sweep
	own   map[string]rate
	apart []string // the settings in which cells differ, which no column of the table has in common
	table papers.Table
	cells []Cell
	used  map[string]bool   // settings that some cell reads
	first map[string]string // by folder: the part that a cell came from first
}

// Cells returns the sweep as a table, and its cells. A given setting that no cell reads is an error. Cells that would
// have the same runs, since they do not read what differs, are one.
func (w *Sweep) Cells() (t papers.Table, cells []Cell, err error) {
	parts, err := w.parts()
	if err != nil {
		return t, nil, err
	}
	if err := cmp.Or(w.validateName(), w.validateSeeds()); err != nil {
		return t, nil, err
	}
	var methods []string
	c := sweepCells{of: w, used: map[string]bool{}, first: map[string]string{}}
	n := 0
	for i := range parts {
		p := &parts[i]
		if err := p.validate(); err != nil {
			return t, nil, p.of(err)
		}
		methods = append(methods, p.Methods...)
		c.apart = append(c.apart, p.own...)
		for _, l := range p.Lists {
			c.apart = append(c.apart, l.Name)
		}
		if n += p.count(); n > mostCells {
			return t, nil, settings.Usagef("sweep: more than %d cells, want fewer values or shorter lists", mostCells)
		}
	}
	if slices.Contains(c.apart, "split") { // which may have a file, and label says which
		c.apart = append(c.apart, "split-file")
	}
	methods = files.Unique(methods)
	if c.own, err = w.rates(methods); err != nil {
		return t, nil, err
	}
	c.table = papers.Sweep(w.Name, "Sweep "+w.Name+": methods under one and the same availability", methods, w.Seeds)
	c.table.Labels, c.table.Apart = map[results.CellKey]results.Params{}, c.apart
	if err := w.refuseUselessRate(c.own, methods); err != nil {
		return t, nil, err
	}
	for i := range parts {
		if err := c.add(&parts[i]); err != nil {
			return t, nil, parts[i].of(err)
		}
	}
	// A setting that no cell reads is a slip of the user's. One that some cells read is fine in a sweep.
	for _, l := range w.lists() {
		if !c.used[l.Name] {
			return t, nil, settings.Usagef("--%s: of no use in any cell of this sweep, want it with %s, or "+
				"not at all", l, settings.UsedIn(l.Name))
		}
	}
	return c.table, c.cells, nil
}

// lists returns all settings that are given, whether with one value or with several.
func (w *Sweep) lists() (all []settings.List) {
	for name, value := range w.Given.All() {
		all = append(all, settings.List{Name: name, Values: []string{value}})
	}
	return append(all, w.Lists...)
}

// add adds the cells of a part.
func (c *sweepCells) add(p *sweepPart) error {
	used, before, twins := map[string]bool{}, len(c.cells), map[string]int{}
	once := map[string][]string{} // by setting with several values: the cells that do not read it
	for _, given := range p.combinations() {
		preset, err := settings.PresetFor(p.Like, given)
		if err != nil {
			return settings.Usagef("%w, or another --like than %s", err, p.Like)
		}
		for _, data := range p.Data {
			for _, net := range p.netsOf(data) {
				for _, model := range p.Availability {
					column := papers.Column{Data: data, Availability: model}
					for _, method := range p.Methods {
						s, err := p.cell(method, preset, data, net, model, given, c)
						if err != nil {
							return err
						}
						for name := range given.All() {
							if _, reads := s.Uses(name); reads {
								used[name] = true
							}
						}
						c.table.Rounds = max(c.table.Rounds, s.Rounds)
						column.Base = commonSettings(&s).Without(c.apart...)
						folder := run.Folder("", "", s, 0)
						label := p.label(&s)
						if from, twice := c.first[folder]; twice {
							if from != p.name {
								twins[from]++
								continue
							}
							for _, l := range p.Lists {
								if _, reads := s.Uses(l.Name); !reads {
									once[l.Name] = append(once[l.Name], folder)
								}
							}
							continue
						}
						c.first[folder] = p.name
						if label != "" {
							c.table.Labels[s.Setup("").Key(s.Params())] = label
						}
						shown := column
						if len(p.Nets) > 1 {
							shown.Set = results.NewParams("net=" + s.Net)
						}
						shown.Set = shown.Set.And(label)
						list, err := c.of.crossed(s)
						if err != nil {
							return err
						}
						for _, s := range list {
							of := shown
							of.Set = of.Set.And(s.Params().Only(settings.SeedNames()...).Without(of.Set.Names()...))
							c.cells = append(c.cells, Cell{Settings: s, Column: of})
						}
					}
					c.table.Columns = append(c.table.Columns, column)
				}
			}
		}
	}
	return cmp.Or(p.useless(used, c), p.note(c, twins, once, len(c.cells) == before))
}

// validateName reports a name that is not that of a folder of its own.
func (w *Sweep) validateName() error {
	// The name becomes a folder beside the folders of tables, figures and single runs.
	if !isFolder(w.Name) || w.Name == "run" || slices.Contains(papers.TableNames(), w.Name) ||
		slices.Contains(papers.FigureNames(), w.Name) {
		return settings.Usagef("--name %q: want the name of a folder that is no table, figure or run", w.Name)
	}
	return nil
}

// Notes returns lines about the cells: which settings some of them do not read, and for which a file of --rates has
// no rates. A file that has none for any cell is a usage error. The caller has called [Sweep.Cells].
func (w *Sweep) Notes() (notes []string, err error) {
	notes = w.notes
	if w.file == nil {
		return notes, nil
	}
	note, err := w.file.Note()
	return append(slices.Clone(notes), note), err
}

func (w *Sweep) rates(methods []string) (_ map[string]rate, err error) {
	of := map[string]rate{}
	for _, text := range w.Rates {
		if IsRatesFile(text) {
			if w.file != nil {
				return nil, settings.Usagef("--rates %s: a second file after %s, want one", text, w.file.Path)
			}
			if w.file, err = ReadRates(text); err != nil {
				return nil, err
			}
			continue
		}
		method, value, ok := strings.Cut(text, "=")
		if !ok || !slices.Contains(methods, method) {
			return nil, settings.Usagef(
				"--rates %q: want METHOD=LR or METHOD=LR/SERVERLR of a method in --methods, or a file", text)
		}
		if _, twice := of[method]; twice {
			return nil, settings.Usagef("--rates %q: %s twice, want it once", text, method)
		}
		var r rate
		parts := strings.Split(value, "/")
		for i, part := range parts {
			v, err := files.ParseNumber(part, 64)
			// !(v > 0) refuses NaN too.
			if err != nil || !(v > 0) || math.IsInf(v, 0) || len(parts) > 2 {
				return nil, settings.Usagef("--rates %q: want one or two positive numbers, METHOD=LR/SERVERLR", text)
			}
			if i == 0 {
				r.lr = files.Some(v)
			} else {
				r.serverLR = files.Some(v)
			}
		}
		of[method] = r
	}
	return of, nil
}

// refuseUselessRate reports a --lr or --server-lr that no method would use, because --rates gives each its own.
func (w *Sweep) refuseUselessRate(of map[string]rate, methods []string) error {
	for name, own := range map[string]func(rate) files.Optional{
		"lr":        func(r rate) files.Optional { return r.lr },
		"server-lr": func(r rate) files.Optional { return r.serverLR },
	} {
		value := ""
		for _, l := range w.lists() {
			if l.Name == name {
				value = strings.Join(l.Values, ",")
			}
		}
		left := slices.ContainsFunc(methods, func(m string) bool { return !own(of[m]).Valid })
		if value != "" && w.file != nil {
			return settings.Usagef("--%s %s: with --rates %s, want one of the two", name, value, w.file.Path)
		}
		if value != "" && !left {
			return settings.Usagef("--%s %s: --rates gives every method its own, want one of the two", name, value)
		}
	}
	return nil
}

// commonSettings returns the settings that all cells share, which the table need not name for each. It leaves the paths
// of files empty, since a path may hold any character.
func commonSettings(s *settings.Settings) results.Params {
	var alike []string
	for _, r := range settings.Rows() {
		own := r.Column || r.Name == "lr" || r.Name == "server-lr" ||
			r.Name == "rounds" && s.Stopped > 0 // the trace has set the rounds of this cell
		switch {
		case results.FileSettings[r.Name] != "":
			alike = append(alike, r.Name+"=")
		case !own:
			alike = append(alike, r.Name+"="+s.Get(r.Name))
		}
	}
	slices.Sort(alike)
	return results.NewParams(alike...)
}

// The numbers of seeds that can be crossed. The five parts of the draws need at least 5, and 31² runs take long enough.
const (
	fewestCrossed = 5
	mostCrossed   = 31
)

// validateSeeds reports seeds that cannot be crossed.
func (w *Sweep) validateSeeds() error {
	if w.Crossed == nil {
		return nil
	}
	q := *w.Crossed
	if q < fewestCrossed || q > mostCrossed || !big.NewInt(int64(q)).ProbablyPrime(0) { // exact for small numbers
		return settings.Usagef("--crossed %d: want a prime, %d … %d", q, fewestCrossed, mostCrossed)
	}
	if len(w.Seeds) != 1 {
		return settings.Usagef("--crossed %d --seeds: %d seeds, want one, the first of each part of the draws",
			q, len(w.Seeds))
	}
	if most := uint32(math.MaxUint32 - q + 1); w.Seeds[0] > most {
		return settings.Usagef("--crossed %d --seeds %d: want at most %d, the first of each part of the draws",
			q, w.Seeds[0], most)
	}
	return nil
}

// crossed returns the settings of the runs of a cell with a seed: s alone, or with --crossed those of a design in which
// every two seeds of two parts of the draws meet in one run. The seeds that are given in s stay as they are, and the
// others count from the sweep's seed.
//
// With q seeds of each part, run (i, j) of q² has seed i of the first part, seed j of the second, and seed i + k·j mod
// q, k = 1, 2, 3, of the others: an orthogonal array of strength 2, because q is a prime above 3.
func (w *Sweep) crossed(s settings.Settings) (list []settings.Settings, err error) {
	parts := s.UngivenSeeds()
	if w.Crossed == nil {
		if len(parts) == 0 && len(w.Seeds) > 1 {
			return nil, settings.Usagef("--seeds: %d seeds, want one: every draw of %s has its own seed, "+
				"so that all runs would be the same", len(w.Seeds), s.Method)
		}
		return []settings.Settings{s}, nil
	}
	q := *w.Crossed
	if len(parts) < 2 {
		return nil, settings.Usagef("--crossed %d: with all seeds of %s given but %d, want two or more to cross",
			q, s.Method, len(parts))
	}
	for i := range q {
		for j := range q {
			one, levels := s, [...]int{i, j, i + j, i + 2*j, i + 3*j}
			for k, name := range parts {
				seed := uint64(w.Seeds[0]) + uint64(levels[k]%q)
				if err := one.Set(name, strconv.FormatUint(seed, 10)); err != nil {
					return nil, err
				}
			}
			if err := one.Validate(); err != nil {
				return nil, err
			}
			list = append(list, one)
		}
	}
	return list, nil
}
