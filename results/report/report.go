package report

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/metrics"
	"rollcall/results/page"
	"rollcall/results/papers"
	"rollcall/results/plot"
)

// Names of the page and of the folder of figures that [Write] writes.
const (
	Page          = "index.html"
	figuresFolder = "figures"
)

// Input has everything that a report shows. It needs runs or numbers; the other fields may be empty.
type Input struct {
	Folders []string             // the folders that were read, for the heading
	Runs    []results.Run        // from [results.FindRuns]
	Numbers []results.SummaryRow // the rows of the tables, each number once
	Metrics []metrics.Metric     // the columns of tables that are not a paper's, in their order; none: all of Numbers
	Bench   []results.BenchRow   // speed measurements
	Base    []plot.Bin           // base availabilities of clients (FedAWE, figure 5)
	BaseOf  string               // describes Base in its caption
	Paths   []papers.FedAWEF6Row
	PathsOf string    // describes Paths in its caption
	Bad     []error   // files and lines that could not be read
	Mixed   bool      // means may be over runs of a cell that are not alike
	Version string    // of rollcall
	Made    time.Time // when the report was made
}

// Written says what [Write] wrote.
type Written struct {
	Page    string  // path of the page
	Bytes   int64   // size of the page
	Figures int     // number of figures, each as SVG, PNG and PDF, see [plot.WriteFigure], and CSV
	Bad     []error // what could not be drawn; [Input].Bad has what could not be read
}

// Write writes the page and its figures into a folder, and creates the folder if necessary. Every file appears when it
// is complete, the page last. Files of an earlier report are overwritten or stay. If the folder has other files with
// these names, the error names one, and nothing is written.
func Write(ctx context.Context, dir string, in Input) (Written, error) {
	b := build(in)
	done := Written{Page: filepath.Join(dir, Page), Figures: len(b.figures)}
	if err := b.mayReplace(dir); err != nil {
		return done, err
	}
	files.Sweep(filepath.Join(dir, figuresFolder)) // an earlier report may have had figures that this one has not
	// Figures are written before the page, so that the page never links to a file that is missing.
	if err := b.writeFigures(ctx, filepath.Join(dir, figuresFolder)); err != nil {
		return done, err
	}
	if err := ctx.Err(); err != nil {
		return done, err
	}
	data := b.data()
	done.Bad = b.bad // the charts of the page included
	if err := files.WriteFile(done.Page, func(w io.Writer) error {
		return pageTemplate.Execute(files.Printed(w), data)
	}); err != nil {
		return done, err
	}
	info, err := os.Stat(done.Page)
	if err != nil {
		return done, fmt.Errorf("report: %w", err)
	}
	done.Bytes = info.Size()
	return done, nil
}

type figure struct {
	ID           string // name of its files, and anchor
	Title        string
	Caption      string
	Data         string // for the filters, like the next two; empty: no filter hides the figure
	Availability string
	Methods      []string
	Charts       []page.Chart // the charts of the page
	Keys         []page.Key   // the legend of the page

	section string                  // ID of its section
	drawn   plot.Figure             // the figure as the files have it
	csv     func(path string) error // writes the CSV
	runs    []*results.Run          // the runs in the figure, which decide the filters; may be empty
}

// builder gathers the figures of the page.
type builder struct {
	Input
	methods []string // in the order of the page
	figures []figure
	bad     []error // what could not be drawn

	drawnFiles map[string]bool // names of files, besides the curves, that some figure shows
}

// build gathers all figures, section by section.
func build(in Input) *builder {
	b := &builder{Input: in, methods: methodsOf(in), drawnFiles: map[string]bool{}}
	b.Runs = in.inOrder()
	b.curves()
	b.availability()
	b.decisions()
	b.perClient()
	b.speed()
	return b
}

// methodsOf returns the methods of the input: as the tables have them, each in its own order, and then those of runs
// alone by name.
func methodsOf(in Input) (methods []string) {
	for _, id := range compare.SummaryTables(in.Numbers) {
		for _, r := range in.table(id) {
			methods = append(methods, r.Method)
		}
	}
	var others []string
	for i := range in.Runs {
		others = append(others, in.Runs[i].Method)
	}
	slices.Sort(others)
	return files.Unique(append(methods, others...))
}

// inOrder returns the runs in the order of the tables' rows; those of no row come last, in the order they had.
func (in Input) inOrder() []results.Run {
	var rows []results.SummaryRow
	for _, id := range compare.SummaryTables(in.Numbers) {
		rows = append(rows, in.table(id)...)
	}
	place := results.OrderOf(rows)
	return slices.SortedStableFunc(slices.Values(in.Runs), func(x, y results.Run) int {
		return place(x.Key()) - place(y.Key())
	})
}

