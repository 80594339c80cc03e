package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"rollcall/datasets/plan"
	"rollcall/internal/files"
	"rollcall/nets"
	"rollcall/nets/cpu/kernels"
)

// recorder is an engine that keeps the work of its last Train and the parameters that came of it. --dump takes a run of
// one round only, so that the last Train is the whole training.
type recorder struct {
	nets.Engine
	params int // P
	work   nets.LocalWork
	end    []float32 // [K,P] the parameters of each client at its end
}

func (r *recorder) Train(ctx context.Context, work nets.LocalWork) ([]float32, error) {
	r.work, r.end = work, make([]float32, len(work.Clients)*r.params)
	loss, err := r.Engine.Train(ctx, work)
	if err != nil {
		return nil, err
	}
	for k, c := range work.Clients {
		if err := r.Store(c.End, r.end[k*r.params:][:r.params]); err != nil {
			return nil, err
		}
	}
	return loss, nil
}

// dumpNamesFile is the last file of a dump: a folder without it is no dump.
const dumpNamesFile = "names.json"

// DumpNames is names.json: it says what the arrays of a dump mean, and has the numbers that a replay needs beside them.
type DumpNames struct {
	Net        string      `json:"net"`
	Data       string      `json:"data"`
	Method     string      `json:"method"`
	Params     []dumpParam `json:"params"`
	Mean       []float32   `json:"mean"`
	Std        []float32   `json:"std"`
	Dropout    []dumpDrop  `json:"dropout"`
	Decay      float64     `json:"weight_decay"`
	Clip       *float64    `json:"clip"`
	Momentum   float64     `json:"momentum"`
	LocalSteps int         `json:"local_steps"`
	Batch      int         `json:"batch"`
	ServerLR   float64     `json:"server_lr"`
	Seed       uint32      `json:"seed"`
	Engine     string      `json:"engine"`
	Precision  string      `json:"precision"` // of matrix products
}

// dumpParam is one parameter of the net: w0, w1 and w_server hold them one after the other, in this order.
type dumpParam struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
}

// dumpDrop is one dropout layer of the net, whose masks are in dropout_NAME.npy.
type dumpDrop struct {
	Name string  `json:"name"`
	Rate float64 `json:"rate"`
}

// writeDump writes the recorded round as .npy files, so that any framework can make the same round and compare. The
// docs say how, and list the shapes.
func (x *Experiment) writeDump(f *Federation, r *recorder, train *plan.Samples) error {
	model, err := f.Method.Model()
	if err != nil {
		return err
	}
	server := make([]float32, f.model.P) // [P] the server's model after the round
	if err := r.Store(model, server); err != nil {
		return err
	}
	for _, c := range r.work.Clients { // as --local-epochs does, which is refused before
		if c.Plan.E != x.Settings.LocalSteps {
			return fmt.Errorf("dump: method %s: client %d made %d local steps, want %d as for every client: a replay "+
				"knows no other", x.Settings.Method, c.Client, c.Plan.E, x.Settings.LocalSteps)
		}
	}
	// names.json of an older dump goes first: if this dump is interrupted, arrays of both are in the folder.
	if err := os.Remove(filepath.Join(x.Dump, dumpNamesFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("dump: %w", err)
	}
	s := &x.Settings
	K, E, B, P := len(r.work.Clients), s.LocalSteps, s.Batch, f.model.P
	// Plans of single clients are joined into arrays with a leading client axis: clients [K], index and flip [K,E,B],
	// crop [K,E,B,2].
	var clients, index, crop []int32
	var flip []uint8
	for _, c := range r.work.Clients {
		clients = append(clients, int32(c.Client))
		index = append(index, c.Plan.Index...)
		for _, at := range c.Plan.Crop {
			crop = append(crop, int32(at))
		}
		flip = append(flip, c.Plan.Flip...)
	}
	path := func(name string) string { return filepath.Join(x.Dump, name+".npy") }
	names := DumpNames{
		Net: s.Net, Data: s.Data, Method: s.Method, Seed: x.Seed, Mean: train.Mean, Std: train.Std,
		Params: []dumpParam{}, Dropout: []dumpDrop{}, // not nil, which JSON writes as null and not as a list
		LocalSteps: E, Batch: B, ServerLR: s.ServerLR, Decay: s.Decay, Clip: s.MaxNorm(), Momentum: s.Momentum,
	}
	info := r.Info()
	names.Engine, names.Precision = info.Engine, info.Precision
	for _, p := range f.model.Params {
		names.Params = append(names.Params, dumpParam{p.Name, p.Shape})
	}
	// A dropout mask is a function of seed, round, client and step: it is drawn here again, as the engine drew it.
	for i, d := range f.model.Drops {
		names.Dropout = append(names.Dropout, dumpDrop{d.Name, d.Rate})
		masks := make([]uint8, 0, K*E*B*d.Size)
		for _, c := range r.work.Clients {
			for e := range E {
				draw := kernels.Draw{
					Seed: r.work.Seed, Round: uint32(r.work.Round), Client: uint32(c.Client), Step: uint32(e),
				}
				masks = append(masks, f.model.DropoutMask(i, draw, B)...)
			}
		}
		if err := files.WriteNPY(path("dropout_"+d.Name), []int{K, E, B, d.Size}, masks); err != nil {
			return err
		}
	}
	if train.Features != nil { // rollcall has generated these samples, so that nobody has them as files
		if err := writeFeatures(path, train, []int{K, E, B}, index); err != nil {
			return err
		}
	}
	for _, write := range []func() error{
		func() error { return files.WriteNPY(path("w0"), []int{P}, f.W0) },
		func() error { return files.WriteNPY(path("w1"), []int{K, P}, r.end) },
		func() error { return files.WriteNPY(path("w_server"), []int{P}, server) },
		func() error { return files.WriteNPY(path("clients"), []int{K}, clients) },
		func() error { return files.WriteNPY(path("index"), []int{K, E, B}, index) },
		func() error { return files.WriteNPY(path("crop"), []int{K, E, B, 2}, crop) },
		func() error { return files.WriteNPY(path("flip"), []int{K, E, B}, flip) },
		func() error { return files.WriteNPY(path("lr"), []int{}, []float32{float32(r.work.LR)}) },
	} {
		if err := write(); err != nil {
			return err
		}
	}
	return files.WriteFile(filepath.Join(x.Dump, dumpNamesFile), func(w io.Writer) error {
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		if err := out.Encode(names); err != nil {
			return fmt.Errorf("dump: %w", err)
		}
		return nil
	})
}

// writeFeatures writes the samples of the plan: x [K,E,B,features] and y [K,E,B], 0 where the plan has padding.
func writeFeatures(path func(name string) string, s *plan.Samples, shape []int, index []int32) error {
	size := s.H * s.W * s.C
	x, y := make([]float32, len(index)*size), make([]uint8, len(index))
	for at, i := range index {
		if i >= 0 {
			copy(x[at*size:], s.Features[int(i)*size:][:size])
			y[at] = s.Labels[i]
		}
	}
	if err := files.WriteNPY(path("x"), append(slices.Clone(shape), size), x); err != nil {
		return err
	}
	return files.WriteNPY(path("y"), shape, y)
}
