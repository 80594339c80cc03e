package settings

import (
	"slices"

	"rollcall/algos"
	"rollcall/results/papers"
)

// Implied returns the given settings, and before them the settings they imply. A user who gives --local-steps wants no
// local epochs, for example, unless both are given: the given settings come later and win.
func (g Given) Implied() (all Given) {
	for _, s := range g {
		if r := rowOf(s.Name); r != nil {
			all = append(all, r.Overrides...)
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
	if err := s.refuseUnused(given); err != nil {
		return s, err
	}
	// Files are read last: the net says how large the weights may be, and --clients which clients a trace may name.
	return s, s.ReadFiles()
}

// ReadFiles reads the files that settings name, because their content names the run, and fits the rounds to the trace.
func (s *Settings) ReadFiles() error {
	if _, err := s.ReadInit(); err != nil {
		return err
	}
	return s.FitTrace()
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
