package run

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"rollcall/bench/settings/settingstest"
	"rollcall/datasets/plan"
	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
	"rollcall/internal/must"
	"rollcall/nets"
)

// planned is an engine that keeps the plans of the last Train.
type planned struct {
	nets.Engine
	clients []nets.ClientWork
}

func (p *planned) Train(ctx context.Context, work nets.LocalWork) ([]float32, error) {
	p.clients = work.Clients
	return p.Engine.Train(ctx, work)
}

// The batches of a scenario are those that a run trains on, in every round, with equal steps and with epochs.
func TestScenarioBatches(t *testing.T) {
	const rounds = 6
	for _, more := range [][]string{
		{"local-steps=3", "batch=16", "local-epochs=none"},
		{"local-epochs=2"},
		{"data=synthetic", "net=lenet5", "train-size=60", "test-size=5", "augment=sample", "seed-batches=9"},
	} {
		s := settingstest.Resolved(t, "method=fedavg-active data=leaf clients=12 rounds=6 batch=8 lr=0.05 "+
			"server-lr=1 availability=sine", more...)
		_, ses, _ := tinyExperiment(t)
		must.OK(t, ses.Open(t.Context(), &s, 4))
		engine := &planned{Engine: ses.Engine}
		f := must.Get(ses.Federate(t.Context(), s, 4, engine))(t)
		var clients []int32
		first := []int64{0}
		var all plan.Local
		steps := []int64{0}
		for round := range rounds {
			engine.clients = nil
			must.Get2(f.round(t.Context(), round))(t)
			for _, c := range engine.clients {
				clients = append(clients, int32(c.Client))
				steps = append(steps, steps[len(steps)-1]+int64(c.Plan.E))
				all.Index, all.Crop = append(all.Index, c.Plan.Index...), append(all.Crop, c.Plan.Crop...)
				all.Flip = append(all.Flip, c.Plan.Flip...)
			}
			first = append(first, int64(len(clients)))
		}
		dir := t.TempDir()
		x := Scenario{Settings: s, Seed: 4, Batches: true}
		must.Get(x.Export(t.Context(), ses, dir))(t)
		path := filepath.Join(dir, batchesFile)
		for name, same := range map[string]bool{
			"round_offsets": slices.Equal(member[int64](t, path, "round_offsets"), first),
			"client":        slices.Equal(member[int32](t, path, "client"), clients),
			"step_offsets":  slices.Equal(member[int64](t, path, "step_offsets"), steps),
			"index":         slices.Equal(member[int32](t, path, "index"), all.Index),
			"crop":          slices.Equal(member[uint8](t, path, "crop"), all.Crop),
			"flip":          slices.Equal(member[uint8](t, path, "flip"), all.Flip),
		} {
			if !same {
				t.Errorf("%q: %s is not that of the run", more, name)
			}
		}
		if len(clients) < rounds {
			t.Errorf("%q: %d entries, want some in every round: the test is of nothing", more, len(clients))
		}
	}
}

// member returns the elements of an array.
func member[T files.Element](t *testing.T, path, name string) []T {
	t.Helper()
	_, data := must.Get2(filestest.ReadNPZ[T](path, name))(t)
	return data
}

// An export that is interrupted, or meets an error, leaves its folder as it was: empty.
func TestScenarioBreaksOff(t *testing.T) {
	s := settingstest.Tiny(t)
	_, ses, _ := tinyExperiment(t)
	must.OK(t, ses.OpenData(t.Context(), &s, 3))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	x := Scenario{Settings: s, Seed: 3, Batches: true}
	if _, err := x.Export(ctx, ses, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was interrupted", err)
	}
	if left := filestest.FileNames(t, dir); left != "" {
		t.Errorf("left: %s", left)
	}
	obstacle := filepath.Join(dir, ScenarioInfo) // the last file: nothing can be renamed over a folder
	must.OK(t, os.Mkdir(obstacle, 0o777))
	if _, err := x.Export(t.Context(), ses, dir); err == nil {
		t.Error("no error, want one of scenario.json")
	}
	if left := filestest.FileNames(t, dir); left != ScenarioInfo {
		t.Errorf("left: %s", left)
	}
	must.OK(t, os.Remove(obstacle))
	info := must.Get(x.Export(t.Context(), ses, dir))(t)
	var read map[string]any
	must.OK(t, json.Unmarshal(must.Get(os.ReadFile(filepath.Join(dir, ScenarioInfo)))(t), &read))
	if read["data_checksum"] != info.DataChecksum || info.DataChecksum == "" {
		t.Errorf("scenario.json %v, want the checksum %q", read, info.DataChecksum)
	}
}
