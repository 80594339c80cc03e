package many

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/papers"
)

// Sweep is a table that no paper has: any methods, availability models, nets and data sets, all on the same trace. No
// list has a value twice.
type Sweep struct {
	Name, Like                        string
	Methods, Data, Nets, Availability []string // Nets nil: each data set's own net
	Rates                             []string // METHOD=LR or METHOD=LR/SERVERLR, or one file for [ReadRates]
	Seeds                             []uint32
	Crossed                           *int           // how many seeds each part of the draws has; nil: not crossed
	Given                             settings.Given // for all cells whose runs read the setting

	preset string // of all cells: the given one, or the one of Like
	file   *Rates // among Rates; nil: none
}

// rate is the η_0 and η_g that --rates gives a method; none: the method's own.
type rate struct{ lr, serverLR files.Optional }

// Cells returns the sweep as a table, and its cells. A given setting that no cell reads is an error.
func (w *Sweep) Cells() (t papers.Table, cells []Cell, err error) {
	if err := cmp.Or(w.validate(), w.validateSeeds()); err != nil {
		return t, nil, err
	}
	if w.preset, err = settings.PresetFor(w.Like, w.Given); err != nil {
		return t, nil, settings.Usagef("%w, or another --like than %s", err, w.Like)
	}
	own, err := w.rates()
	if err != nil {
		return t, nil, err
	}
	t = papers.Sweep(w.Name, "Sweep "+w.Name+": methods under one and the same availability", w.Methods, w.Seeds)
	if err := w.refuseUselessRate(own); err != nil {
		return t, nil, err
	}
	used := map[string]bool{}
	for _, data := range w.Data {
		for _, net := range w.netsOf(data) {
			for _, model := range w.Availability {
				column := papers.Column{Data: data, Availability: model}
				for _, method := range w.Methods {
					s, err := w.cell(method, data, net, model, own[method])
					if err != nil {
						return t, nil, err
					}
					for name := range w.Given.All() {
						if _, ok := s.Uses(name); ok {
							used[name] = true
						}
					}
					t.Rounds = max(t.Rounds, s.Rounds)
					column.Base = commonSettings(&s)
					shown := column
					if len(w.Nets) > 1 {
						shown.Set = results.NewParams("net=" + s.Net)
					}
					list, err := w.crossed(s)
					if err != nil {
						return t, nil, err
					}
					for _, s := range list {
						of := shown
						of.Set = of.Set.And(s.Params().Only(settings.SeedNames()...))
						cells = append(cells, Cell{Settings: s, Column: of})
					}
				}
				t.Columns = append(t.Columns, column)
			}
		}
	}
	// A setting that no cell reads is a slip of the user's. One that some cells read is fine in a sweep.
	for name, value := range w.Given.All() {
		if !used[name] {
			in, _ := cells[0].Settings.Uses(name)
			return t, nil, settings.Usagef("--%s %s: of no use in any cell of this sweep, want it with %s, or "+
				"not at all", name, value, in)
		}
	}
	return t, cells, nil
}

// validate reports the first impossible list or name.
func (w *Sweep) validate() error {
	for _, c := range []struct {
		flag         string
		names, known []string
	}{
		{"methods", w.Methods, algos.Names()},
		{"availability", w.Availability, availability.Names()},
		{"data", w.Data, datasets.Names()},
		{"like", []string{w.Like}, algos.Names()},
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
	// The name becomes a folder beside the folders of tables, figures and single runs.
	if !isFolder(w.Name) || w.Name == "run" || slices.Contains(papers.TableNames(), w.Name) ||
		slices.Contains(papers.FigureNames(), w.Name) {
		return settings.Usagef("--name %q: want the name of a folder that is no table, figure or run", w.Name)
	}
	return nil
}

// netsOf returns the nets of a data set: the wanted ones, or the data set's own.
func (w *Sweep) netsOf(data string) []string {
	if len(w.Nets) > 0 {
		return w.Nets
	}
	about, err := datasets.About(data)
	if err != nil {
		return nil // validated before
	}
	return []string{about.Net}
}

// RatesNote returns a line about the cells for which a file of --rates has none; "" if it has for all, or if there is
// no file. A file that has none for any of them is a usage error. The caller has called [Sweep.Cells].
func (w *Sweep) RatesNote() (string, error) {
	if w.file == nil {
		return "", nil
	}
	return w.file.Note()
}

func (w *Sweep) rates() (_ map[string]rate, err error) {
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
		if !ok || !slices.Contains(w.Methods, method) {
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
func (w *Sweep) refuseUselessRate(of map[string]rate) error {
	for name, own := range map[string]func(rate) files.Optional{
		"lr":        func(r rate) files.Optional { return r.lr },
		"server-lr": func(r rate) files.Optional { return r.serverLR },
	} {
		value := w.Given.Get(name, "")
		left := slices.ContainsFunc(w.Methods, func(m string) bool { return !own(of[m]).Valid })
		if value != "" && w.file != nil {
			return settings.Usagef("--%s %s: with --rates %s, want one of the two", name, value, w.file.Path)
		}
		if value != "" && !left {
			return settings.Usagef("--%s %s: --rates gives every method its own, want one of the two", name, value)
		}
	}
	return nil
}

// cell returns the settings of one cell. All methods train as --like does in its paper, but with their own learning
// rates, and then the settings of the command line come over both.
func (w *Sweep) cell(method, data, net, model string, r rate) (settings.Settings, error) {
	own, err := settings.Defaults(method, w.preset, data)
	if err != nil {
		return own, err
	}
	// Start from the settings of --like, and give them this method's name and rates.
	s, err := settings.Defaults(w.Like, w.preset, data)
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
	if err := s.Apply(w.Given.Implied().All()); err != nil {
		return s, settings.Usagef("%w", err)
	}
	if w.file != nil && !r.lr.Valid { // --rates METHOD=LR comes over the file
		w.file.Put(&s)
	}
	s.LR, s.ServerLR = r.lr.Or(s.LR), r.serverLR.Or(s.ServerLR)
	if err := s.Validate(); err != nil {
		return s, err
	}
	return s, s.ReadFiles()
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
