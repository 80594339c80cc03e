package folder

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"rollcall/bench/run/checkpoint"
	"rollcall/bench/run/progress"
	"rollcall/nets"
	"rollcall/results"
)

// Want is the run that a command wants in a folder.
type Want struct {
	Dir       string
	About     checkpoint.About     // what it is; a data checksum of "" is not known yet, and not compared
	Row       results.CurveRow     // the names that every row of its curve has
	Evaluates func(round int) bool // whether it has a row after a round
	// EvaluatesTrain says whether such a row has the training set too. A run with more of them will do.
	EvaluatesTrain func(round int) bool
	StopAt         int                    // the round after which the command ends it; its last one unless it tunes
	Files          []string               // files beside the curve that are asked for, see [results.RunFiles]
	Start          bool                   // no finished run or checkpoint will do: it has to train from the start
	AnyKind        bool                   // the command makes no run, and takes finished ones of whatever numerics
	Checksum       func() (string, error) // opens the data and returns their checksum; called if they may be altered
	// WithoutSamples opens the data and returns how many clients have no sample; called for runs of which nobody knows
	// whether such clients took part. nil: none can have.
	WithoutSamples func() (int, error)
	Altered        bool // data files need not be the official ones
	Mixed          bool // finished runs of other numerics or data will do
	Lockless       bool // the folder cannot be locked
}

// Policy says what a command does with work that it may not replace unasked.
type Policy struct {
	Again   bool // make the run again, whatever is there, and move that aside
	Replace bool // move aside what is refused, and make the run again
}

// Decision is what becomes of a run's folder: one of [Keep], [Resume], [New] and [Refuse].
type Decision interface{ decision() }

// Keep says that the run is finished, or has come to where the command stops, and is taken as it is.
type Keep struct {
	Run  *results.Run
	Back string // it was moved aside to this folder, and is to be moved back; "": it is in place
}

// Resume says that the run resumes from a checkpoint, or begins again.
type Resume struct {
	Round int // of the checkpoint; 0: there is none that can be used
	// Rows are those of curve.csv. Each must come again, unless the checkpoint has it.
	Rows []results.CurveRow
	// Finished is the run if it is finished, and lacks only files beside its curve: it stays while these are made.
	Finished *results.Run
	Notes    []string          // a line for each checkpoint that cannot be used
	Runtime  map[string]string // versions on which a method in Python ran before
	Back     string            // as in [Keep]
	// Unreadable are the names of those of curve.csv and run.json that cannot be read, and are moved aside; so is a
	// run.json that knows more rows than the curve has.
	Unreadable []string
}

// New says that the run begins at round 0.
type New struct {
	Aside bool   // there is something to be moved aside first
	Why   string // why that will not do, if it is of the run that is wanted; "": it is not
}

// Refuse says that the folder has work that the run must not replace.
type Refuse struct {
	Why    string  // "method revision 1, want 2"
	Rounds int     // of the work; 0: not known
	Sec    float64 // of training and evaluation; 0: not known
}

func (Keep) decision()   {}
func (Resume) decision() {}
func (New) decision()    {}
func (Refuse) decision() {}

// String returns the reason, and what the work is worth: "method revision 1, want 2; 2000 rounds, 1.1 h".
func (r Refuse) String() string {
	text := r.Why
	if r.Rounds > 0 {
		text += fmt.Sprintf("; %d rounds", r.Rounds)
		if r.Rounds == 1 {
			text = text[:len(text)-1]
		}
	}
	if r.Sec > 0 {
		text += ", " + progress.Duration(time.Duration(r.Sec*float64(time.Second)))
	}
	return text
}

// RefusedError is the error of a run whose folder has other work.
type RefusedError struct {
	Dir string
	Refuse
}

func (e *RefusedError) Error() string { return fmt.Sprintf("%s: refused: %s", e.Dir, e.Refuse) }

// Decide says what becomes of the folder of a run. It writes nothing; the caller has the lock of the folder, or only
// wants to know. An error comes from opening the data, or from files that cannot be read at the moment.
func Decide(w *Want, p Policy) (Decision, error) {
	f := look(w.Dir)
	d, err := f.decide(w)
	if err != nil {
		return nil, err
	}
	if p.Again {
		// Beside work that is aside, an unfinished run is one that an earlier --again has begun.
		if r, goesOn := d.(Resume); goesOn && r.Finished == nil && len(f.aside) > 0 {
			return d, nil
		}
		return New{Aside: !f.empty()}, nil
	}
	_, is := d.(Refuse)
	if is || f.empty() {
		for _, old := range f.aside {
			found := look(filepath.Join(w.Dir, old))
			if found.empty() {
				continue
			}
			switch aside, err := found.decide(w); aside := aside.(type) {
			case Keep:
				aside.Back = old
				return aside, err
			case Resume:
				aside.Back = old
				return aside, err
			}
		}
	}
	if is && p.Replace {
		return New{Aside: true}, nil
	}
	return d, nil
}

