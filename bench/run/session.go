package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/nets"
	"rollcall/nets/models"
	"rollcall/results"
)

// Session is the data set and the engine of the last run. The next run often needs the same, and opening them takes
// seconds. One run is at work in a session at a time.
type Session struct {
	Machine Machine
	Stderr  io.Writer
	Data    *datasets.Set
	Engine  nets.Engine

	shared  *sharedData   // shared by the sessions of a pool; nil: this session makes its own
	engines int           // how many sessions work at the same time on this device, this one included; 0: it alone
	Card    string        // such as cuda:2, if the sessions of the pool have several; empty: lines need not name it
	set     *openSet      // the shared data set behind Data
	model   *models.Model // the model of Engine
	batch   int           // the batch size of Engine
	split   split         // the clients of the run that was opened last
}

// split is the clients of a run, which [Session.Open] counts its memory with and [Session.Federate] starts it with.
type split struct {
	data    *datasets.Set
	hash    string // of the settings
	seed    uint32
	clients Population
}

// populate is [Populate] on the open data set, which it divides once for all calls about one run.
func (ses *Session) populate(s *settings.Settings, seed uint32) (p Population, err error) {
	if was := &ses.split; was.data == ses.Data && was.hash == results.Hash(*s) && was.seed == seed {
		p = was.clients
		p.Availability, err = p.draw() // it is drawn round by round
		return p, err
	}
	if p, err = Populate(ses.Data, s, seed); err == nil {
		ses.split = split{ses.Data, results.Hash(*s), seed, p}
	}
	return p, err
}

// withoutSamples returns how many clients of a run have no sample; 0 if its data are not on this machine.
func (ses *Session) withoutSamples(ctx context.Context, s *settings.Settings, seed uint32) (int, error) {
	if ses.Lacks(s) {
		return 0, nil
	}
	if err := ses.OpenData(ctx, s, seed); err != nil {
		return 0, err
	}
	clients, err := ses.populate(s, seed)
	return clients.empty, err
}

// Lacks reports whether the data set of s is nowhere on this machine, and not lent.
func (ses *Session) Lacks(s *settings.Settings) bool {
	options := ses.dataOptions(s, 0)
	_, err := datasets.Find(s.Data, options)
	return errors.Is(err, datasets.ErrNotFound) && !ses.shared.has(s.Data, options)
}

// Fetch downloads the data set of s, if it is nowhere on this machine.
func (ses *Session) Fetch(ctx context.Context, s *settings.Settings) error {
	_, err := datasets.Fetch(ctx, s.Data, ses.dataOptions(s, 0))
	return err
}

// SessionOn returns a session on data and an engine that the caller has opened.
func SessionOn(data *datasets.Set, model *models.Model, engine nets.Engine) *Session {
	return &Session{Stderr: io.Discard, Data: data, Engine: engine, model: model}
}

// Sessions returns [Machine].AtOnce sessions for each card of [Machine].Device, or on the CPU, which share their data.
// The first ones have a card each, for commands with few runs. It logs which cards it leaves out.
func Sessions(machine Machine, log io.Writer) (all []*Session) {
	each, notes := machine.each()
	for _, note := range notes {
		Logf(log, "%s\n", note)
	}
	shared := &sharedData{}
	for range machine.AtOnce {
		for _, m := range each {
			ses := &Session{Machine: m, Stderr: log, shared: shared}
			if len(each) > 1 {
				ses.Card = m.Device
			}
			all = append(all, ses)
		}
	}
	return all
}

// ShareDevice tells the session how many sessions work at the same time on its device, itself included.
func (ses *Session) ShareDevice(sessions int) { ses.engines = sessions }

// OnCard adds the name of the session's card to a line, where there are several cards.
func (ses *Session) OnCard(line string) string {
	if ses.Card == "" {
		return line
	}
	return ses.Card + ": " + line
}

// Lend puts an open data set among those that the session shares, in place of one that would be read from files.
func (ses *Session) Lend(set *datasets.Set) {
	ses.shared.sets = append(ses.shared.sets, &openSet{name: set.Name, set: set, users: 1})
}

// dataOptions returns the options of the data set of s. Only generated data and swapped labels depend on the seed.
func (ses *Session) dataOptions(s *settings.Settings, seed uint32) datasets.Options {
	options := datasets.Options{
		Dir: ses.Machine.DataDir, AllowAltered: ses.Machine.Altered, Progress: progress.Under(ses.Stderr),
	}
	split := s.Seeds(seed).Split
	if s.Data == "synthetic" {
		options.Seed, options.TrainSize, options.TestSize = split, s.TrainSize, s.TestSize
	}
	if s.SplitAway() {
		options.Seed, options.Clients, options.SwapPairs = split, s.Clients, s.SwapPairs
		options.Reading = datasets.Reading(algos.Preset(s.Preset).Reading())
	}
	if s.Data == "leaf" {
		options.LeafGamma, options.LeafDelta = s.LeafGamma, s.LeafDelta
		options.LeafIID, options.LeafShared = s.LeafIID, s.LeafShared
	}
	return options
}

// moreAvailable reports of each client [N] whether it is there in more than half of the rounds of an availability model
// that is drawn without the data, for data that go by availability.
func moreAvailable(s *settings.Settings, seed uint32) ([]bool, error) {
	options := s.AvailabilityOptions(slices.Repeat([]float64{1}, s.Clients)) // a chain takes no p_i
	options.Seed = s.Seeds(seed).Availability
	model, err := availability.New(s.Availability, options)
	if err != nil {
		return nil, err
	}
	pi, _ := model.Stationary()
	more := make([]bool, len(pi))
	for i := range pi {
		more[i] = pi[i] > 0.5
	}
	return more, nil
}

