package results

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rollcall/internal/files"
	"rollcall/results/metrics"
)

// check returns everything in which a run contradicts its run.json: its folder, its settings, the rows of its curve and
// their checksum. It notes in the run which other files are not as run.json has them.
func (r *Run) check() (bad []error) {
	add := func(file string, err error) {
		if err != nil {
			bad = append(bad, fmt.Errorf("results: %s: %w", filepath.Join(r.Dir, file), err))
		}
	}
	add(RunFile, r.checkFolder())
	for _, err := range r.checkRows() {
		add(CurveFile, err)
	}
	if r.Info.Schema < Schema { // schema 1 has nothing with which to compare the rest
		if r.Info.Status == RunComplete && len(r.Curve) > 0 && r.Rounds() != r.Info.Rounds {
			add(CurveFile, fmt.Errorf("ends with round %d, want round %d as %s has it",
				r.Rounds(), r.Info.Rounds, RunFile))
		}
		return bad
	}
	for _, err := range r.checkSettings() {
		add(CurveFile, err)
	}
	add(CurveFile, r.checkRounds())
	add(CurveFile, r.checkCurveSum())
	models, err := r.models()
	if err != nil {
		bad = append(bad, err)
	}
	for _, name := range slices.Concat([]string{DecisionsFile, ClientsFile}, models) {
		if err := r.checkFileSum(name); err != nil {
			r.Beside = append(r.Beside, Fault{
				name, r.Info.Checksums[name] == "", fmt.Errorf("results: %s: %w", filepath.Join(r.Dir, name), err),
			})
		}
	}
	return bad
}

// The names of a run's folder and of its cell's folder; see [CellFolder].
var (
	seedFolder = regexp.MustCompile(`^seed-(\d+)$`)
	cellFolder = regexp.MustCompile(`^[^_]+_[^_]+_[^_]+_[0-9a-f]{` + strconv.Itoa(hashDigits) + `}$`)
)

// SeedInName returns the digits N of a folder of a run, …/seed-N; ok is false if the folder has another name.
func SeedInName(dir string) (seed string, ok bool) {
	if m := seedFolder.FindStringSubmatch(filepath.Base(dir)); m != nil {
		return m[1], true
	}
	return "", false
}

// checkFolder compares the names of the folders with run.json, because a copy of a folder under another name would
// count as another run.
func (r *Run) checkFolder() error {
	whole, err := filepath.Abs(r.Dir)
	if err != nil {
		return err
	}
	if seed, ok := SeedInName(whole); ok && seed != fmt.Sprint(r.Info.Seed) {
		return fmt.Errorf("seed %d, want %s as the folder says", r.Info.Seed, seed)
	}
	if len(r.Curve) == 0 {
		return nil
	}
	cell, want := filepath.Base(filepath.Dir(whole)), CellFolder(r.Setup, r.Info.SettingsHash)
	if cellFolder.MatchString(cell) && cell != want {
		return fmt.Errorf("the folder is %s, want %s as the settings say", cell, want)
	}
	return nil
}

// CellFolder returns the name of a cell's folder: METHOD_DATA_AVAILABILITY_HASH.
func CellFolder(c Setup, settingsHash string) string {
	return fmt.Sprintf("%s_%s_%s_%s", c.Method, c.Data, c.Availability, settingsHash)
}

// setting returns a setting of the run as text, whether the run used it or not; "" if run.json does not have it.
func (r *Run) setting(name string) string {
	for _, tree := range []any{r.Info.Settings, r.Info.Unused} {
		if settings, ok := tree.(map[string]any); ok && settings[name] != nil {
			return fmt.Sprint(settings[name])
		}
	}
	return ""
}