// DecideAgain is [Decide] once the checksum of the data is known, for a decision that did not know it.
func DecideAgain(w *Want, p Policy, was Decision) (Decision, error) {
	r, goesOn := was.(Resume)
	if !goesOn || r.Round == 0 {
		return was, nil
	}
	about, err := checkpoint.Head(filepath.Join(w.Dir, r.Back, checkpoint.Name(r.Round)))
	if err == nil && about.Unlike(&w.About) == nil {
		return was, nil
	}
	return Decide(w, p)
}

// decide decides about the files in one folder, whatever was moved aside. A curve without the numbers on the training
// set that are wanted has to be made again: only the models of its rounds have them.
func (f *found) decide(w *Want) (Decision, error) {
	d, err := f.decideOnWork(w)
	switch d.(type) {
	case Keep, Resume:
		if lacks := w.LacksTrain(f.run.Curve); lacks != nil {
			return New{Aside: true, Why: lacks.Error()}, nil
		}
	}
	return d, err
}

func (f *found) decideOnWork(w *Want) (Decision, error) {
	if f.unread != nil {
		return nil, fmt.Errorf("results: %w", f.unread)
	}
	if info := f.run.Info; info != nil {
		why, err := f.unlike(w)
		switch {
		case err != nil:
			return nil, err
		case why != "":
			return f.refuse(errors.New(why))
		case len(f.bad) > 0 && f.short(w):
			return f.resume(w, true)
		case len(f.bad) > 0:
			return f.refuse(f.bad[0])
		}
		if f.finished() || info.Status == results.RunInterrupted && w.StopAt < w.About.Rounds &&
			info.Rounds >= w.StopAt && f.badCurve == nil {
			return f.end(w), nil
		}
	}
	if errors.Is(f.badInfo, results.ErrNewer) {
		return f.refuse(f.badInfo)
	}
	return f.resume(w, false)
}

// short reports whether the curve only lacks the last rows that run.json vouches for. The rows that are there must come
// again, so that the others can be computed again unasked: those of an unfinished run, whose checkpoint has them, and,
// where the folder cannot be locked, those of a finished one, since a slower process may have put its curve in place.
func (f *found) short(w *Want) bool {
	rows, err := results.ReadCurve(filepath.Join(f.dir, results.CurveFile))
	return err == nil && len(rows) > 0 && rows[len(rows)-1].Round < f.run.Info.Rounds &&
		f.run.Info.Seed == w.About.Seed && w.CheckRows(rows) == nil && (w.Lockless || !f.finished())
}

// resume decides about an unfinished run, or one whose curve is short.
func (f *found) resume(w *Want, short bool) (Decision, error) {
	if err := w.CheckRows(f.run.Curve); err != nil {
		return f.refuse(fmt.Errorf("%s: %w", results.CurveFile, err))
	}
	r, unreadable := Resume{Rows: f.run.Curve}, cmp.Or(f.badCurve, f.badInfo)
	if f.badCurve != nil {
		r.Unreadable = append(r.Unreadable, results.CurveFile)
	}
	if f.badInfo != nil || short {
		r.Unreadable = append(r.Unreadable, results.RunFile)
	}
	if f.run.Info != nil {
		r.Runtime = f.run.Info.Runtime
	}
	if w.Start && unreadable == nil {
		return r, nil
	}
	// What makes an unfinished run worth something is its checkpoint, which has the curve too, and then its rows.
	usable, notes, other := f.checkpoint(w)
	switch r.Round, r.Notes = usable, notes; {
	case usable > 0 && !w.Start:
		return r, nil
	case other != nil:
		return f.refuse(other)
	case unreadable != nil:
		return f.refuse(unreadable)
	case f.run.Info == nil && len(r.Rows) == 0 && len(notes) == 0:
		return New{}, nil
	}
	return r, nil
}

// end decides about a run that has come to its end: it is kept, unless it lacks files.
func (f *found) end(w *Want) Decision {
	run := f.run
	run.Curve = run.Verified() // a run that was stopped may have later rows, for which nobody vouches
	if !w.Start && (run.Status() != results.RunComplete || len(lacking(&run, w.Files)) == 0) {
		return Keep{Run: &run}
	}
	r := Resume{Rows: run.Curve, Finished: &run, Runtime: run.Info.Runtime}
	if !w.Start {
		r.Round, r.Notes, _ = f.checkpoint(w)
	}
	return r
}

// lacking returns the files that a complete run lacks: those asked for, and clients.csv, for tables, if it has had one.
func lacking(run *results.Run, asked []string) (names []string) {
	if run.Info.Checksums[results.ClientsFile] != "" {
		asked = append(slices.Clone(asked), results.ClientsFile)
	}
	for _, name := range asked {
		if !run.Wrote(name) {
			names = append(names, name)
		}
	}
	return names
}

