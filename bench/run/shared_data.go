package run

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"

	"rollcall/datasets"
)

// sharedData is what the sessions of a command share: open data sets, so that each is in memory once; failed downloads,
// so that the cells of a table do not all try again; and notices that were written. Nobody writes to an open data set.
type sharedData struct {
	// lock is held while a data set is opened, so that two sessions do not download or decode the same one.
	lock        sync.Mutex
	sets        []*openSet
	unavailable map[string]error // by data set: why its download failed
	noticed     sync.Map         // keys of notices
	uses        map[*Session]memoryUse
}

// openSet is an open data set and how many sessions use it.
type openSet struct {
	name    string
	options datasets.Options // those of opening it, without Progress
	set     *datasets.Set
	users   int
}

// open returns a data set. It stays open until its last user calls close.
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

// close releases a data set. Its memory is free once nobody uses it.
func (s *sharedData) close(o *openSet) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if o.users--; o.users == 0 {
		s.sets = slices.DeleteFunc(s.sets, func(other *openSet) bool { return other == o })
	}
}

// isNew reports whether this key was never asked for before.
func (s *sharedData) isNew(key string) bool {
	_, before := s.noticed.LoadOrStore(key, true)
	return !before
}

// is reports whether o is the data set of that name and these options.
func (o *openSet) is(name string, options datasets.Options) bool {
	options.Progress = nil // the writer of messages does not tell data sets apart
	return o.name == name && reflect.DeepEqual(o.options, options)
}
