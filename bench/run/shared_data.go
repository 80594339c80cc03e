package run

import (
	"context"
	"errors"
	"slices"
	"sync"

	"rollcall/datasets"
)

// sharedData is what the sessions of a command share: every data set that one of them has open, once, the downloads
// that failed, and what people have been told. All of a data set is read only.
type sharedData struct {
	// also while a data set is opened, so that nobody downloads or decodes what another does already
	lock        sync.Mutex
	sets        []*openSet
	unavailable map[string]error // of the downloads that failed: the cells of a table do not all try again
	noticed     sync.Map         // keys of notices
	uses        map[*Session]memoryUse
}

// openSet is a data set that sessions have open.
type openSet struct {
	name    string
	options datasets.Options // it was opened with, Progress aside
	set     *datasets.Set
	users   int
}

// open returns a data set, which stays open until its last user closes it.
func (s *sharedData) open(ctx context.Context, name string, options datasets.Options) (*openSet, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if i := slices.IndexFunc(s.sets, func(o *openSet) bool { return o.is(name, options) }); i >= 0 {
		s.sets[i].users++
		return s.sets[i], nil
	}
	if err := s.unavailable[name]; err != nil {
		return nil, err
	}
	set, err := datasets.Open(ctx, name, options)
	if errors.Is(err, datasets.ErrUnavailable) {
		if s.unavailable == nil {
			s.unavailable = map[string]error{}
		}
		s.unavailable[name] = err
	}
	if err != nil {
		return nil, err
	}
	options.Progress = nil
	o := &openSet{name, options, set, 1}
	s.sets = append(s.sets, o)
	return o, nil
}

// close gives a data set back, which is forgotten when nobody has it open any more.
func (s *sharedData) close(o *openSet) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if o.users--; o.users == 0 {
		s.sets = slices.DeleteFunc(s.sets, func(other *openSet) bool { return other == o })
	}
}

// isNew reports whether no notice with this key was given before.
func (s *sharedData) isNew(key string) bool {
	_, before := s.noticed.LoadOrStore(key, true)
	return !before
}

// is reports whether these are the same data.
func (o *openSet) is(name string, options datasets.Options) bool {
	options.Progress = nil
	return o.name == name && o.options == options
}