// unlike returns why run.json is not of the wanted run, "numerics cpu-bf16, want cpu-fp32"; "": it is.
func (f *found) unlike(w *Want) (why string, err error) {
	info := f.run.Info
	is := info.Likeness()
	wanted := results.Likeness{
		Schema: results.Schema, Settings: w.About.SettingsHash, Numerics: is.Numerics, Revisions: w.About.Revisions,
		Checksum: is.Checksum,
	}
	if w.AnyKind || is.Numerics != w.About.Numerics { // every kind of engine counts revisions of its own
		wanted.Revisions.Engine = is.Revisions.Engine
	}
	if d := is.Unwanted(wanted); d != nil {
		return d[0], nil
	}
	if !w.AnyKind {
		wanted.Numerics = w.About.Numerics
	}
	// The checksum comes last, because it opens the data set. Official files have that of their revision.
	if (info.AllowAltered || w.Altered) && w.Checksum != nil {
		if wanted.Checksum, err = w.Checksum(); err != nil {
			return "", err
		}
		is.Checksum = info.DataChecksum
	}
	if d := is.Unwanted(wanted); d != nil && (!f.finished() || !w.Mixed) {
		return d[0], nil
	}
	if info.WithoutSamples == nil && w.WithoutSamples != nil {
		n, err := w.WithoutSamples()
		if err != nil {
			return "", err
		}
		if n > 0 {
			return checkpoint.TookPart(n).Error(), nil
		}
	}
	return "", nil
}

// LacksTrain reports the first row without the numbers on the training set that are wanted.
func (w *Want) LacksTrain(rows []results.CurveRow) error {
	for _, r := range rows {
		if w.EvaluatesTrain(r.Round) && !r.TrainLoss.Valid {
			return fmt.Errorf("%s: round %d is not evaluated on the training set", results.CurveFile, r.Round)
		}
	}
	return nil
}

// CheckRows reports rows of another run, of whatever table, of other numerics, or of other rounds than the wanted run.
func (w *Want) CheckRows(rows []results.CurveRow) error {
	due := 0 // the round of the next row
	for i, r := range rows {
		is, wants := nets.Numerics(r.Engine, r.Precision), w.About.Numerics
		r.Table = w.Row.Table
		switch {
		case r.Setup != w.Row.Setup || r.Seed != w.Row.Seed || r.Params.Unnamed() != w.Row.Params.Unnamed():
			return fmt.Errorf("row %d: of another run", i+1)
		case is != wants && !w.AnyKind:
			return fmt.Errorf("numerics %s, want %s", is, wants)
		case due > w.About.Rounds:
			return fmt.Errorf("%d rows, want %d at most", len(rows), i)
		case r.Round != due:
			return fmt.Errorf("row %d: round %d, want %d", i+1, r.Round, due)
		}
		for due++; due <= w.About.Rounds && !w.Evaluates(due); due++ {
		}
	}
	return nil
}

// checkpoint returns the round of the newest checkpoint from which the wanted run can resume; 0: there is none. other
// is the reason why the newest of those is not usable that are whole, and notes name those that are not.
func (f *found) checkpoint(w *Want) (usable int, notes []string, other error) {
	rounds, err := checkpoint.Rounds(f.dir)
	if err != nil {
		return 0, nil, nil // the run itself reports that the folder cannot be read
	}
	for _, round := range rounds {
		about, err := f.checkpointOf(round, w)
		if err == nil {
			return round, notes, nil
		}
		if other == nil && (about != nil || errors.Is(err, checkpoint.ErrOther)) {
			other, f.newest = err, about
		}
		if about != nil {
			err = fmt.Errorf("%s: %w", filepath.Join(f.dir, checkpoint.Name(round)), err)
		}
		notes = append(notes, fmt.Sprintf("%v: not used", err))
	}
	return 0, notes, other
}

// checkpointOf checks the checkpoint of a round, and returns its description if it is whole.
func (f *found) checkpointOf(round int, w *Want) (*checkpoint.About, error) {
	c, err := checkpoint.Open(filepath.Join(f.dir, checkpoint.Name(round)))
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }() // nothing was written
	if c.Round != round {
		return nil, fmt.Errorf("%s: of round %d, want %d as its name says",
			filepath.Join(f.dir, checkpoint.Name(round)), c.Round, round)
	}
	return &c.About, c.Unlike(&w.About)
}

// refuse refuses for a reason, and says what the work is worth. A file that cannot be read now, as on a failing
// network, is an error instead: nobody knows what is in it, and another attempt may succeed.
func (f *found) refuse(why error) (Decision, error) {
	if errors.Is(why, fs.ErrPermission) || errors.Is(why, syscall.EIO) || errors.Is(why, syscall.ESTALE) {
		return nil, why
	}
	text := strings.ReplaceAll(why.Error(), f.dir+string(filepath.Separator), "") // which the caller names
	r := Refuse{Why: strings.TrimPrefix(strings.TrimPrefix(text, "results: "), "checkpoint: ")}
	if n := len(f.run.Curve); n > 0 {
		r.Rounds, r.Sec = f.run.Curve[n-1].Round, f.run.Curve[n-1].ElapsedSec
	}
	if info := f.run.Info; info != nil {
		r.Rounds = max(r.Rounds, info.Rounds)
	}
	if f.newest == nil {
		f.newest, _ = checkpoint.Newest(f.dir) // nil if it cannot be read
	}
	if c := f.newest; c != nil {
		r.Rounds, r.Sec = max(r.Rounds, c.Round), max(r.Sec, c.ElapsedSec)
	}
	return r, nil
}
