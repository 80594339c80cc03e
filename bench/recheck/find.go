package recheck

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"rollcall/algos"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/internal/files"
	"rollcall/nets/models"
	"rollcall/results"
	"rollcall/results/papers"
)

// kept is a run that was kept.
type kept struct {
	results.Run
	path        string // of its folder, for people: that of an archive goes on with the names in it
	item, paper string // paper is empty for an item of no paper
	settings    settings.Settings
	machine     run.Machine // of its numerics
	turn, place int         // of its item, and of its paper in that turn, from 0
}

// find reads the runs of the wanted items below the folders, and in archives there, which it unpacks below temp. bad is
// what is wrong with their files.
func find(ctx context.Context, o *Options, temp string) (all []*kept, bad []error, err error) {
	var items []string
	for i, dir := range o.Dirs {
		unpacked := filepath.Join(temp, strconv.Itoa(i))
		wrong, err := unpackAll(ctx, dir, unpacked)
		if err != nil {
			return nil, nil, err
		}
		bad = append(bad, wrong...)
		for _, root := range []string{dir, unpacked} {
			folders, err := results.RunFolders(ctx, root)
			if err != nil {
				return nil, nil, err
			}
			for _, folder := range folders {
				below, err := filepath.Rel(root, folder)
				if err != nil {
					return nil, nil, err
				}
				item := itemOf(dir, below)
				items = append(items, item)
				if len(o.Only) == 0 || slices.Contains(o.Only, item) {
					all = append(all, &kept{
						Run: results.Run{Dir: folder}, path: filepath.Join(dir, below), item: item,
					})
				}
			}
		}
	}
	for _, item := range o.Only {
		if !slices.Contains(items, item) {
			return nil, nil, errors.Join(append(bad, settings.Usagef("--only %s: no run of it, want one of %s", item,
				strings.Join(files.SortedSet(items), ", ")))...)
		}
	}
	wrong := make([][]error, len(all))
	err = files.Parallel(ctx, len(all), func(i int) {
		k := all[i]
		k.Run, wrong[i] = results.ReadRunFolder(k.Dir)
		k.paper = cmp.Or(paperOf(k.item), paperOf(k.Table))
		for j, err := range wrong[i] { // people do not know the folder of an archive
			wrong[i][j] = errors.New(strings.ReplaceAll(err.Error(), k.Dir, k.path))
		}
	})
	return all, slices.Concat(append(wrong, bad)...), err
}

// itemOf returns the item of a run: the first folder below dir, or dir itself if that has cells or an archive.
func itemOf(dir, below string) string {
	parts := strings.Split(filepath.ToSlash(below), "/")
	if len(parts) > 2 && parts[0] != ArchiveName {
		return parts[0]
	}
	if whole, err := filepath.Abs(dir); err == nil {
		dir = whole
	}
	return filepath.Base(dir)
}

// paperOf returns the paper that has a table or figure; "": none has.
func paperOf(id string) string {
	for _, d := range papers.Documents() {
		if id != "" && slices.ContainsFunc(d.Items, func(i papers.Item) bool { return i.ID == id }) {
			return d.Name
		}
	}
	return ""
}

// draw returns the runs in a random order in which every item has its turn before any has its next, and the papers of a
// turn alternate. What is random is the order of the SHA-256 of the seed and a run's path, which needs no generator.
func draw(all []*kept, seed uint32) []*kept {
	random := func(k *kept) string {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", seed, k.path))
		return string(sum[:])
	}
	sorted := slices.SortedFunc(slices.Values(all), func(a, b *kept) int { return cmp.Compare(random(a), random(b)) })
	seen := map[any]int{}
	next := func(of any) int { // how many of them came before
		seen[of]++
		return seen[of] - 1
	}
	for _, k := range sorted {
		k.turn = next(k.item)
	}
	slices.SortStableFunc(sorted, func(a, b *kept) int { return a.turn - b.turn })
	for _, k := range sorted {
		k.place = next([2]any{k.turn, k.paper})
	}
	slices.SortStableFunc(sorted, func(a, b *kept) int { return cmp.Or(a.turn-b.turn, a.place-b.place) })
	return sorted
}

