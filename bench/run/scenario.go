package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/datasets/plan"
	"rollcall/internal/files"
	"rollcall/nets"
	"rollcall/nets/models"
)

// Scenario is all that a run is given, whatever trains it: who holds which samples and is available when, the learning
// rates, the initial weights and the batches. [Scenario.Export] writes it as files, so that a program which is no
// method of this suite trains on the same.
type Scenario struct {
	Settings settings.Settings
	Seed     uint32
	Batches  bool   // write the batches of every round, too
	Data     bool   // write the samples, too; generated ones are written anyway
	Command  string // with which the files are made again
}

// The files of a scenario. A folder without the last one, which describes the others, is no scenario.
const (
	scenarioFile = "scenario.npz"
	weightsFile  = "weights.npz"
	batchesFile  = "batches.npz"
	samplesFile  = "data.npz"
	ScenarioInfo = "scenario.json"
)

// ScenarioParts are the names of the files that a killed export may have left.
var ScenarioParts = []string{scenarioFile, weightsFile, batchesFile, samplesFile}

// ScenarioJSON is the content of scenario.json.
type ScenarioJSON struct {
	Schema       int               `json:"schema"`
	Command      string            `json:"command"`
	Version      string            `json:"version"`
	Seed         uint32            `json:"seed"`
	Data         string            `json:"data"`
	DataChecksum string            `json:"data_checksum"`
	Net          string            `json:"net"`
	Batch        int               `json:"batch"`
	ServerLR     float64           `json:"server_lr"`
	Clip         *float64          `json:"clip"` // null: none
	WeightDecay  float64           `json:"weight_decay"`
	Momentum     float64           `json:"momentum"`
	Settings     settings.Settings `json:"settings"`
	Files        []ScenarioArrays  `json:"files"`
}

// ScenarioArrays describes one file of arrays.
type ScenarioArrays struct {
	Name   string          `json:"name"`
	SHA256 string          `json:"sha256"`
	Arrays []ScenarioArray `json:"arrays"`
}

// ScenarioArray describes one array, and writes it.
type ScenarioArray struct {
	Name    string `json:"name"`
	Type    string `json:"type"`  // NumPy's
	Axes    string `json:"axes"`  // such as [T,N]
	Shape   []int  `json:"shape"` // such as [2000,100]
	Meaning string `json:"meaning"`

	write func(z *files.NPZ) error
}

// arrayOf returns an array whose elements come in parts.
func arrayOf[T files.Element](name, axes string, shape []int, meaning string, parts iter.Seq[[]T]) ScenarioArray {
	return ScenarioArray{
		Name: name, Type: files.NPYType[T](), Axes: axes, Shape: shape, Meaning: meaning,
		write: func(z *files.NPZ) error { return files.AddNPZ(z, name, shape, parts) },
	}
}

// wholeArray is arrayOf for elements that are in memory.
func wholeArray[T files.Element](name, axes string, shape []int, meaning string, data []T) ScenarioArray {
	return arrayOf(name, axes, shape, meaning, slices.Values([][]T{data}))
}

// Export writes the scenario to a folder, in which it replaces what a killed export has left. Its data and clients are
// those of a run of ses with the same settings and seed; no engine is opened. What grows with T·N is written round by
// round, and takes no memory.
func (x *Scenario) Export(ctx context.Context, ses *Session, dir string) (info ScenarioJSON, err error) {
	s := &x.Settings
	if err := ses.OpenData(ctx, s, x.Seed); err != nil {
		return info, err
	}
	clients, err := ses.populate(s, x.Seed)
	if err != nil {
		return info, err
	}
	about, err := datasets.About(s.Data)
	if err != nil {
		return info, err
	}
	model, err := models.New(s.Net)
	if err != nil {
		return info, err
	}
	w0, err := initial(model, s, x.Seed)
	if err != nil {
		return info, err
	}
	info = ScenarioJSON{
		Schema: 1, Command: x.Command, Version: Version(), Seed: x.Seed, Data: s.Data, DataChecksum: ses.Checksum(s),
		Net: s.Net, Batch: s.Batch, ServerLR: s.ServerLR, Clip: s.MaxNorm(), WeightDecay: s.Decay,
		Momentum: s.Momentum, Settings: *s,
	}
	planner := clients.planner(s, s.Seeds(x.Seed).Batches, about.Flip)
	train, test := ses.Data.Train, ses.Data.Test
	info.Files = []ScenarioArrays{
		{Name: scenarioFile, Arrays: clients.arrays(ctx, s, train, test, planner)},
		{Name: weightsFile, Arrays: weightArrays(model, w0)},
	}
	if x.Batches {
		info.Files = append(info.Files, ScenarioArrays{Name: batchesFile, Arrays: clients.batchArrays(ctx, s, planner)})
	}
	if x.Data || s.Data == "synthetic" || s.SplitAway() {
		samples := append(sampleArrays(train, ""), sampleArrays(test, "_test")...)
		info.Files = append(info.Files, ScenarioArrays{Name: samplesFile, Arrays: samples})
	}
	for _, name := range ScenarioParts {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return info, fmt.Errorf("scenario: %w", err)
		}
	}
	var wrote []string
	defer func() { // a later command finds the folder empty again
		if err != nil {
			for _, path := range wrote {
				err = cmp.Or(err, os.Remove(path))
			}
		}
	}()
	write := func(name string, write func(w io.Writer) error) error {
		path := filepath.Join(dir, name)
		if err := files.Replace(path, write); err != nil {
			return cmp.Or(ctx.Err(), fmt.Errorf("scenario: %s: %w", path, err))
		}
		wrote = append(wrote, path)
		return nil
	}
	for k := range info.Files {
		f, sum := &info.Files[k], sha256.New()
		if err = write(f.Name, func(w io.Writer) error {
			z := files.NewNPZ(io.MultiWriter(w, sum))
			for _, a := range f.Arrays {
				if err := a.write(z); err != nil {
					return err
				}
			}
			return z.Close()
		}); err != nil {
			return info, err
		}
		f.SHA256 = fmt.Sprintf("%x", sum.Sum(nil))
	}
	err = write(ScenarioInfo, func(w io.Writer) error {
		return files.WriteJSON(w, info)
	})
	return info, err
}

