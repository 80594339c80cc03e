package run

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"rollcall/algos"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/nets"
	"rollcall/results"
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
func (t *trainer) saveModels(ctx context.Context) error {
	if t.x.SaveModel == SaveNone {
		return nil
	}
	model, err := t.f.Method.Model()
	if err == nil {
		err = t.saveModel(ctx, model, results.ModelFile, nil)
	}
	if err != nil || t.x.SaveModel == SaveOne {
		return err
	}
	rows, of := algos.LocalModels(t.f.Method)
	for j, row := range rows {
		if err := t.saveModel(ctx, row, results.ClientModelFile(of[j][0]), of[j]); err != nil {
			return err
		}
	}
	return nil
}

// saveModel writes the model in one row. clients are the clients that keep this model; nil: it is the server's.
func (t *trainer) saveModel(ctx context.Context, row nets.Row, name string, clients []int) error {
	s, model := &t.x.Settings, t.f.model
	w := make([]float32, model.P)
	if err := t.engine.Store(row, w); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	metadata := map[string]string{
		"format": "pt", "net": s.Net, "data": s.Data, "method": s.Method, "round": strconv.Itoa(s.Rounds),
		"settings_hash": results.Hash(s), "seed": strconv.FormatUint(uint64(t.x.Seed), 10),
	}
	if clients != nil {
		list := make([]string, len(clients))
		for k, i := range clients {
			list[k] = strconv.Itoa(i)
		}
		metadata["clients"] = strings.Join(list, ",")
	}
	return t.write(ctx, name, func(path string, before files.Before) error {
		return files.WriteFile(path, func(out io.Writer) error {
			return safetensors.Write(out, metadata, settings.Tensors(model, w))
		}, before)
	})
}
