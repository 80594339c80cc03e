package settings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/datasets"
	"rollcall/internal/files"
	"rollcall/nets/models"
)

// Row is one setting of a run: a flag of `rollcall run`, a key of run.json, a name in the column params.
type Row struct {
	*algos.Param // name, kind, default, range or words, help

	// Field returns where the value is kept: a *string, *int, *float64, *bool or *files.Optional. nil: in OfMethods.
	Field  func(*Settings) any
	For    *use // the runs that read it; nil: all
	Column bool // it has its own column in CSV, and is not in params
	Quiet  bool // the help states the default itself, or the default depends on other settings
	Apart  bool // it is not in params, nor in what names a run: the run is the same at every value
	Group  Group
}

// made are all settings, as long as no method and no net is added. Use [rows].
var made struct {
	sync.Mutex
	rows []Row
	of   [2]int // how many methods and nets were registered when they were made
}

// rows returns all settings: first those of every run, then the parameters of methods.
func rows() []Row {
	made.Lock()
	defer made.Unlock()
	if n := [2]int{algos.Registered(), models.Registered()}; made.rows == nil || made.of != n {
		made.rows, made.of = slices.Concat(
			grouped(Training, runRows()), grouped(Training, trainingRows()), grouped(DataSplit, dataRows),
			grouped(Availability, availabilityRows), grouped(SingleDraws, seedRows()),
			grouped(Output, evaluationRows), grouped(OfMethods, methodRows()),
		), n
	}
	return made.rows
}

// grouped gives a group to the rows that have none of their own.
func grouped(g Group, rows []Row) []Row {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Group = cmp.Or(rows[i].Group, g)
	}
	return rows
}

// Rows returns all settings: first those of every run, then the parameters of methods.
func Rows() []Row { return slices.Clone(rows()) }

// rowOf returns the setting of a name; nil if there is none.
func rowOf(name string) *Row {
	if i := slices.IndexFunc(rows(), func(r Row) bool { return r.Name == name }); i >= 0 {
		return &rows()[i]
	}
	return nil
}

// The functions below return rows of a name, default, possible values, help, and where the value is kept.

// word returns the row of a setting that is one of some words; nil words: any text.
func word(name, value string, words []string, help string, field func(*Settings) any) Row {
	return Row{
		Param: &algos.Param{Name: name, Kind: algos.Word, Default: value, Words: words, Help: help}, Field: field,
	}
}

// number returns the row of a setting that is a number in a range; the zero Range: every finite number.
func number(name, value string, of algos.Range, help string, field func(*Settings) any) Row {
	return Row{Param: &algos.Param{Name: name, Kind: algos.Number, Default: value, Range: of, Help: help}, Field: field}
}

// whole returns the row of a setting that is a whole number in a range; the zero Range: every whole number.
func whole(name, value string, of algos.Range, help string, field func(*Settings) any) Row {
	return Row{Param: &algos.Param{Name: name, Kind: algos.Whole, Default: value, Range: of, Help: help}, Field: field}
}

// onOff returns the row of a setting that is true or false, and false by default.
func onOff(name, help string, field func(*Settings) any) Row {
	return Row{Param: &algos.Param{Name: name, Kind: algos.Switch, Default: "false", Help: help}, Field: field}
}

// orNone returns the row with "none" as a further value.
func (r Row) orNone() Row {
	r.None = true
	return r
}

// below returns the row as one that stands under another heading than its neighbours.
func (r Row) below(g Group) Row {
	r.Group = g
	return r
}

// column returns the row as one with its own column in CSV.
func (r Row) column() Row {
	r.Column = true
	return r
}

// quiet returns the row as one whose default is not added to its help.
func (r Row) quiet() Row {
	r.Quiet = true
	return r
}

// apart returns the row as one that makes no other run of a run.
func (r Row) apart() Row {
	r.Apart = true
	return r
}

// only returns the row as one that only some runs read.
func (r Row) only(of *use) Row {
	r.For = of
	return r
}

// later returns the row as one that came when runs were kept already, which are as it is by default.
func (r Row) later() Row {
	r.AsBefore = r.Default
	return r
}

// itself is the value of an implied row that is the value of the row which implies it.
const itself = ""

