package settings

import (
	"slices"

	"rollcall/algos"
	"rollcall/results/papers"
)

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
	value := func(name string) string { return given.Get(name, rowOf(name).Default) }
	if err := OneOf("method", value("method"), algos.Names()); err != nil {
		return Settings{}, err
	}
	s, err := Defaults(value("method"), given.Get("preset", papers.Presets(value("method"))[0]), value("data"))
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
