package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/nets"
)

// Session keeps what one run after the other can use: the data set and the engine opened last.
type Session struct {
	Machine Machine
	Stderr  io.Writer
	sets    *openSets // nil: one of its own
	engines int       // labs that are at work at the same time, this one among them; 0: this one alone

	Data   *datasets.Set
	set    *openSet // what data was taken from
	Model  *nets.Model
	Engine nets.Engine
	Batch  int
}

// OpenData makes the data set of s ready.
func (l *Session) OpenData(ctx context.Context, s *settings.Settings, seed uint32) error {
	options := datasets.Options{Dir: l.Machine.DataDir, AllowAltered: l.Machine.Altered, Progress: l.Stderr}
	if s.Data == "synthetic" {
		options.Seed, options.TrainSize, options.TestSize = seed, s.TrainSize, s.TestSize
	}
	if s.SplitAway() {
		options.Seed, options.Clients, options.Reading, options.SwapPairs = seed, s.Clients, datasets.Reading(s.Preset), s.SwapPairs
	}
	if s.Data == "leaf" {
		options.LeafGamma, options.LeafDelta = s.LeafGamma, s.LeafDelta
	}
	if l.set != nil && l.set.is(s.Data, options) {
		return nil
	}
	if err := l.Close(); err != nil {
		return err
	}
	if l.sets == nil {
		l.sets = &openSets{}
	}
	taken, err := l.sets.take(ctx, s.Data, options)
	switch {
	case errors.Is(err, datasets.ErrNoLoader):
		return settings.Usagef("%w", err)
	case errors.Is(err, datasets.ErrAltered):
		return fmt.Errorf("%w (--allow-altered takes well-formed files as they are)", err)
	case err != nil:
		return err
	}
	l.set, l.Data = taken, taken.set
	if dir := l.Data.Dir; dir != "" {
		l.notice("data: " + l.Data.Name + ", " + dir)
	}
	return nil
}

// notice says something that is worth saying once, however many labs and runs it is true of: what counts is behind the last colon.
func (l *Session) notice(line string) {
	if l.sets.first(line[strings.LastIndex(line, ": ")+1:]) {
		Logf(l.Stderr, "%s\n", line)
	}
}

// Open makes data and engine ready for s.
func (l *Session) Open(ctx context.Context, s *settings.Settings, seed uint32) error {
	if err := l.OpenData(ctx, s, seed); err != nil {
		return err
	}
	if l.Engine != nil && l.Model.Name == s.Net && l.Batch == s.Batch {
		return nil
	}
	if err := l.closeEngine(); err != nil {
		return err
	}
	model, err := nets.NewModel(s.Net)
	if err != nil {
		return err
	}
	machine := l.Machine
	tell := l.notice
	if l.engines > 1 {
		machine.Threads = max(1, machine.Threads/l.engines)
		tell = func(line string) { l.notice(fmt.Sprintf("%s (one of %d engines)", line, l.engines)) }
	}
	engine, line, err := machine.OpenEngine(model, l.Data.Train, l.Data.Test, Demand{s.Batch, s.Clients, s.LocalSteps}, tell)
	if err != nil {
		return err
	}
	tell(line)
	l.Model, l.Engine, l.Batch = model, engine, s.Batch
	return nil
}

// checksum names the bytes of the data set that is open.
func (l *Session) checksum() string { return "sha256:" + l.Data.Checksum }

func (l *Session) closeEngine() error {
	if l.Engine == nil {
		return nil
	}
	err := l.Engine.Close()
	l.Engine, l.Model = nil, nil
	return err
}

func (l *Session) Close() error {
	err := l.closeEngine()
	if l.set != nil {
		l.sets.put(l.set)
	}
	l.Data, l.set = nil, nil
	return err
}