// ready prepares a run to be trained on a machine like base. leave is why it cannot be, to the same rows; "": it can.
func (k *kept) ready(base run.Machine) (leave string) {
	switch {
	case k.Damaged || k.Info == nil:
		return "damaged or unfinished"
	case k.Info.Status != results.RunComplete:
		return string(k.Info.Status)
	case k.Info.Schema < results.Schema:
		return fmt.Sprintf("run.json of schema %d, want %d", k.Info.Schema, results.Schema)
	}
	for setting, why := range map[string]string{
		"method-sha256": "the method is a program of its own", "init-sha256": "it starts from a file of weights",
		"data-sha256":  "its data are in a file",
		"trace-sha256": "its availability is in a file", "chain-sha256": "its availability is in a file",
		"split-sha256": "its split is in a file",
	} {
		if sum, _ := k.Settings()[setting].(string); sum != "" {
			return why
		}
	}
	k.machine = base
	k.machine.Precision, k.machine.Altered, k.machine.Device = k.Info.Precision, k.Info.AllowAltered, "cpu"
	if strings.HasPrefix(k.Info.Numerics, "cuda") {
		k.machine.Device = "cuda"
	}
	class, engine, err := k.machine.Numerics()
	if err != nil || class != k.Info.Numerics {
		return fmt.Sprintf("numerics %s, which this machine and program do not compute", k.Info.Numerics)
	}
	if err := k.restore(); err != nil {
		return err.Error()
	}
	want := k.Likeness()
	want.Revisions = run.Revisions(&k.settings, engine)
	if differ := k.Likeness().Unwanted(want); differ != nil {
		return strings.Join(differ, ", ")
	}
	if _, err := datasets.Find(k.Data, datasets.Options{Dir: base.DataDir}); err != nil {
		return fmt.Sprintf("the data set %s is not here", k.Data)
	}
	return ""
}

// describe registers the net of the run if it is not of the catalogue: run.json has its layers.
func (k *kept) describe() error {
	layers, own := k.Settings()[results.NetLayers].(string)
	if !own {
		return nil
	}
	name, err := models.Register(layers, k.Net)
	if err == nil && name != k.Net {
		err = fmt.Errorf("the net %s has the layers of %s", k.Net, name)
	}
	return err
}

// restore reads the settings in run.json, and what else the column params has, such as a sweep's settings of no use. A
// setting that came later is not there, and has the value as before. The hash tells whether the run is the same; the
// column params does not, since a default that has changed is another text there.
func (k *kept) restore() (err error) {
	if err := k.describe(); err != nil {
		return err
	}
	was := map[string]any{}
	for name, value := range k.Params.All() {
		was[name] = value
	}
	maps.Copy(was, k.Settings())
	var given, later settings.Given
	for _, r := range settings.Rows() {
		if value, is := was[r.Name]; is {
			given = append(given, algos.Setting{Name: r.Name, Value: fmt.Sprint(value)})
		} else if r.AsBefore != "" {
			later = append(later, algos.Setting{Name: r.Name, Value: r.AsBefore})
		}
	}
	for _, given := range []settings.Given{given, append(given, later...)} {
		k.settings, err = settings.Restore(given)
		if err == nil && results.Hash(k.settings) == k.Info.SettingsHash {
			// run.json does not say in which rounds the training set is evaluated.
			if k.settings.EvalTrain && !k.Curve[0].TrainLoss.Valid {
				k.settings.EvalTrainRounds = settings.EvalTrainLast
			}
			return nil
		}
	}
	return cmp.Or(err, errors.New("settings that this program has not, or reads in another way"))
}