// implies returns the row as one that also sets another row, if a command line gives this row and not the other.
func (r Row) implies(name, value string) Row {
	r.Overrides = append(r.Overrides, algos.Setting{Name: name, Value: value})
	return r
}

// methodRows returns a row for every parameter that a method declares.
func methodRows() (list []Row) {
	for _, p := range algos.Params() {
		of := onMethods(p.Methods()...)
		if p.Only != nil {
			methods := of.by // whether the method reads it, to which the condition below adds
			for _, c := range p.Only {
				of.in += " " + c.Text
			}
			of.by = func(s *Settings) bool { return methods(s) && p.HasSay(s.MethodOptions()) }
		}
		list = append(list, Row{Param: p, For: of, Quiet: p.Paper != "" && p.Paper != p.Default})
	}
	return list
}

// none is the value of a setting that is a number or nothing.
const none = "none"

// text returns the value of a setting in its one form, so that equal values have equal texts and runs equal names.
func (r *Row) text(s *Settings) string {
	if r.Field == nil {
		if text, given := s.OfMethods[r.Name]; given {
			return text
		}
		return r.DefaultFor(algos.Preset(s.Preset))
	}
	switch v := r.Field(s).(type) {
	case *int:
		return strconv.Itoa(*v)
	case *float64:
		return decimal(*v)
	case *bool:
		return strconv.FormatBool(*v)
	case *files.Optional:
		if !v.Valid {
			return none
		}
		return r.number(v.Value)
	case *string:
		return *v
	default:
		panic(fmt.Sprintf("settings: --%s: field of type %T", r.Name, v))
	}
}

func (r *Row) set(s *Settings, text string) error {
	text, err := r.parse(text)
	if err != nil {
		return err
	}
	if r.Field == nil {
		s.OfMethods = maps.Clone(s.OfMethods) // copies of s share the map
		if s.OfMethods == nil {
			s.OfMethods = algos.Values{}
		}
		s.OfMethods[r.Name] = text
		return nil
	}
	switch v := r.Field(s).(type) { // parse has already checked the text
	case *int:
		*v, err = strconv.Atoi(text)
	case *float64:
		*v, err = strconv.ParseFloat(text, 64)
	case *bool:
		*v, err = strconv.ParseBool(text)
	case *files.Optional:
		*v = files.Optional{}
		if text != none {
			v.Valid = true
			v.Value, err = strconv.ParseFloat(text, 64)
		}
	case *string:
		*v = text
	default:
		panic(fmt.Sprintf("settings: --%s: field of type %T", r.Name, v))
	}
	return err
}

// parse returns the one form of a value of the setting's kind. It does not check the range.
func (r *Row) parse(text string) (string, error) {
	switch {
	case r.Kind == algos.Word, r.None && text == none:
		return text, nil
	case r.Kind == algos.Switch:
		on, err := strconv.ParseBool(text)
		return strconv.FormatBool(on), err
	case r.Kind == algos.Whole && !r.None:
		n, err := strconv.ParseInt(text, 10, 64)
		return strconv.FormatInt(n, 10), err
	}
	x, err := files.ParseNumber(text, 64)
	if err != nil && r.None {
		return "", fmt.Errorf("%q is neither a number nor none", text)
	}
	return r.number(x), err
}

