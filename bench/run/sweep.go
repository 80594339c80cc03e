package run

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/results"
	"rollcall/results/papers"
)

// Sweep is any methods under any processes on any nets and data sets, all on the same trace.
type Sweep struct {
	Name, Like, Preset                string
	Methods, Data, Nets, Availability []string // Nets nil: each data set's own
	Rates                             []string // METHOD=LR or METHOD=LR/SERVERLR
	Seeds                             []uint32
	Given                             settings.Given // for all cells that have use for it
}

// rate is a method's η_0 and η_g; a missing one is the method's own.
type rate struct{ lr, serverLR settings.Optional }

// Cells returns the sweep as a table, and its cells.
func (w *Sweep) Cells() (t papers.Table, cells []Cell, err error) {
	if err := w.validate(); err != nil {
		return t, nil, err
	}
	rates, err := w.rates()
	if err != nil {
		return t, nil, err
	}
	t = papers.Sweep(w.Name, "Sweep "+w.Name+": methods under one and the same availability", w.Methods, w.Seeds)
	if err := w.refuseUselessRate(rates); err != nil {
		return t, nil, err
	}
	used := map[string]bool{}
	for _, data := range w.Data {
		for _, net := range w.netsOf(data) {
			for _, process := range w.Availability {
				column := papers.Column{Data: data, Availability: process}
				for _, method := range w.Methods {
					s, err := w.cell(method, data, net, process, rates[method])
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
					cells = append(cells, Cell{Settings: s, Column: shown})
				}
				t.Columns = append(t.Columns, column)
			}
		}
	}
	for name, value := range w.Given.All() {
		if !used[name] {
			in, _ := cells[0].Settings.Uses(name)
			return t, nil, settings.Usagef("--%s %s: of no use in any cell of this sweep, want it with %s, or "+
				"not at all", name, value, in)
		}
	}
	return t, cells, nil
}

// validate reports the first list or name that cannot be meant.
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
		for i, name := range c.names {
			if err := settings.OneOf(c.flag, name, c.known); err != nil {
				return err
			}
			if slices.Contains(c.names[:i], name) {
				return settings.Usagef("--%s: %s twice, want it once", c.flag, name)
			}
		}
	}
	if named := (results.Cell{Table: w.Name}).Named(); named != nil || w.Name == "" || w.Name == "run" ||
		strings.HasPrefix(w.Name, ".") || strings.ContainsAny(w.Name, `/\:`) ||
		slices.Contains(papers.TableNames(), w.Name) || slices.Contains(papers.FigureNames(), w.Name) {
		return settings.Usagef("--name %q: want the name of a folder that is no table, figure or run", w.Name)
	}
	return nil
}

// netsOf returns the nets of a data set: its own, if none are asked for.
func (w *Sweep) netsOf(data string) []string {
	if len(w.Nets) > 0 {
		return settings.Unique(w.Nets)
	}
	about, err := datasets.About(data)
	if err != nil {
		return nil // validated before
	}
	return []string{about.Net}
}

// rates reads the methods' learning rates.
func (w *Sweep) rates() (map[string]rate, error) {
	rates := map[string]rate{}
	for _, text := range w.Rates {
		method, value, ok := strings.Cut(text, "=")
		if !ok || !slices.Contains(w.Methods, method) {
			return nil, settings.Usagef("--rates %q: want METHOD=LR or METHOD=LR/SERVERLR of a method in --methods",
				text)
		}
		if _, twice := rates[method]; twice {
			return nil, settings.Usagef("--rates %q: %s twice, want it once", text, method)
		}
		var r rate
		parts := strings.Split(value, "/")
		for i, part := range parts {
			v, err := strconv.ParseFloat(part, 64)
			if err != nil || !(v > 0) || math.IsInf(v, 0) || len(parts) > 2 {
				return nil, settings.Usagef("--rates %q: want one or two positive numbers, METHOD=LR/SERVERLR", text)
			}
			if i == 0 {
				r.lr = settings.Some(v)
			} else {
				r.serverLR = settings.Some(v)
			}
		}
		rates[method] = r
	}
	return rates, nil
}

// refuseUselessRate reports a learning rate for all methods where each has its own.
func (w *Sweep) refuseUselessRate(rates map[string]rate) error {
	for name, own := range map[string]func(rate) settings.Optional{
		"lr":        func(r rate) settings.Optional { return r.lr },
		"server-lr": func(r rate) settings.Optional { return r.serverLR },
	} {
		value := w.Given.Get(name, "")
		left := slices.ContainsFunc(w.Methods, func(m string) bool { return own(rates[m]).Value == nil })
		if value != "" && !left {
			return settings.Usagef("--%s %s: --rates gives every method its own, want one of the two", name, value)
		}
	}
	return nil
}

// cell returns the settings of one cell: how --like trains, the method's own rates, and what the command line gives.
func (w *Sweep) cell(method, data, net, process string, r rate) (settings.Settings, error) {
	own, err := settings.Defaults(method, w.Preset, data)
	if err != nil {
		return own, err
	}
	s, err := settings.Defaults(w.Like, w.Preset, data)
	if err != nil {
		return s, err
	}
	s.Method, s.Net, s.Availability = method, net, process
	s.LR, s.ServerLR = own.LR, own.ServerLR
	if err := s.Apply(w.Given.Implied().All()); err != nil {
		return s, settings.Usagef("%w", err)
	}
	s.LR, s.ServerLR = r.lr.Or(s.LR), r.serverLR.Or(s.ServerLR)
	if err := s.Validate(); err != nil {
		return s, err
	}
	return s, s.ReadFiles()
}

// commonSettings are the settings that all cells have alike, which say nothing of any. Trace and initial weights are there
// without their files, whose names may hold anything.
func commonSettings(s *settings.Settings) results.Params {
	alike := []string{"trace=", "init-from="}
	for _, r := range settings.Rows() {
		own := r.Column || r.Name == "lr" || r.Name == "server-lr" || r.Name == "trace" || r.Name == "init-from" ||
			r.Name == "rounds" && s.Stopped > 0 // of its trace alone
		if !own {
			alike = append(alike, r.Name+"="+s.Get(r.Name))
		}
	}
	slices.Sort(alike)
	return results.NewParams(alike...)
}