// checkSettings compares the columns of the curve with the settings, the seed and the engine in run.json.
func (r *Run) checkSettings() (bad []error) {
	if len(r.Curve) == 0 {
		return nil
	}
	check := func(column, found, wanted string) {
		if found != wanted && !sameNumber(found, wanted) {
			bad = append(bad, fmt.Errorf("%s %q, want %q as %s has it", column, found, wanted, RunFile))
		}
	}
	check("method", r.Method, r.setting("method"))
	check("preset", r.Preset, r.setting("preset"))
	check("data", r.Data, r.setting("data"))
	check("net", r.Net, r.setting("net"))
	check("availability", r.Availability, r.setting("availability"))
	check("clients", fmt.Sprint(r.Clients), r.setting("clients"))
	if r.Alpha.Valid {
		check("alpha", r.Alpha.String(), r.setting("alpha"))
	}
	for name, value := range r.Params.All() {
		if FileSettings[name] == "" { // run.json has the checksum of a file, not its name
			check("params: "+name, value, r.setting(name))
		}
	}
	check("seed", fmt.Sprint(r.Seed), fmt.Sprint(r.Info.Seed))
	rounds, _ := r.rounds("rounds") // checkRounds reports a wrong number
	for _, row := range r.Verified() {
		check("engine", row.Engine, r.Info.Engine)
		check("precision", row.Precision, r.Info.Precision)
		check("version", row.Version, r.Info.Version)
		// A run may leave the training set out before its last rounds.
		wants := r.setting("eval-train") == "true" && (r.Curve[0].TrainLoss.Valid || AmongLast(row.Round, rounds))
		if row.TrainLoss.Valid != wants || row.TrainAcc.Valid != row.TrainLoss.Valid {
			bad = append(bad, fmt.Errorf("round %d: train_loss %q, train_acc %q, want both if eval-train is true, "+
				"at least among the last %d rounds, or none", row.Round, row.TrainLoss, row.TrainAcc, ProtocolRounds))
		}
		if len(bad) > 0 {
			return bad
		}
	}
	return nil
}

// sameNumber reports whether two texts stand for the same number, such as 1e-05 and 0.00001.
func sameNumber(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}

// checkRows returns an error for every impossible number in the curve. Only the last row of a run that is not complete
// may have NaN or an infinite number: the run may have diverged there.
func (r *Run) checkRows() (bad []error) {
	elapsed := 0.0
	for i, row := range r.Curve {
		whole := i < len(r.Curve)-1 || r.Info.Status == RunComplete
		impossible := func(column string, x any, want string) {
			bad = append(bad, fmt.Errorf("round %d: %s %v, want %s", row.Round, column, x, want))
		}
		// A metric is measured in every row or in none; the first row decides which. In which rows the training set
		// is evaluated the settings say.
		for _, m := range []metrics.Metric{metrics.TrainLoss, metrics.TestLoss, metrics.TrainAcc, metrics.TestAcc} {
			x := row.Metric(m)
			finite := !math.IsNaN(x.Value) && !math.IsInf(x.Value, 0)
			switch {
			case !x.Valid && (m == metrics.TestAcc || r.Curve[0].Metric(m).Valid):
				impossible(string(m), "missing", "a number")
			case x.Valid && !r.Curve[0].Metric(m).Valid && m == metrics.TestLoss:
				impossible(string(m), x.Value, "none, as in the first row")
			case whole && !finite:
				impossible(string(m), x.Value, "a finite number")
			case m.IsPercent() && (x.Value < 0 || x.Value > 1):
				impossible(string(m), x.Value, "0 … 1")
			}
		}
		if row.Active < 0 || row.Active > row.Clients {
			impossible("active", row.Active, fmt.Sprintf("0 … %d", row.Clients))
		}
		if !(row.LR >= 0) || math.IsInf(row.LR, 1) {
			impossible("lr", row.LR, "0 or more")
		}
		if !(row.ElapsedSec >= elapsed) || math.IsInf(row.ElapsedSec, 1) {
			impossible("elapsed_s", row.ElapsedSec, fmt.Sprintf("%g or more, as the row before has", elapsed))
		}
		elapsed = row.ElapsedSec
	}
	return bad
}

