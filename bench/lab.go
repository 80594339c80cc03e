package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"rollcall/datasets"
	"rollcall/nets"
)

// lab keeps what one run after the other can use: the data set and the engine opened last.
type lab struct {
	machine machineFlags
	stderr  io.Writer
	shelf   *shelf // nil: one of its own
	beside  int    // labs that are at work at the same time, this one among them; 0: this one alone

	data   *datasets.Set
	held   *held // what data was taken from
	model  *nets.Model
	engine nets.Engine
	batch  int
}

// openData makes the data set of s ready.
func (l *lab) openData(ctx context.Context, s *Settings, seed uint32) error {
	options := datasets.Options{Dir: l.machine.DataDir, AllowAltered: l.machine.Altered, Progress: l.stderr}
	if s.Data == "synthetic" {
		options.Seed, options.TrainSize, options.TestSize = seed, s.TrainSize, s.TestSize
	}
	if s.splitAway() {
		options.Seed, options.Clients, options.Reading, options.SwapPairs = seed, s.Clients, datasets.Reading(s.Preset), s.SwapPairs
	}
	if s.Data == "leaf" {
		options.LeafGamma, options.LeafDelta = s.LeafGamma, s.LeafDelta
	}
	if l.held != nil && l.held.is(s.Data, options) {
		return nil
	}
	if err := l.close(); err != nil {
		return err
	}
	if l.shelf == nil {
		l.shelf = &shelf{}
	}
	taken, err := l.shelf.take(ctx, s.Data, options)
	switch {
	case errors.Is(err, datasets.ErrNoLoader):
		return usageError{err}
	case errors.Is(err, datasets.ErrAltered):
		return fmt.Errorf("%w (--allow-altered takes well-formed files as they are)", err)
	case err != nil:
		return err
	}
	l.held, l.data = taken, taken.set
	if dir := l.data.Dir; dir != "" {
		l.tell("data: " + l.data.Name + ", " + dir)
	}
	return nil
}

// tell says something that is worth saying once, however many labs and runs it is true of: what counts is behind the last colon.
func (l *lab) tell(line string) {
	if l.shelf.first(line[strings.LastIndex(line, ": ")+1:]) {
		logf(l.stderr, "%s\n", line)
	}
}

// open makes data and engine ready for s.
func (l *lab) open(ctx context.Context, s *Settings, seed uint32) error {
	if err := l.openData(ctx, s, seed); err != nil {
		return err
	}
	if l.engine != nil && l.model.Name == s.Net && l.batch == s.Batch {
		return nil
	}
	if err := l.closeEngine(); err != nil {
		return err
	}
	model, err := nets.NewModel(s.Net)
	if err != nil {
		return err
	}
	machine := l.machine
	tell := l.tell
	if l.beside > 1 {
		machine.Threads = max(1, machine.Threads/l.beside)
		tell = func(line string) { l.tell(fmt.Sprintf("%s (one of %d engines)", line, l.beside)) }
	}
	engine, line, err := machine.openEngine(model, l.data.Train, l.data.Test, demand{s.Batch, s.Clients, s.LocalSteps}, tell)
	if err != nil {
		return err
	}
	tell(line)
	l.model, l.engine, l.batch = model, engine, s.Batch
	return nil
}

// checksum names the bytes of the data set that is open.
func (l *lab) checksum() string { return "sha256:" + l.data.Checksum }

func (l *lab) closeEngine() error {
	if l.engine == nil {
		return nil
	}
	err := l.engine.Close()
	l.engine, l.model = nil, nil
	return err
}

func (l *lab) close() error {
	err := l.closeEngine()
	if l.held != nil {
		l.shelf.put(l.held)
	}
	l.data, l.held = nil, nil
	return err
}