// ragged returns the two arrays of lists of different lengths: all lists one after the other, and where each begins.
func ragged(name string, of [][]int32, meaning string) []ScenarioArray {
	offsets := make([]int64, 1, len(of)+1)
	for _, list := range of {
		offsets = append(offsets, offsets[len(offsets)-1]+int64(len(list)))
	}
	return []ScenarioArray{
		arrayOf(name+"_index", "[n]", []int{int(offsets[len(of)])}, meaning, slices.Values(of)),
		wholeArray(name+"_offsets", "[N+1]", []int{len(offsets)},
			"client i has "+name+"_index[offsets[i]:offsets[i+1]]", offsets),
	}
}

// arrays returns the arrays of scenario.npz: the clients, who is available in which round, and the rates.
func (p *Population) arrays(
	ctx context.Context, s *settings.Settings, train, test *plan.Samples, planner *plan.Planner,
) []ScenarioArray {
	N, T := s.Clients, s.Rounds
	all := ragged("train", p.train, "the samples that each client trains on, of the training set, from 0")
	if p.validation != nil {
		all = append(all, ragged("validation", p.validation, "the samples of the training set that each client keeps "+
			"back (--validation)")...)
	}
	part, of := "test", "test set"
	if p.tested == nets.Train {
		part, of = "held_out", "training set"
	}
	if p.test != nil {
		all = append(all, ragged(part, p.test, "the samples of the "+of+" that each client is evaluated on")...)
	} else {
		same := p.same
		if same == nil {
			for i := range test.Len() {
				same = append(same, int32(i))
			}
		}
		all = append(all, wholeArray(part+"_index", "[n]", []int{len(same)},
			"the samples of the "+of+" that models are evaluated on", same))
	}
	if p.ownClasses != nil {
		all = append(all, ragged("own_classes", p.ownClasses, "as many samples of the "+of+" of each of the client's "+
			"classes, for accuracies by client")...)
	}
	var counts []int32
	for _, row := range p.ClassCounts(train) {
		for _, n := range row {
			counts = append(counts, int32(n))
		}
	}
	importance := p.target(p.importance(s.Weights))
	lr, steps := make([]float64, T), make([]int32, N)
	for t := range lr {
		lr[t] = s.Rate(t)
	}
	for i := range steps {
		steps[i] = int32(planner.Steps(i))
	}
	all = append(
		all,
		wholeArray("class_counts", "[N,classes]", []int{N, train.Classes}, "training samples of each class", counts),
		wholeArray("importance", "[N]", []int{N}, "α_i, the client's share of the objective; 0: never available",
			importance),
		wholeArray("steps", "[N]", []int{N}, "local steps of the client in a round", steps),
		arrayOf("active", "[T,N]", []int{T, N}, "the client is available in the round", p.activity(ctx, T, N)),
		arrayOf("probability", "[T,N]", []int{T, N}, "p_i^t, the probability of that", p.probabilities(ctx, T, N)),
		wholeArray("p", "[N]", []int{N}, "p_i of FedAWE's models, from which p_i^t is made; else π_i", p.Base),
		wholeArray("pi", "[N]", []int{N}, "π_i, the share of rounds in which the client is available", p.Pi),
		wholeArray("lambda", "[N]", []int{N}, "λ_i of a chain of two states; 0: rounds are independent", p.Lambda),
		wholeArray("lr", "[T]", []int{T}, "local learning rate of the round", lr),
		wholeArray("server_lr", "[]", []int{}, "learning rate of the server", []float64{s.ServerLR}),
	)
	if train.Mean != nil {
		all = append(
			all,
			wholeArray("mean", "[C]", []int{train.C}, "of the images, scaled to 0 … 1: x = (image/255 − mean)/std",
				train.Mean),
			wholeArray("std", "[C]", []int{train.C}, "their standard deviation", train.Std),
		)
	}
	return all
}