// mostRounds is the largest value of a setting that counts rounds; the flags have the same bound.
const mostRounds = math.MaxInt32

// rounds returns the named setting, which counts rounds: rounds, eval-every or eval-last.
func (r *Run) rounds(name string) (int, error) {
	text := r.setting(name)
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > mostRounds {
		return 0, fmt.Errorf("settings: %s %q, want 1 … %d", name, text, mostRounds)
	}
	return n, nil
}

// checkRounds compares the rounds of the curve with the schedule in the settings (see [Evaluated]). A run that is not
// finished has the first rounds of the schedule, and may have more than run.json knows of, see [Run.Verified].
func (r *Run) checkRounds() error {
	rounds, err := r.rounds("rounds")
	if err != nil {
		return err
	}
	every, err := r.rounds("eval-every")
	if err != nil {
		return err
	}
	last, err := r.rounds("eval-last")
	if err != nil {
		last = 0 // none
	}
	if r.Info.Status == RunComplete && r.Info.Rounds != rounds {
		return fmt.Errorf("complete after %d rounds, want the %d of the settings", r.Info.Rounds, rounds)
	}
	// Walk along the schedule beside the rows: round is the round that row i should have.
	round := 0
	for i, row := range r.Curve {
		switch {
		case i > 0 && round < rounds:
			round = evaluatedAfter(round, rounds, every, last)
		case i > 0:
			return fmt.Errorf("round %d, want none after round %d, the last of the settings", row.Round, rounds)
		}
		if row.Round != round {
			return fmt.Errorf("round %d where round %d belongs, as often as the settings say", row.Round, round)
		}
		if round > r.Info.Rounds && r.finished() {
			return fmt.Errorf("round %d, want none after round %d, the last that %s knows of",
				round, r.Info.Rounds, RunFile)
		}
	}
	if r.Info.Status == RunComplete && round != rounds {
		return fmt.Errorf("ends with round %d, want round %d as well", round, rounds)
	}
	return nil
}

// finished reports whether run.json says that nothing of the run is left to do.
func (r *Run) finished() bool { return r.Info.Status == RunComplete || r.Info.Status == RunDiverged }

// Verified returns the rows of the curve that run.json vouches for. An interrupted run may have further rows, which an
// earlier process left: the process that wrote run.json has not come to them again.
func (r *Run) Verified() []CurveRow {
	if r.Info == nil {
		return nil
	}
	return upTo(r.Curve, r.Info.Rounds)
}

// upTo returns the rows of a curve up to a round.
func upTo(curve []CurveRow, round int) []CurveRow {
	n, _ := slices.BinarySearchFunc(curve, round+1, func(r CurveRow, round int) int { return r.Round - round })
	return curve[:n]
}

// checkCurveSum compares the rows that run.json vouches for, without their times, with the checksum there.
func (r *Run) checkCurveSum() error {
	want := r.Info.Checksums[CurveFile]
	if want == "" {
		if len(r.Verified()) > 0 {
			return fmt.Errorf("no checksum in %s, want one", RunFile)
		}
		return nil
	}
	got, err := curveChecksum(r.Verified())
	if err == nil && got != want {
		err = fmt.Errorf("checksum %s without elapsed_s, want %s as %s has it: it was changed", got, want, RunFile)
	}
	return err
}

// checkFileSum compares a file with its checksum in run.json. A file without a checksum was put there by somebody
// else.
func (r *Run) checkFileSum(name string) error {
	want, path := r.Info.Checksums[name], filepath.Join(r.Dir, name)
	if want == "" {
		f, _, err := files.OpenRegular(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			err = errors.Join(fmt.Errorf("no checksum in %s: the run has not written it", RunFile), f.Close())
		}
		return err
	}
	got, err := fileChecksum(path)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("checksum %s, want %s as %s has it: it was changed", got, want, RunFile)
	}
	return nil
}