// OpenData opens the data set of s, unless the session has it open. It closes the engine of another data set.
func (ses *Session) OpenData(ctx context.Context, s *settings.Settings, seed uint32) error {
	options := ses.dataOptions(s, seed)
	if s.Data == "leaf" && s.LeafAugmentation {
		more, err := moreAvailable(s, seed)
		if err != nil {
			return err
		}
		options.LeafMore = more
	}
	if ses.set != nil && ses.set.is(s.Data, options) {
		return nil
	}
	if err := ses.Close(); err != nil {
		return err
	}
	opened, err := ses.common().open(ctx, s.Data, options)
	if errors.Is(err, datasets.ErrAltered) && !options.AllowAltered {
		return fmt.Errorf("%w (--allow-altered takes well-formed files as they are)", err)
	}
	if err != nil {
		return err
	}
	ses.set, ses.Data = opened, opened.set
	if dir := ses.Data.Dir; dir != "" {
		line := "data: " + ses.Data.Name + ", " + dir
		ses.notice(line, line)
	}
	return nil
}

// common returns what the session shares with others, or has alone.
func (ses *Session) common() *sharedData {
	if ses.shared == nil {
		ses.shared = &sharedData{}
	}
	return ses.shared
}

// notice writes a line once, however many sessions and runs it is true for: of the lines of a key, the first.
func (ses *Session) notice(key, line string) {
	if _, before := ses.common().noticed.LoadOrStore(key, true); !before {
		Logf(ses.Stderr, "%s\n", line)
	}
}

// noticeOfEngine is notice for a line about one engine of several, and says so, or which card it is about.
func (ses *Session) noticeOfEngine(key, line string) {
	var of []string
	if ses.Card != "" {
		of = append(of, ses.Card)
	}
	if ses.engines > 1 {
		of = append(of, fmt.Sprintf("one of %d engines", ses.engines))
	}
	text := ""
	if of != nil {
		text = " (" + strings.Join(of, ", ") + ")"
	}
	ses.notice(key+text, line+text)
}

// Open opens data and engine for a run, and refuses a run that would hold more memory than there is.
func (ses *Session) Open(ctx context.Context, s *settings.Settings, seed uint32) error {
	return ses.openFor(ctx, s, seed, func(c *rowCounter) error {
		clients, err := ses.populate(s, seed)
		if err != nil {
			return err
		}
		return c.dryRun(ctx, s, seed, clients)
	})
}

// openFor is Open, also for what is no run of rounds. dry asks the counter for all rows that an engine is asked for.
func (ses *Session) openFor(
	ctx context.Context, s *settings.Settings, seed uint32, dry func(*rowCounter) error,
) error {
	// A run that cannot fit is refused before a download if its settings show it, and else before the engine is opened.
	if err := ses.Fits(s); err != nil {
		return err
	}
	if err := ses.OpenData(ctx, s, seed); err != nil {
		return err
	}
	if err := ses.reserve(ctx, s, dry); err != nil {
		return err
	}
	// Another number of clients or steps needs no other engine: they only say how much memory the rounds will take.
	if ses.Engine != nil && ses.model.Name == s.Net && ses.batch == s.Batch {
		return nil
	}
	if err := ses.closeEngine(); err != nil {
		return err
	}
	model, err := s.Model()
	if err != nil {
		return err
	}
	machine := ses.Machine
	machine.Threads = ses.threads()
	demand := Demand{s.Batch, s.Clients, s.LocalSteps}
	engine, line, err := machine.OpenEngine(model, ses.Data.Train, ses.Data.Test, demand, ses.noticeOfEngine)
	if err != nil {
		return err
	}
	ses.noticeOfEngine(line, line)
	ses.Engine, ses.model, ses.batch = engine, model, s.Batch
	return nil
}

// threads returns the threads of this session's engine: sessions at work at the same time share the machine's.
func (ses *Session) threads() int { return max(1, ses.Machine.Threads/max(1, ses.engines)) }

// Checksum names the bytes of the open data set. That of generated data says that it holds for one seed only.
func (ses *Session) Checksum(s *settings.Settings) string {
	if s.Data == "synthetic" || s.SplitAway() {
		return results.OfSeed(ses.Data.Checksum)
	}
	return results.OfFiles(ses.Data.Checksum)
}

// closeEngine closes the engine, if one is open.
func (ses *Session) closeEngine() error {
	if ses.Engine == nil {
		return nil
	}
	err := ses.Engine.Close()
	ses.Engine, ses.model = nil, nil
	return err
}

// Close closes the engine and releases the data set.
func (ses *Session) Close() error {
	err := ses.closeEngine()
	if ses.set != nil {
		ses.shared.close(ses.set)
		ses.shared.dropUse(ses)
	}
	ses.Data, ses.set, ses.split = nil, nil, split{}
	return err
}

// version is set by the Makefile (-X rollcall/bench/run.version=…).
var version = ""

// Version returns the version of this binary: a name, or the first 12 digits of its commit.
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				return s.Value[:12]
			}
		}
	}
	return "devel"
}

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

// has reports whether a data set is open.
func (s *sharedData) has(name string, options datasets.Options) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return slices.ContainsFunc(s.sets, func(o *openSet) bool { return o.is(name, options) })
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

// is reports whether o is the data set of that name and these options.
func (o *openSet) is(name string, options datasets.Options) bool {
	options.Progress = nil // the writer of messages does not tell data sets apart
	return o.name == name && reflect.DeepEqual(o.options, options)
}
