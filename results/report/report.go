package report

import (
	"cmp"
	"context"
	"fmt"
	"io"
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
	Mixed   bool    // one mean is over runs of a cell that are not alike
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
	page := b.data()
	if err := files.WriteFile(done.Page, func(w io.Writer) error { return pageTemplate.Execute(w, page) }); err != nil {
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
	ID           string // file name and anchor
	Title        string
	Caption      string
	Data         string // for the filters, here and below; empty: shown always
	Availability string
	Methods      []string
	Charts       []chart // as the page has them, and their legend
	Keys         []key

	section string
	drawn   plot.Figure
	csv     func(path string) error
	runs    []*results.Run // that it is of, which say what the filters are; may be none
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
	b := &builder{Input: in, methods: methodsOf(in), drawnFiles: map[string]bool{}}
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
	for _, id := range papers.TableNames() {
		table, _ := papers.TableByID(id) // one of those there are
		for _, p := range table.Printed {
			if slices.Contains(found, p.Method) {
				methods = append(methods, p.Method)
			}
		}
	}
	return unique(append(methods, found...))
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
	base := slug(f.ID)
	f.ID = base
	for n := 2; slices.ContainsFunc(b.figures, func(o figure) bool { return o.ID == f.ID }); n++ {
		f.ID = fmt.Sprintf("%s-%d", base, n)
	}
	for _, r := range f.runs {
		f.Data, f.Availability, f.Methods = r.Data, r.Availability, append(f.Methods, r.Method)
	}
	f.Methods = unique(f.Methods)
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
		errs[i] = b.figures[i].write(filepath.Join(dir, b.figures[i].ID))
	})
	return cmp.Or(append([]error{err}, errs...)...)
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
	if len(runs) == 0 {
		return ""
	}
	var nets, alphas, presets, clients []string
	most := 0
	for _, r := range runs {
		nets, presets = append(nets, r.Net), append(presets, r.Preset)
		alphas, clients = append(alphas, r.Alpha.String()), append(clients, fmt.Sprint(r.Clients))
		most = max(most, r.Rounds())
	}
	words := []string{once(nets, " and "), once(clients, " or ") + " clients"}
	if alpha := once(alphas, " or "); alpha != "" {
		words = append(words, "Dirichlet α = "+alpha)
	}
	words = append(words, fmt.Sprintf("%d rounds", most), "preset "+once(presets, " or "))
	if common := results.CommonParams(runs, func(r *results.Run) results.Params { return r.Params }); common != "" {
		words = append(words, common.Words(", "))
	}
	versions, _ := results.Grouped(runs, func(r *results.Run) string { return r.Curve[len(r.Curve)-1].Version })
	return strings.Join(words, ", ") + ". " + madeBy(runs) + " rollcall " + once(versions, ", ") + "."
}

// madeBy says with which seeds and on what runs were made.
func madeBy(runs []*results.Run) string {
	if len(runs) == 0 {
		return ""
	}
	var seeds []uint32
	var devices []string
	for _, r := range runs {
		last := r.Curve[len(r.Curve)-1]
		devices = append(devices, strings.TrimPrefix(r.Device()+", ", ", ")+last.Engine+" "+last.Precision)
		seeds = append(seeds, r.Seed)
	}
	slices.Sort(seeds)
	seeds = slices.Compact(seeds)
	numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint(seeds), " ", ", "), "[]")
	return plural(len(seeds), "Seed ", "Seeds ") + numbers + ". " + once(devices, "; ") + "."
}

// once joins texts, each once and none empty.
func once(texts []string, separator string) string {
	texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
	return strings.Join(unique(texts), separator)
}

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}
