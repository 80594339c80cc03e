package report

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/papers"
	"rollcall/results/plot"
)

// Names of what [Write] writes into its folder.
const (
	Page          = "index.html"
	figuresFolder = "figures"
)

// Input is what a report is made of. Everything but the runs or the numbers may be missing.
type Input struct {
	Folders []string             // that were read, to be named
	Runs    []results.Run        // as [results.FindRuns] returns them
	Numbers []results.SummaryRow // of the tables, each number once
	Bench   []results.BenchRow   // speed measurements
	Base    []plot.Bin           // how often clients are there (FedAWE, figure 5)
	BaseOf  string               // what Base is of, for its caption
	Paths   []papers.FedAWEF6Row
	PathsOf string  // likewise
	Bad     []error // what could not be read
	Version string  // of rollcall
	Made    time.Time
}

// Written says what [Write] wrote.
type Written struct {
	Page    string  // its path
	Bytes   int64   // of the page
	Figures int     // each an SVG, a PNG and a CSV
	Bad     []error // what could not be drawn, beside what could not be read before
}

// Write writes the page and its figures into a folder, which it creates. Files appear whole, and the page last. Files
// that an earlier report left in the folder are overwritten or stay.
func Write(ctx context.Context, dir string, in Input) (Written, error) {
	b := build(in)
	done := Written{Page: filepath.Join(dir, Page), Figures: len(b.figures)}
	if err := b.writeFigures(ctx, filepath.Join(dir, figuresFolder)); err != nil {
		return done, err
	}
	if err := ctx.Err(); err != nil {
		return done, err
	}
	done.Bad = b.bad
	if err := files.WriteFile(done.Page, b.page); err != nil {
		return done, err
	}
	info, err := os.Stat(done.Page)
	if err != nil {
		return done, fmt.Errorf("report: %w", err)
	}
	done.Bytes = info.Size()
	return done, nil
}

// figure is one figure of the page.
type figure struct {
	id           string // file name and anchor
	section      string
	title        string
	data         string // for the filters, here and below; empty: shown always
	availability string
	methods      []string
	caption      string
	drawn        plot.Figure
	csv          func(path string) error
}

// builder gathers what is on the page.
type builder struct {
	Input
	methods []string // in the order of the papers' tables
	figures []figure
	bad     []error

	drawnFiles map[string]bool // names of other files beside the curves that are in some figure
}

// build draws up the page.
func build(in Input) *builder {
	b := &builder{Input: in, drawnFiles: map[string]bool{}}
	b.methods = methodsOf(in)
	b.curves()
	b.availability()
	b.decisions()
	b.perClient()
	b.speed()
	return b
}

// methodsOf returns the methods there are, those of the papers' tables in their order and then the others by name.
func methodsOf(in Input) (methods []string) {
	var found []string
	for i := range in.Runs {
		found = append(found, in.Runs[i].Method)
	}
	for _, r := range in.Numbers {
		found = append(found, r.Method)
	}
	slices.Sort(found)
	found = slices.Compact(found)
	for _, id := range papers.TableNames() {
		table, err := papers.TableByID(id)
		if err != nil {
			continue // cannot be: the table is one of those there are
		}
		for _, p := range table.Printed {
			if slices.Contains(found, p.Method) && !slices.Contains(methods, p.Method) {
				methods = append(methods, p.Method)
			}
		}
	}
	for _, m := range found {
		if !slices.Contains(methods, m) {
			methods = append(methods, m)
		}
	}
	return methods
}

// place returns where a method comes in the order of the page.
func (b *builder) place(method string) int {
	if i := slices.Index(b.methods, method); i >= 0 {
		return i
	}
	return len(b.methods)
}

// add takes up a figure, under an id that no other has.
func (b *builder) add(f figure) {
	base := slug(f.id)
	f.id = base
	for n := 2; slices.ContainsFunc(b.figures, func(o figure) bool { return o.id == f.id }); n++ {
		f.id = fmt.Sprintf("%s-%d", base, n)
	}
	b.figures = append(b.figures, f)
}

// slug makes a name that is good for files and anchors.
func slug(text string) string {
	return strings.Trim(strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.'
	}), "-"), "-.")
}

// writeFigures writes every figure as SVG, PNG and CSV.
func (b *builder) writeFigures(ctx context.Context, dir string) error {
	errs := make([]error, len(b.figures))
	err := files.Parallel(ctx, len(errs), func(i int) {
		errs[i] = b.figures[i].write(filepath.Join(dir, b.figures[i].id))
	})
	if err != nil {
		return err
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *figure) write(path string) error {
	if err := f.csv(path + ".csv"); err != nil {
		return err
	}
	drawn := thinned(f.drawn, fileWidth)
	if err := plot.WriteFigure(path+".svg", drawn); err != nil {
		return err
	}
	return plot.WriteFigurePNG(path+".png", drawn)
}

func csvWriter[T any](rows []T) func(path string) error {
	return func(path string) error { return files.WriteCSVFile(path, rows) }
}

// made says what runs are of: settings, seeds, machine, version.
func made(runs []*results.Run) string {
	var seeds []uint32
	var params []results.Params
	var devices, versions, nets, alphas, presets, clients []string
	once := func(list *[]string, text string) {
		if text != "" && !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	most := 0
	for _, r := range runs {
		if !slices.Contains(seeds, r.Seed) {
			seeds = append(seeds, r.Seed)
		}
		last := r.Curve[len(r.Curve)-1]
		once(&devices, strings.TrimPrefix(r.Device()+", ", ", ")+last.Engine+" "+last.Precision)
		once(&versions, last.Version)
		once(&nets, r.Net)
		once(&presets, r.Preset)
		once(&alphas, r.Alpha.String())
		once(&clients, fmt.Sprint(r.Clients))
		params = append(params, r.Params)
		most = max(most, r.Rounds())
	}
	if len(runs) == 0 {
		return ""
	}
	slices.Sort(seeds)
	words := []string{strings.Join(nets, " and "), strings.Join(clients, " or ") + " clients"}
	if len(alphas) > 0 {
		words = append(words, "Dirichlet α = "+strings.Join(alphas, " or "))
	}
	words = append(words, fmt.Sprintf("%d rounds", most), "preset "+strings.Join(presets, " or "))
	if common := results.CommonParams(params); common != "" {
		words = append(words, common.Words(", "))
	}
	numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint(seeds), " ", ", "), "[]")
	return strings.Join(words, ", ") + ". " + plural(len(seeds), "Seed ", "Seeds ") + numbers + ". " +
		strings.Join(devices, "; ") + ". rollcall " + strings.Join(versions, ", ") + "."
}

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}
