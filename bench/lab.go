package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"rollcall/datasets"
	"rollcall/nets"
)

// lab keeps what one run after the other can use: the data set and the engine opened last.
type lab struct {
	machine machineFlags
	stderr  io.Writer

	data   *datasets.Set
	opened datasets.Options // what data was opened with
	model  *nets.Model
	engine nets.Engine
	batch  int
	told   string // which device runs

	unavailable map[string]error // data sets whose download failed: the cells of a table do not all try again
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
	if l.data != nil && l.data.Name == s.Data && sameData(l.opened, options) {
		return nil
	}
	if err := l.unavailable[s.Data]; err != nil {
		return err
	}
	if err := l.close(); err != nil {
		return err
	}
	data, err := datasets.Open(ctx, s.Data, options)
	if errors.Is(err, datasets.ErrUnavailable) {
		if l.unavailable == nil {
			l.unavailable = map[string]error{}
		}
		l.unavailable[s.Data] = err
	}
	switch {
	case errors.Is(err, datasets.ErrNoLoader):
		return usageError{err}
	case errors.Is(err, datasets.ErrAltered):
		return fmt.Errorf("%w (--allow-altered takes well-formed files as they are)", err)
	case err != nil:
		return err
	}
	l.data, l.opened = data, options
	if data.Dir != "" {
		logf(l.stderr, "data: %s, %s\n", data.Name, data.Dir)
	}
	return nil
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
	engine, line, err := l.machine.openEngine(model, l.data.Train, l.data.Test, demand{s.Batch, s.Clients, s.LocalSteps}, func(what string) { logf(l.stderr, "%s\n", what) })
	if err != nil {
		return err
	}
	if line != l.told { // once for many runs on data of their own
		logf(l.stderr, "%s\n", line)
		l.told = line
	}
	l.model, l.engine, l.batch = model, engine, s.Batch
	return nil
}

// checksum names the bytes of the data set that is open.
func (l *lab) checksum() string { return "sha256:" + l.data.Checksum }

func sameData(a, b datasets.Options) bool {
	return a.Dir == b.Dir && a.Seed == b.Seed && a.TrainSize == b.TrainSize && a.TestSize == b.TestSize &&
		a.Clients == b.Clients && a.Reading == b.Reading && a.LeafGamma == b.LeafGamma && a.LeafDelta == b.LeafDelta && a.SwapPairs == b.SwapPairs
}

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
	l.data = nil
	return err
}