// OnlyOnce keeps the first of several copies of a run, which several tables may have, and notes the other tables in it.
// bad names the copies whose numbers differ.
func OnlyOnce(runs []Run) (different []Run, bad []error) {
	type identity struct {
		key   CellKey
		like  Likeness // runs that are not alike have different numbers
		seed  uint32
		table string // of runs that are not complete: their copies may differ in length
	}
	first := map[identity]int{}
	for _, r := range runs {
		id := identity{key: r.Key(), like: r.Likeness(), seed: r.Seed}
		if r.Status() != RunComplete {
			id.table = r.Dir
		}
		at, twice := first[id]
		if !twice {
			first[id] = len(different)
			different = append(different, r)
			continue
		}
		if err := SameNumbers(different[at].Curve, r.Curve); err != nil {
			bad = append(bad, fmt.Errorf("results: %s and %s: the same run, but %w",
				filepath.Join(different[at].Dir, CurveFile), filepath.Join(r.Dir, CurveFile), err))
		} else if same := &different[at]; r.Table != same.Table && !slices.Contains(same.Also, r.Table) {
			same.Also = append(same.Also, r.Table)
		}
	}
	return different, bad
}

// ByTable groups runs by table. A run that several tables have is in the group of each, with the name of that table.
func ByTable(runs []Run) (tables []string, of map[string][]Run) {
	var all []Run
	for _, r := range runs {
		for _, table := range append([]string{r.Table}, r.Also...) {
			r.Table = table
			all = append(all, r)
		}
	}
	return Grouped(all, func(r Run) string { return r.Table })
}

// SameNumbers returns where two curves first differ, in any column but time, version and table; nil if they do not.
func SameNumbers(a, b []CurveRow) error {
	plain := func(r CurveRow) CurveRow {
		r.ElapsedSec, r.Version, r.Table = 0, "", ""
		return r
	}
	for i := range min(len(a), len(b)) {
		if x, y := plain(a[i]), plain(b[i]); fmt.Sprint(x) != fmt.Sprint(y) { // as text: NaN equals NaN
			return fmt.Errorf("they differ in line %d, round %d", i+2, a[i].Round)
		}
	}
	if len(a) != len(b) {
		return fmt.Errorf("one ends after line %d, the other after line %d", len(a)+1, len(b)+1)
	}
	return nil
}

// RefuseTwins marks two seeds of one cell as damaged if they have the same numbers in every row, whatever the engine:
// one must be a copy of the other. Two runs may rightly be equal if no client was ever available to train, or if both
// diverged before their second evaluation.
func RefuseTwins(runs []Run) (bad []error) {
	type twin struct {
		key     CellKey
		numbers string
	}
	first := map[twin]int{}
	for i := range runs {
		numbers, trained := evaluations(runs[i].Curve)
		if !trained {
			continue
		}
		t := twin{runs[i].Key(), numbers}
		at, twice := first[t]
		if !twice {
			first[t] = i
			continue
		}
		if runs[at].Seed == runs[i].Seed {
			continue
		}
		runs[at].Damaged, runs[i].Damaged = true, true
		bad = append(bad, fmt.Errorf("results: %s and %s: seeds %d and %d have the same numbers in every round, "+
			"want runs of their own", runs[at].Dir, runs[i].Dir, runs[at].Seed, runs[i].Seed))
	}
	return bad
}

// evaluations returns the measured columns of a curve as text, and whether a later row has other numbers than the
// first.
func evaluations(curve []CurveRow) (numbers string, changed bool) {
	var b strings.Builder
	first := ""
	for i, r := range curve {
		row := fmt.Sprint(r.TrainLoss, r.TrainAcc, r.TestLoss, r.TestAcc)
		if i == 0 {
			first = row
		}
		number := !math.IsNaN(r.TestLoss.Value) && !math.IsInf(r.TestLoss.Value, 0)
		changed = changed || number && row != first
		fmt.Fprintf(&b, "%d %s\n", r.Round, row)
	}
	return b.String(), changed
}
