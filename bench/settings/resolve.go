package settings

// Implied returns the settings with what they imply before them: whoever gives a number of local steps wants no local
// epochs, unless both are given.
func (g Given) Implied() (all Given) {
	for _, s := range g {
		if r := rowOf(s.Name); r != nil {
			all = append(all, r.Overrides...)
		}
	}
	return append(all, g...)
}

// Resolve returns the settings a command line asks for: the defaults of its method, preset and data, and then what it
// gives.
func Resolve(given Given) (Settings, error) {
	value := func(name string) string { return given.Get(name, rowOf(name).Default) }
	s, err := Defaults(value("method"), value("preset"), value("data"))
	if err != nil {
		return s, err
	}
	if err := s.Give(given); err != nil {
		return s, err
	}
	if err := s.Validate(); err != nil {
		return s, err
	}
	if err := s.refuseUnused(given); err != nil {
		return s, err
	}
	return s, s.ReadFiles()
}

// ReadFiles reads the files that settings name, whose content names the run, and fits the run to them.
func (s *Settings) ReadFiles() error {
	if _, err := s.ReadInit(); err != nil {
		return err
	}
	return s.FitTrace()
}

// Give puts settings of a command line into s, and what they imply.
func (s *Settings) Give(given Given) error {
	for name, value := range given.Implied().All() {
		if err := s.Set(name, value); err != nil {
			return err
		}
	}
	return nil
}