// table returns the rows of one table in its order.
func (in Input) table(id string) []results.SummaryRow {
	rows := slices.DeleteFunc(slices.Clone(in.Numbers), func(r results.SummaryRow) bool { return r.Table != id })
	compare.SortSummary(id, rows)
	return rows
}

// place returns the position of a method in the order of the page, by which figures and lists sort their methods.
func (b *builder) place(method string) int {
	if i := slices.Index(b.methods, method); i >= 0 {
		return i
	}
	return len(b.methods)
}

// add appends a figure, with an id that no other figure has and with the filters of its runs. Ids must differ because
// they name the files of the figure.
func (b *builder) add(f figure) {
	base := slug(f.ID)
	f.ID = base
	for n := 2; slices.ContainsFunc(b.figures, func(o figure) bool { return o.ID == f.ID }); n++ {
		f.ID = fmt.Sprintf("%s-%d", base, n)
	}
	// The runs of a figure are of one family, whose cells share data set and availability.
	for _, r := range f.runs {
		f.Data, f.Availability, f.Methods = r.Data, r.Availability, append(f.Methods, r.Method)
	}
	f.Methods = files.Unique(f.Methods)
	f.drawn.Keys = papers.Keys(b.methods, f.drawn.Names())
	b.figures = append(b.figures, f)
}

// slug returns a text in lower case with dashes between its words, for names of files and for anchors.
func slug(text string) string {
	return strings.Trim(strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.'
	}), "-"), "-.")
}

// writeFigures writes every figure.
func (b *builder) writeFigures(ctx context.Context, dir string) error {
	errs := make([]error, len(b.figures))
	err := files.Parallel(ctx, len(errs), func(i int) {
		errs[i] = b.figures[i].write(filepath.Join(dir, b.figures[i].ID))
	})
	return cmp.Or(append([]error{err}, errs...)...)
}

// write writes path.csv and the drawing. The SVG comes first: it alone says that a report has written the others.
func (f *figure) write(path string) error {
	if err := plot.WriteFigure(path, thinned(f.drawn, fileWidth)); err != nil {
		return err
	}
	return f.csv(path + ".csv")
}

// Texts near the beginnings of the files of a report, of every version.
const (
	pageMark = `<meta name="generator" content="rollcall `
	svgMark  = "<!-- Generated by SVGo and Plotinum VG -->"
)

// mayReplace returns an error that names a file in the folder that the report would replace, and that is no earlier
// report's. A folder with the page of a report is a report's. Without a page the figures may be those of a report that
// was interrupted.
func (b *builder) mayReplace(dir string) error {
	refused := func(path string, err error) error {
		if err == nil {
			err = errors.New("a file that no report of rollcall wrote, want another folder or the file moved away")
		}
		return fmt.Errorf("report: %s: %w", path, err)
	}
	index := filepath.Join(dir, Page)
	if there, ours, err := written(index, pageMark); ours {
		return nil
	} else if there {
		return refused(index, err)
	}
	for _, f := range b.figures {
		path := filepath.Join(dir, figuresFolder, f.ID)
		there, ours, err := written(path+".svg", svgMark)
		if there && !ours {
			return refused(path+".svg", err)
		}
		for _, ending := range append(plot.Endings(), ".csv") {
			if _, err := os.Lstat(path + ending); err == nil && !ours {
				return refused(path+ending, nil)
			}
		}
	}
	return nil
}

// written reports whether anything is at a path, and whether it is a file that has a mark near its beginning.
func written(path, mark string) (there, ours bool, err error) {
	if _, err := os.Lstat(path); err != nil {
		return false, false, nil // of other errors than that there is nothing, whoever writes the file learns
	}
	f, _, err := files.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) { // a link to nothing
		return true, false, nil
	}
	if err != nil {
		return true, false, files.Cause(err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	begin := make([]byte, 4096)
	n, _ := io.ReadFull(f, begin) // as much as there is
	return true, bytes.Contains(begin[:n], []byte(mark)), nil
}

// csvWriter returns a function that writes rows as a CSV file.
func csvWriter[T any](rows []T) func(path string) error {
	return func(path string) error { return files.WriteCSVFile(path, rows) }
}

// made describes runs in a caption: their settings, seeds, machines and versions.
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
		words = append(words, common.Short(", "))
	}
	versions, _ := results.Grouped(runs, func(r *results.Run) string { return r.Curve[len(r.Curve)-1].Version })
	return strings.Join(words, ", ") + ". " + madeBy(runs) + " rollcall " + once(versions, ", ") + "."
}

// madeBy describes the seeds and the machines of runs.
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
	seeds = files.SortedSet(seeds)
	numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint(seeds), " ", ", "), "[]")
	word := "Seeds "
	if len(seeds) == 1 {
		word = "Seed "
	}
	return word + numbers + ". " + once(devices, "; ") + "."
}

// once joins the different texts, without empty ones.
func once(texts []string, separator string) string {
	texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
	return strings.Join(files.Unique(texts), separator)
}