// number returns a number in the one form of its kind. A whole number has no exponent: seeds have up to ten digits.
func (r *Row) number(x float64) string {
	if r.Kind == algos.Whole {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return decimal(x)
}

// decimal returns the shortest text that reads back as the same number.
func decimal(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// use says which runs read a setting.
type use struct {
	in string // the flags that make a run read it, for messages
	by func(*Settings) bool

	models []string // the availability models that it is a parameter of; nil: of none
}

// Models returns the availability models that the setting is a parameter of, nil if it is of none.
func (r *Row) Models() []string {
	if r.For == nil {
		return nil
	}
	return r.For.models
}

// onMethods is the use of a setting that only runs of some methods read.
func onMethods(methods ...string) *use {
	return &use{
		in: "--method " + OrList(methods),
		by: func(s *Settings) bool { return slices.Contains(methods, s.Method) },
	}
}

// onAvailability is the use of a setting that only runs under some availability models read.
func onAvailability(names ...string) *use {
	return &use{
		in: "--availability " + OrList(names), models: names,
		by: func(s *Settings) bool { return slices.Contains(names, s.Availability) },
	}
}

// onData is the use of a setting that only runs on one data set read.
func onData(data string) *use {
	return &use{in: "--data " + data, by: func(s *Settings) bool { return s.Data == data }}
}

// Weighted returns the methods that weight clients by importance and estimated availability.
func Weighted() []string {
	for _, p := range algos.Params() {
		if p.Name == "prior" {
			return p.Methods()
		}
	}
	return nil
}

// programs returns the methods that are programs of their own. All may read the target importance.
func programs() []string {
	return slices.DeleteFunc(algos.Names(), func(method string) bool { return algos.Of(method).Program == "" })
}

// OrList returns names as a list: "a", "a or b", "a, b or c".
func OrList(names []string) string { return files.Listed(names, "or") }

// Uses reports whether this run reads a setting. If it does not, in says which flags make a run read it. Every run
// reads what is no setting: the caller has looked the name up.
func (s *Settings) Uses(name string) (in string, ok bool) {
	if r := rowOf(name); r != nil && r.For != nil && !r.For.by(s) {
		return r.For.in, false
	}
	return "", true
}

// UsedIn says which flags make a run read a setting; "" if every run does.
func UsedIn(name string) string {
	if r := rowOf(name); r != nil && r.For != nil {
		return r.For.in
	}
	return ""
}

// RefuseUnused reports the first given setting that this run does not read: a user who gives it expects an effect. of
// says what s is, as the command line does.
func (s *Settings) RefuseUnused(given Given, of string) error {
	for name, value := range given.All() {
		if in, ok := s.Uses(name); !ok {
			return Usagef("--%s %s: of no use with %s, want it with %s, or not at all", name, value, of, in)
		}
	}
	return nil
}

// ownSplit are the data sets that are generated client by client, so that there is nothing to split.
var ownSplit = []string{"leaf", "binary"}

// images reports whether the samples are images, which can be cropped and mirrored.
func (s *Settings) images() bool {
	about, err := datasets.About(s.Data)
	return err == nil && !about.Features
}

// SplitAway reports whether the samples are split without --split: generated for each, or evenly for --swap-pairs.
func (s *Settings) SplitAway() bool { return slices.Contains(ownSplit, s.Data) || s.SwapPairs > 0 }

// OwnTests reports whether the clients have test samples of their own.
func (s *Settings) OwnTests() bool { return s.SplitAway() || s.Split == string(datasets.SplitNatural) }

// TakesAlpha reports whether the split reads --alpha.
func (s *Settings) TakesAlpha() bool {
	return !s.SplitAway() && datasets.SplitKind(s.Split).TakesAlpha()
}

// splitByFile reports whether a file says which client has which sample.
func (s *Settings) splitByFile() bool { return !s.SplitAway() && s.Split == splitFile }

// Sizes returns how many samples of the training set and of the test set the run draws from its data set; 0: it has all
// of them.
func (s *Settings) Sizes() (sizes [2]int) {
	for part, size := range map[int]struct {
		name string
		n    int
	}{0: {"train-size", s.TrainSize}, 1: {"test-size", s.TestSize}} {
		if _, reads := s.Uses(size.name); reads && s.Data != "synthetic" {
			sizes[part] = size.n
		}
	}
	return sizes
}

// drawsData reports whether what the clients hold depends on a seed.
func (s *Settings) drawsData() bool {
	return !s.splitByFile() || s.Data == "synthetic" || s.Validation > 0 || s.HoldOut > 0 || s.Sizes() != [2]int{}
}

// Chained reports whether the availability model has its own p_i, and does not take it from the clients' classes.
func (s *Settings) Chained() bool { return !availability.Of(s.Availability).FromClasses }

// independent reports whether no round of the availability model depends on another.
func (s *Settings) independent() bool { return availability.Of(s.Availability).Independent }

// inClasses reports whether the availability model favours some clients, whatever samples they hold.
func (s *Settings) inClasses() bool {
	return slices.Contains([]string{"markov", "clusters"}, s.Availability) && s.G > 0
}
