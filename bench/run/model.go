package run

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"rollcall/algos"
	"rollcall/bench/settings"
	"rollcall/nets"
	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/safetensors"
)

// SaveModel says which models a run writes at its end, as safetensors files.
type SaveModel string

// The values of --save-model.
const (
	SaveNone SaveModel = ""
	SaveOne  SaveModel = "one" // the model that is evaluated
	SaveAll  SaveModel = "all" // that model, and the models that clients keep of their own
)

// Validate refuses an unknown value, and SaveAll for a method whose clients keep no models.
func (m SaveModel) Validate(method string) error {
	if err := settings.OneOf("save-model", string(m), []string{string(SaveOne), string(SaveAll)}); err != nil {
		return err
	}
	if m == SaveAll && !algos.Has(method, algos.OwnModels) {
		return settings.Usagef("--save-model=all: of no use with --method %s, want it with %s, whose clients keep "+
			"models of their own, or --save-model", method, settings.OrList(algos.Those(algos.OwnModels)))
	}
	return nil
}

// saveModels writes the models that are asked for, in PyTorch's names, shapes and layouts. It leaves out
// num_batches_tracked, which no net here has and PyTorch starts at 0.
func (x *Experiment) saveModels(ctx context.Context, engine nets.Engine, f *Federation) error {
	if x.SaveModel == SaveNone {
		return nil
	}
	model, err := f.Method.Model()
	if err == nil {
		err = x.saveModel(ctx, engine, f, model, results.ModelFile, nil)
	}
	if err != nil || x.SaveModel == SaveOne {
		return err
	}
	rows, of := algos.LocalModels(f.Method)
	for j, row := range rows {
		if err := x.saveModel(ctx, engine, f, row, results.ClientModelFile(of[j][0]), of[j]); err != nil {
			return err
		}
	}
	return nil
}

// saveModel writes the model in one row. clients are the clients that keep this model; nil: it is the server's.
func (x *Experiment) saveModel(
	ctx context.Context, engine nets.Engine, f *Federation, row nets.Row, name string, clients []int,
) error {
	s, w := &x.Settings, make([]float32, f.model.P)
	if err := engine.Store(row, w); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	metadata := map[string]string{
		"format": "pt", "net": s.Net, "data": s.Data, "method": s.Method, "round": strconv.Itoa(s.Rounds),
		"settings_hash": results.Hash(s), "seed": strconv.FormatUint(uint64(x.Seed), 10),
	}
	if clients != nil {
		list := make([]string, len(clients))
		for k, i := range clients {
			list[k] = strconv.Itoa(i)
		}
		metadata["clients"] = strings.Join(list, ",")
	}
	tensors := make([]safetensors.Tensor, len(f.model.Params))
	for i, p := range f.model.Params {
		tensors[i] = safetensors.Float32s(p.Name, p.Shape, w[p.Offset:][:p.Size])
	}
	return withRetries(ctx, func() error {
		return x.publish(name, func(path string) error {
			return files.WriteFile(path, func(out io.Writer) error { return safetensors.Write(out, metadata, tensors) })
		})
	})
}

// lacksModels reports whether a finished run has not written the models that are asked for. Of the models of clients it
// looks for one file: a file is named after the first client that keeps its model, and client 0 is the first of one.
func (x *Experiment) lacksModels(left results.Checksums) bool {
	return x.SaveModel != SaveNone && left[results.ModelFile] == "" ||
		x.SaveModel == SaveAll && left[results.ClientModelFile(0)] == ""
}
