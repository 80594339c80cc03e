package run

import (
	"context"
	"errors"
	"slices"
	"sync"

	"rollcall/datasets"
)

// openSets is what the labs of a command share: every data set that one of them has open, once, the downloads that failed, and what
// people have been told. All of a data set is read only.
type openSets struct {
	lock        sync.Mutex // also while a data set is opened, so that nobody downloads or decodes what another does already
	sets        []*openSet
	unavailable map[string]error // of the downloads that failed: the cells of a table do not all try again
	told        sync.Map         // lines
}

// openSet is a data set on a shelf.
type openSet struct {
	name    string
	options datasets.Options // it was opened with
	set     *datasets.Set
	users   int
}

// take returns a data set, which stays open until it is put back.
func (s *openSets) take(ctx context.Context, name string, options datasets.Options) (*openSet, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if i := slices.IndexFunc(s.sets, func(h *openSet) bool { return h.is(name, options) }); i >= 0 {
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
	h := &openSet{name, options, set, 1}
	s.sets = append(s.sets, h)
	return h, nil
}

// put gives a data set back, which is forgotten when nobody has it any more.
func (s *openSets) put(h *openSet) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if h.users--; h.users == 0 {
		s.sets = slices.DeleteFunc(s.sets, func(other *openSet) bool { return other == h })
	}
}

// first reports whether a line has not been told yet.
func (s *openSets) first(line string) bool {
	_, told := s.told.LoadOrStore(line, true)
	return !told
}

// is reports whether these are the same data.
func (h *openSet) is(name string, o datasets.Options) bool {
	a := h.options
	return h.name == name && a.Dir == o.Dir && a.Seed == o.Seed && a.TrainSize == o.TrainSize && a.TestSize == o.TestSize &&
		a.Clients == o.Clients && a.Reading == o.Reading && a.LeafGamma == o.LeafGamma && a.LeafDelta == o.LeafDelta && a.SwapPairs == o.SwapPairs
}