// activity yields who is active [N], round by round.
func (p *Population) activity(ctx context.Context, rounds, n int) iter.Seq[[]bool] {
	return func(yield func([]bool) bool) {
		row := make([]bool, n)
		for t := range rounds {
			clear(row)
			for _, i := range p.Availability.Active(t) {
				row[i] = true
			}
			if ctx.Err() != nil || !yield(row) {
				return
			}
		}
	}
}

// probabilities yields p_i^t [N], round by round.
func (p *Population) probabilities(ctx context.Context, rounds, n int) iter.Seq[[]float64] {
	return func(yield func([]float64) bool) {
		row := make([]float64, n)
		for t := range rounds {
			p.Availability.Probabilities(t, row)
			if ctx.Err() != nil || !yield(row) {
				return
			}
		}
	}
}

// batchArrays returns the arrays of batches.npz: the plans of every active client in every round, as they are if every
// active client trains. An entry is one client in one round. Each array makes all plans again, so that none are kept.
func (p *Population) batchArrays(ctx context.Context, s *settings.Settings, planner *plan.Planner) []ScenarioArray {
	T, B := s.Rounds, s.Batch
	first, entries, steps := make([]int64, 1, T+1), 0, 0
	for t := range T {
		for _, i := range p.Availability.Active(t) {
			entries, steps = entries+1, steps+planner.Steps(i)
		}
		first = append(first, int64(entries))
	}
	each := func(yield func(t, i int) bool) { // every entry
		for t := range T {
			for _, i := range p.Availability.Active(t) {
				if ctx.Err() != nil || !yield(t, i) {
					return
				}
			}
		}
	}
	return []ScenarioArray{
		wholeArray("round_offsets", "[T+1]", []int{T + 1},
			"round t has the entries round_offsets[t]:round_offsets[t+1]", first),
		arrayOf("client", "[M]", []int{entries}, "the client of each entry", func(yield func([]int32) bool) {
			for _, i := range each {
				if !yield([]int32{int32(i)}) {
					return
				}
			}
		}),
		arrayOf("step_offsets", "[M+1]", []int{entries + 1}, "entry m has the steps step_offsets[m]:step_offsets[m+1]",
			func(yield func([]int64) bool) {
				at := int64(0)
				if !yield([]int64{0}) {
					return
				}
				for _, i := range each {
					if at += int64(planner.Steps(i)); !yield([]int64{at}) {
						return
					}
				}
			}),
		arrayOf("index", "[S,B]", []int{steps, B}, "the samples of each step, of the training set; −1 is none",
			plansOf(each, planner, func(l *plan.Local) []int32 { return l.Index })),
		arrayOf("crop", "[S,B,2]", []int{steps, B, 2}, "row and column of the crop, 0 … 8, in the normalised image "+
			"padded by 4 zeros; 4, 4 is the image itself",
			plansOf(each, planner, func(l *plan.Local) []uint8 { return l.Crop })),
		arrayOf("flip", "[S,B]", []int{steps, B}, "1: the crop is mirrored left to right",
			plansOf(each, planner, func(l *plan.Local) []uint8 { return l.Flip })),
	}
}

// plansOf yields one array of the plan of every entry: a round and a client, who continues in its samples where its
// last entry ended.
func plansOf[T files.Element](
	each iter.Seq2[int, int], planner *plan.Planner, of func(l *plan.Local) []T,
) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		taken := make([]int, len(planner.Parts))
		for t, i := range each {
			l := planner.Client(t, i, taken[i])
			if taken[i] += l.E; !yield(of(&l)) {
				return
			}
		}
	}
}

// weightArrays returns the parameters w [P] of a net under PyTorch's names.
func weightArrays(model *models.Model, w []float32) []ScenarioArray {
	var all []ScenarioArray
	for _, p := range model.Params {
		all = append(all, wholeArray(p.Name, "PyTorch's", p.Shape, "initial weights", w[p.Offset:][:p.Size]))
	}
	return all
}

// sampleArrays returns the samples and labels of a part of the data.
func sampleArrays(s *plan.Samples, suffix string) []ScenarioArray {
	shape, meaning := []int{s.Len(), s.H, s.W, s.C}, s.Name+", in the order in which indices count"
	x := wholeArray("x"+suffix, "[n,H,W,C]", shape, meaning, s.Images)
	if s.Features != nil {
		x = wholeArray("x"+suffix, "[n,H,W,C]", shape, meaning, s.Features)
	}
	return []ScenarioArray{x, wholeArray("y"+suffix, "[n]", shape[:1], "their labels, from 0", s.Labels)}
}
