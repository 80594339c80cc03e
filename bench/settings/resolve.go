package settings

import (
	"fmt"
	"slices"
	"strconv"

	"rollcall/algos"
	"rollcall/datasets"
	"rollcall/results/papers"
)

// Defaults returns the settings of a run without any flag: the default of every row, then the learning rates of the
// method's definition, and then the settings of its paper for the preset and the data set. A rate that is in neither
// is 0, which [Settings.Validate] refuses.
func Defaults(method, preset, data string) (s Settings, err error) {
	if err := OneOf("method", method, algos.Names()); err != nil {
		return s, err
	}
	if err := OneOf("preset", preset, algos.Presets()); err != nil {
		return s, err
	}
	if err := OneOf("data", data, datasets.Names()); err != nil {
		return s, err
	}
	about, err := datasets.About(data)
	if err != nil {
		return s, err
	}
	for _, r := range rows() {
		if r.Field != nil { // a parameter of a method that is not set has its default anyway
			if err := r.set(&s, r.Default); err != nil {
				return s, fmt.Errorf("settings: --%s: default %q: %w", r.Name, r.Default, err)
			}
		}
	}
	// The order matters: what the paper says comes over the rows' defaults, which are the same for all methods. Data
	// that are never augmented stay so, whatever the paper says.
	s.Method, s.Preset, s.Data, s.Net = method, preset, data, about.Net
	of := algos.Of(method)
	s.LR, s.ServerLR = of.LR, of.ServerLR
	for name, value := range papers.TrainsAs(method, preset, data, about.Net).All() {
		if err := s.Set(name, value); err != nil {
			return s, err
		}
	}
	if !about.Augmented {
		s.Augment = "none"
	}
	if data == "synthetic" { // which has as many samples as one wants
		s.TrainSize, s.TestSize = datasets.SyntheticTrain, datasets.SyntheticTest
	}
	return s, nil
}

// Implied returns the given settings, and before them the settings they imply. A user who gives --local-steps wants no
// local epochs, for example, unless both are given: the given settings come later and win.
func (g Given) Implied() (all Given) {
	for _, s := range g {
		r := rowOf(s.Name)
		if r == nil {
			continue
		}
		for _, o := range r.Overrides {
			if o.Value == itself {
				o.Value = s.Value
				if n, err := strconv.Atoi(s.Value); err != nil || n < 1 { // none, or refused later
					continue
				}
			}
			all = append(all, o)
		}
	}
	return append(all, g...)
}

// PresetFor returns the preset of the given settings for a method outside the tables of its paper, by default the
// method's own. A preset in which nothing says how to train the method is an error.
func PresetFor(method string, given Given) (string, error) {
	known := papers.Presets(method)
	preset := given.Get("preset", known[0])
	if err := OneOf("preset", preset, algos.Presets()); err != nil {
		return "", err
	}
	if !slices.Contains(known, preset) {
		return "", Usagef("--preset %s: of no use with --method %s outside the papers' tables and figures, want %s",
			preset, method, OrList(known))
	}
	return preset, nil
}

// Resolve returns the settings of a command line: the defaults of its method, preset and data, over them the given
// values, and over these what put changes. It checks them, and reads the files that they name.
func Resolve(given Given, put ...func(*Settings) error) (Settings, error) {
	value := func(name string) string { return given.Get(name, rowOf(name).Default) }
	if err := OneOf("method", value("method"), algos.Names()); err != nil {
		return Settings{}, err
	}
	preset, err := PresetFor(value("method"), given)
	if err != nil {
		return Settings{}, err
	}
	s, err := Defaults(value("method"), preset, value("data"))
	if err != nil {
		return s, err
	}
	if err := s.Give(given); err != nil {
		return s, err
	}
	for _, put := range put {
		if err := put(&s); err != nil {
			return s, err
		}
	}
	if err := s.Validate(); err != nil {
		return s, err
	}
	of := fmt.Sprintf("--method %s --data %s --availability %s", s.Method, s.Data, s.Availability)
	if err := s.RefuseUnused(given, of); err != nil {
		return s, err
	}
	// Files are read last: the net says how large the weights may be, and --clients which clients a trace may name.
	return s, s.ReadFiles()
}

// Give puts the given settings into s, and what they imply.
func (s *Settings) Give(given Given) error {
	for name, value := range given.Implied().All() {
		if err := s.Set(name, value); err != nil {
			return err
		}
	}
	return nil
}

// Flags returns the settings as the flags of a command line of run: of which run they are, and what differs from the
// defaults of that method, preset and data set. [Restore] is the inverse.
func (s *Settings) Flags() (Given, error) {
	base, err := Defaults(s.Method, s.Preset, s.Data)
	if err != nil {
		return nil, err
	}
	wanted := *s
	if s.Stopped > 0 { // the trace will end the run again
		wanted.Rounds = s.Stopped
	}
	given := Given{{Name: "method", Value: s.Method}}
	if s.Preset != papers.Presets(s.Method)[0] {
		given = append(given, algos.Setting{Name: "preset", Value: s.Preset})
	}
	given = append(given, algos.Setting{Name: "data", Value: s.Data},
		algos.Setting{Name: "availability", Value: s.Availability})
	// What is given implies other settings, which then are to be given too: at the second pass.
	for range 2 {
		now := base
		if err := now.Give(given); err != nil {
			return nil, err
		}
		for _, r := range rows() {
			value := r.text(&wanted)
			named := slices.ContainsFunc(given, func(g algos.Setting) bool { return g.Name == r.Name })
			if r.text(&now) != value && !named {
				given = append(given, algos.Setting{Name: r.Name, Value: value})
			}
		}
	}
	return given, nil
}

// Restore returns the settings of which given are the [Settings.Flags]. It refuses less than [Resolve], which reads
// what people write: a table gives its settings to all methods, also to those that do not read them, and knows presets
// that a method does not have outside it.
func Restore(given Given) (Settings, error) {
	method := given.Get("method", rowOf("method").Default)
	s, err := Defaults(method, given.Get("preset", firstPreset(method)), given.Get("data", rowOf("data").Default))
	if err != nil {
		return s, err
	}
	if err := s.Give(given); err != nil {
		return s, err
	}
	if err := s.Validate(); err != nil {
		return s, err
	}
	return s, s.ReadFiles()
}
