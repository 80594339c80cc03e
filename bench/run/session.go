package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

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
	card    string        // such as cuda:2, if the sessions of the pool have several; empty: lines need not name it
	set     *openSet      // the shared data set behind Data
	model   *models.Model // the model of Engine
	batch   int           // the batch size of Engine
}

// SessionOn returns a session on data and an engine that the caller has opened.
func SessionOn(data *datasets.Set, model *models.Model, engine nets.Engine) *Session {
	return &Session{Stderr: io.Discard, Data: data, Engine: engine, model: model}
}

// dataOptions returns the options to open the data set of s with. Only generated data and swapped labels depend on the
// seed.
func (l *Session) dataOptions(s *settings.Settings, seed uint32) datasets.Options {
	options := datasets.Options{
		Dir: l.Machine.DataDir, AllowAltered: l.Machine.Altered, Progress: progress.Under(l.Stderr),
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
		options.LeafGamma, options.LeafDelta, options.LeafIID = s.LeafGamma, s.LeafDelta, s.LeafIID
	}
	return options
}

// moreAvailable reports of each client [N] whether it is there in more than half of the rounds of a process that is
// drawn without the data, for data that go by availability.
func moreAvailable(s *settings.Settings, seed uint32) ([]bool, error) {
	options := s.AvailabilityOptions(slices.Repeat([]float64{1}, s.Clients)) // a chain takes no p_i
	options.Seed = s.Seeds(seed).Availability
	process, err := availability.New(s.Availability, options)
	if err != nil {
		return nil, err
	}
	pi, _ := process.Stationary()
	more := make([]bool, len(pi))
	for i := range pi {
		more[i] = pi[i] > 0.5
	}
	return more, nil
}

// OpenData opens the data set of s, unless the session has it open. It closes the engine of another data set.
func (l *Session) OpenData(ctx context.Context, s *settings.Settings, seed uint32) error {
	options := l.dataOptions(s, seed)
	if s.Data == "leaf" && s.LeafAugmentation {
		more, err := moreAvailable(s, seed)
		if err != nil {
			return err
		}
		options.LeafMore = more
	}
	if l.set != nil && l.set.is(s.Data, options) {
		return nil
	}
	if err := l.Close(); err != nil {
		return err
	}
	if l.shared == nil {
		l.shared = &sharedData{}
	}
	opened, err := l.shared.open(ctx, s.Data, options)
	if errors.Is(err, datasets.ErrAltered) {
		return fmt.Errorf("%w (--allow-altered takes well-formed files as they are)", err)
	}
	if err != nil {
		return err
	}
	l.set, l.Data = opened, opened.set
	if dir := l.Data.Dir; dir != "" {
		line := "data: " + l.Data.Name + ", " + dir
		l.notice(line, line)
	}
	return nil
}

// notice writes a line once, however many sessions and runs it is true for. Lines with the same key count as the same
// line.
func (l *Session) notice(key, line string) {
	if l.shared == nil {
		l.shared = &sharedData{}
	}
	if l.shared.isNew(key) {
		Logf(l.Stderr, "%s\n", line)
	}
}

// noticeOfEngine is notice for a line about one engine of several, and says so, or which card it is about.
func (l *Session) noticeOfEngine(key, line string) {
	var of []string
	if l.card != "" {
		of = append(of, l.card)
	}
	if l.engines > 1 {
		of = append(of, fmt.Sprintf("one of %d engines", l.engines))
	}
	text := ""
	if of != nil {
		text = " (" + strings.Join(of, ", ") + ")"
	}
	l.notice(key+text, line+text)
}

// Open opens data and engine for a run, and refuses a run that would hold more memory than there is.
func (l *Session) Open(ctx context.Context, s *settings.Settings, seed uint32) error {
	return l.openFor(ctx, s, seed, func(c *rowCounter) error {
		clients, err := Populate(l.Data, s, seed)
		if err != nil {
			return err
		}
		return c.dryRun(ctx, s, seed, clients)
	})
}

// openFor is Open for callers that do not train a run of rounds. dry asks the counter for all rows that the caller will
// ask an engine for.
func (l *Session) openFor(
	ctx context.Context, s *settings.Settings, seed uint32, dry func(*rowCounter) error,
) error {
	// A run that cannot fit is refused before a download if its settings show it, and else before the engine is opened.
	if err := l.Fits(s); err != nil {
		return err
	}
	if err := l.OpenData(ctx, s, seed); err != nil {
		return err
	}
	if err := l.reserve(ctx, s, dry); err != nil {
		return err
	}
	// Another number of clients or steps needs no other engine: they only say how much memory the rounds will take.
	if l.Engine != nil && l.model.Name == s.Net && l.batch == s.Batch {
		return nil
	}
	if err := l.closeEngine(); err != nil {
		return err
	}
	model, err := models.New(s.Net)
	if err != nil {
		return err
	}
	machine := l.Machine
	machine.Threads = l.threads()
	demand := Demand{s.Batch, s.Clients, s.LocalSteps}
	engine, line, err := machine.OpenEngine(model, l.Data.Train, l.Data.Test, demand, l.noticeOfEngine)
	if err != nil {
		return err
	}
	l.noticeOfEngine(line, line)
	l.Engine, l.model, l.batch = engine, model, s.Batch
	return nil
}

// threads returns the threads of this session's engine. Sessions that work at the same time share the machine's
// threads.
func (l *Session) threads() int { return max(1, l.Machine.Threads/max(1, l.engines)) }

// checksum names the bytes of the open data set. The checksum of generated data holds for one seed only, and its text
// says so.
func (l *Session) checksum(s *settings.Settings) string {
	if s.Data == "synthetic" || s.SplitAway() {
		return results.OfSeed(l.Data.Checksum)
	}
	return results.OfFiles(l.Data.Checksum)
}

// closeEngine closes the engine, if one is open.
func (l *Session) closeEngine() error {
	if l.Engine == nil {
		return nil
	}
	err := l.Engine.Close()
	l.Engine, l.model = nil, nil
	return err
}

// Close closes the engine and releases the data set.
func (l *Session) Close() error {
	err := l.closeEngine()
	if l.set != nil {
		l.shared.close(l.set)
		l.shared.dropUse(l)
	}
	l.Data, l.set = nil, nil
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
