package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rollcall/algos"
	"rollcall/algos/remote"
	"rollcall/bench/run"
	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results"
)

// The runs of a check are small, and long enough that what one round leaves shows in later ones.
const (
	checkSeed    = 3
	checkRounds  = 6
	checkStop    = 3
	checkClients = 10
	checkGrace   = 20 * time.Second // to write the checkpoint of the run that stops
)

// equalsTolerance is by how much of the largest weight --equals lets weights differ: float32 adds terms in another
// order to about 1e-7, which a few rounds of training multiply.
const equalsTolerance = 1e-5

type methodCheck struct {
	*app
	given  settings.Given // parameters of the method
	equals string         // a built-in method; empty: none
	dir    string         // for the files of runs

	script  *remote.Script
	session *run.Session
	leaf    settings.Settings // of the runs on LEAF's synthetic data
	whole   [][]float32       // the weights in the run of all rounds; nil: it failed
	stopped *run.Experiment   // the run that was stopped; nil: it failed
	shown   bytes.Buffer      // what the method has printed, tracebacks among it
	failed  int
	only    error // why nothing more is checked
}

// notChecked is the error of a check that is not made.
type notChecked string

func (e notChecked) Error() string { return string(e) }

// run makes all checks and prints their lines.
func (c *methodCheck) run(ctx context.Context, root *cobra.Command, file string, timeout time.Duration) error {
	var err error
	if _, c.script, err = describe(ctx, file, timeout, &c.shown); err == nil {
		_, err = addScript(ctx, root, file, timeout, io.Discard) // it is registered, unless its flags are taken
	}
	if settings.IsUsage(err) || ctx.Err() != nil {
		return cmp.Or(ctx.Err(), err)
	}
	c.session = &run.Session{Stderr: io.Discard, Machine: run.Machine{
		Device: "cpu", Threads: runtime.GOMAXPROCS(0), Out: c.dir, Grace: checkGrace,
		Methods: algos.Process{Timeout: timeout},
	}}
	defer func() { _ = c.session.Close() }()
	began := err
	if began == nil {
		if c.leaf, err = c.settingsOf(c.script.Name, checkOnLeaf()); err != nil {
			return err
		}
	}
	checks := []check{
		{"starts", func(ctx context.Context) (string, error) { return c.starts(ctx, began) }},
		{fmt.Sprintf("trains %d rounds with %d clients", checkRounds, checkClients), c.makesRounds},
		{"two runs give the same bytes", c.repeats},
		{"keeps nothing hidden from round to round", c.hidesNothing},
		{fmt.Sprintf("%d rounds, resumed for %d more in a new process, give the bytes of %d", checkStop,
			checkRounds-checkStop, checkRounds), c.resumes},
		{"a round without clients leaves the model unchanged", c.staysWhenEmpty},
		{"the server's rate is used", c.usesServerRate},
		{"runs with one client", c.runsAlone},
		{"keeps no end after its round", c.dropsEnds},
	}
	if c.equals != "" {
		on := func(given settings.Given) func(context.Context) (string, error) {
			return func(ctx context.Context) (string, error) { return c.sameAs(ctx, given) }
		}
		checks = append(checks, check{"equals " + c.equals + " on leaf", on(checkOnLeaf())},
			check{"equals " + c.equals + " on images, " + checkImageNet, on(checkOnImages())})
	}
	for _, k := range checks {
		if err := c.check(ctx, k); err != nil {
			return err
		}
	}
	if c.failed > 0 {
		return fmt.Errorf("method check: %s: %s FAILED, see above", file, files.Count(c.failed, "check"))
	}
	return nil
}

// check is one check: what it shows, and how it is made. found is what the line adds where all is well.
type check struct {
	what string
	make func(ctx context.Context) (found string, err error)
}

// check makes a check and prints its line. err ends the command.
func (c *methodCheck) check(ctx context.Context, k check) error {
	found, err := "", c.only
	if err == nil {
		found, err = k.make(ctx)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	verdict := "ok"
	why, not := errors.AsType[notChecked](err)
	switch script, thrown := errors.AsType[*remote.ScriptError](err); {
	case err == nil:
	case not:
		verdict, found = "not checked", string(why)
	case thrown:
		verdict, found = "FAILED", script.Text
		if !strings.Contains(c.shown.String(), script.Traceback) { // it is shown once
			_, _ = io.WriteString(io.MultiWriter(c.stderr, &c.shown), script.Traceback)
		}
	default:
		verdict, found = "FAILED", strings.TrimPrefix(settings.ErrorLine(err), "algos: ")
	}
	if verdict == "FAILED" {
		c.failed++
	}
	if found != "" {
		found = ": " + found
	}
	_, err = fmt.Fprintf(c.stdout, "%-11s  %s%s\n", verdict, k.what, found)
	return err
}

// checkOnLeaf are the settings of runs on LEAF's synthetic data, of which every client is there in most rounds, so
// that no round has one client or none.
func checkOnLeaf() settings.Given {
	return givenBy(fmt.Sprintf("data leaf clients %d rounds %d local-steps 3 batch 5 eval-every 1 "+
		"availability stationary p 0.7", checkClients, checkRounds))
}

const checkImageNet = "lenet5"

// checkOnImages are the settings of runs on generated images with a small convolutional net.
func checkOnImages() settings.Given {
	return givenBy("data synthetic net " + checkImageNet + " train-size 200 test-size 20 clients 4 rounds 3 " +
		"local-steps 2 batch 8 availability stationary p 0.8")
}

// givenBy returns settings from pairs of words, name and value.
func givenBy(words string) (given settings.Given) {
	for pair := range slices.Chunk(strings.Fields(words), 2) {
		given = append(given, algos.Setting{Name: pair[0], Value: pair[1]})
	}
	return given
}

// settingsOf returns the settings of a method's runs. The method of the file has the parameters of the command line,
// and some rates where it has none.
func (c *methodCheck) settingsOf(method string, given settings.Given) (settings.Settings, error) {
	given = append(settings.Given{{Name: "method", Value: method}}, given...)
	if method == c.script.Name {
		given = append(given, c.given...)
		if c.script.LR == 0 {
			given = append(given, algos.Setting{Name: "lr", Value: "0.05"})
		}
		if c.script.ServerLR == 0 {
			given = append(given, algos.Setting{Name: "server-lr", Value: "1"})
		}
	}
	return settings.Resolve(given)
}

// starts is the check that the file can be read and that start declares what it should.
func (c *methodCheck) starts(ctx context.Context, err error) (string, error) {
	var f *run.Federation
	if err == nil {
		c.shown.Reset() // the method prints it again
		c.session.Stderr = &c.shown
		f, err = c.federate(ctx, c.leaf)
		c.session.Stderr = io.Discard
	}
	if err != nil {
		_, _ = c.stderr.Write(c.shown.Bytes())
		c.only = notChecked("it does not start")
		return "", err
	}
	f.Method.Close()
	c.shown.Reset() // the first run prints it again
	words := []string{c.script.Name}
	for _, p := range c.script.Params {
		words = append(words, fmt.Sprintf("--%s %s", p.Name, c.leaf.Get(p.Name)))
	}
	words = append(words, "Python "+c.script.Runtime["python"], "NumPy "+c.script.Runtime["numpy"])
	return strings.Join(words, ", "), nil
}

// makesRounds is the check that the method can be run at all. What the method prints is shown here.
func (c *methodCheck) makesRounds(ctx context.Context) (_ string, err error) {
	c.session.Stderr = io.MultiWriter(c.stderr, &c.shown)
	defer func() { c.session.Stderr = io.Discard }()
	if c.whole, err = c.train(ctx, c.leaf, nil); err != nil {
		c.only = notChecked("it does not train")
	}
	return "", err
}

// repeats is the check that the numbers depend on nothing but settings and seed.
func (c *methodCheck) repeats(ctx context.Context) (string, error) {
	again, err := c.train(ctx, c.leaf, nil)
	if err != nil {
		return "", err
	}
	if round, off := compareWeights(again, c.whole); round >= 0 {
		return "", fmt.Errorf("round %d: weights off by %.1e of the largest, want the same bytes: draw by r.rng, and "+
			"depend on neither time nor the order of sets", round, off)
	}
	return "", nil
}

// hidesNothing is the check that a fresh process runs a round as the first did, given what was saved. It is made by
// the method itself after the first checkpoint of a run, which goes on to the round where the run stops.
func (c *methodCheck) hidesNothing(ctx context.Context) (string, error) {
	x := &run.Experiment{
		Table: "run", Settings: c.leaf, Seed: checkSeed, Dir: filepath.Join(c.dir, "stopped"), SaveModel: run.SaveOne,
		StopAt: new(checkStop),
	}
	c.session.Machine.CheckpointEvery = 1 // as soon as a round is made
	said, _, err := c.experiment(ctx, x)
	switch {
	case err != nil:
		return "", err
	case strings.Contains(said, "without this checkpoint"):
		return "", errors.New(lastLine(said))
	}
	c.stopped = x
	return "", nil
}

// resumes is the check that a run that was stopped goes on as if it had not been.
func (c *methodCheck) resumes(ctx context.Context) (string, error) {
	if c.stopped == nil {
		return "", notChecked("the run before the checkpoint failed")
	}
	c.session.Machine.CheckpointEvery = 0
	whole, resumed := *c.stopped, *c.stopped
	whole.StopAt, resumed.StopAt = nil, nil
	whole.Dir = filepath.Join(c.dir, "whole")
	if _, _, err := c.experiment(ctx, &whole); err != nil {
		return "", err
	}
	said, from, err := c.experiment(ctx, &resumed)
	switch {
	case err != nil:
		return "", err
	case from != checkStop:
		return "", errors.New(cmp.Or(lastLine(said), "it does not resume from its checkpoint"))
	}
	return "", sameFiles(resumed.Dir, whole.Dir)
}

// experiment trains a run as `rollcall run` does. It returns what the run has logged, and the round from which it went
// on; 0: the first.
func (c *methodCheck) experiment(ctx context.Context, x *run.Experiment) (said string, from int, err error) {
	var log bytes.Buffer
	c.session.Stderr = &log
	defer func() { c.session.Stderr = io.Discard }()
	p := &resumedFrom{Run: progress.New(io.Discard).Run("", progress.Work{})}
	_, err = x.Do(ctx, c.session, run.Keep{}, p)
	return log.String(), p.round, err
}

// resumedFrom is a run's progress that notes from which round the run went on.
type resumedFrom struct {
	progress.Run
	round int
}

func (r *resumedFrom) Resumed(done int) { r.round = done }

// lastLine returns the last line of a log that says what is wrong.
func lastLine(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	return strings.TrimPrefix(lines[len(lines)-1], "rollcall: ")
}

// sameFiles compares the curves and the models of two runs. The first is the one that was resumed.
func sameFiles(resumed, whole string) error {
	var curves [2][]results.CurveRow
	var models [2][]byte
	for i, dir := range []string{resumed, whole} {
		var err error
		if curves[i], err = results.ReadCurve(filepath.Join(dir, results.CurveFile)); err != nil {
			return err
		}
		if models[i], err = os.ReadFile(filepath.Join(dir, results.ModelFile)); err != nil {
			return err
		}
	}
	curve, want := curves[0], curves[1]
	if len(curve) != len(want) {
		return fmt.Errorf("a curve of %d rows, want %d", len(curve), len(want))
	}
	for i, row := range curve {
		if row.ElapsedSec = want[i].ElapsedSec; row != want[i] {
			return fmt.Errorf("round %d: test loss %v and train loss %v, want %v and %v as in the run that was not "+
				"stopped: declare in start what later rounds need", row.Round, row.TestLoss.Value, row.TrainLoss.Value,
				want[i].TestLoss.Value, want[i].TrainLoss.Value)
		}
	}
	if !bytes.Equal(models[0], models[1]) {
		return errors.New("another model after the last round than in the run that was not stopped")
	}
	return nil
}

// staysWhenEmpty is the check that nothing moves a model but training, in the first round too.
func (c *methodCheck) staysWhenEmpty(ctx context.Context) (string, error) {
	w, err := c.train(ctx, c.leaf, [][]int{{}, {0, 3, 8}, {}, {1, 3, 4, 9}, {}})
	if err != nil {
		return "", err
	}
	if c.script.MovesWhenEmpty {
		return "", notChecked("moves_when_empty = True")
	}
	for _, round := range []int{1, 3, 5} {
		if _, off := compareWeights(w[round-1:round], w[round:round+1]); off > 0 {
			return "", fmt.Errorf("round %d: it moves by %.1e of the largest weight, want 0, or moves_when_empty = "+
				"True in the class", round, off)
		}
	}
	return "", nil
}

// usesServerRate is the check that another rate of the server gives another model.
func (c *methodCheck) usesServerRate(ctx context.Context) (string, error) {
	if !c.script.UsesServerRate {
		return "", notChecked("uses_server_lr = False")
	}
	s := c.leaf
	s.ServerLR /= 2
	half, err := c.train(ctx, s, nil)
	if err != nil {
		return "", err
	}
	if round, _ := compareWeights(half, c.whole); round < 0 {
		return "", fmt.Errorf("--server-lr %g and %g give the same bytes, want a use of r.server_lr, or "+
			"uses_server_lr = False in the class", c.leaf.ServerLR, s.ServerLR)
	}
	return "", nil
}

// runsAlone is the check that nothing is divided by the number of other clients.
func (c *methodCheck) runsAlone(ctx context.Context) (string, error) {
	s := c.leaf
	s.Clients = 1
	_, err := c.train(ctx, s, [][]int{{0}, {0}, {0}})
	return "", err
}

// dropsEnds is the check that the method keeps no row of a round after it. The package rollcall_fl looks.
func (c *methodCheck) dropsEnds(ctx context.Context) (string, error) {
	c.session.Machine.Methods.Env = []string{"ROLLCALL_CHECK_HANDLES=1"}
	defer func() { c.session.Machine.Methods.Env = nil }()
	s := c.leaf
	s.Rounds = 2
	_, err := c.train(ctx, s, nil)
	return "", err
}

// sameAs is the check that the method has the weights of a built-in one, at the rates and settings of that.
func (c *methodCheck) sameAs(ctx context.Context, given settings.Given) (string, error) {
	theirs, err := c.settingsOf(c.equals, given)
	if err != nil {
		return "", err
	}
	ours := theirs
	ours.Method, ours.OfMethods = c.script.Name, nil
	if err := ours.Give(c.given); err != nil {
		return "", err
	}
	want, err := c.train(ctx, theirs, nil)
	if err != nil {
		return "", err
	}
	got, err := c.train(ctx, ours, nil)
	if err != nil {
		return "", err
	}
	round, off := compareWeights(got, want)
	if round < 0 {
		return "the same bytes", nil
	}
	for k := range got { // the first round that is wrong says more than the first that is rounded otherwise
		if _, off := compareWeights(got[k:k+1], want[k:k+1]); off > equalsTolerance {
			return "", fmt.Errorf("round %d: weights off by %.1e of the largest, want at most %g", k, off,
				equalsTolerance)
		}
	}
	return fmt.Sprintf("equal to %.1e of the largest weight, other bytes from round %d on", off, round), nil
}

// federate starts a method as a run does.
func (c *methodCheck) federate(ctx context.Context, s settings.Settings) (*run.Federation, error) {
	// Opened for the method itself, the session would start it once more, to count its rows.
	plain := s
	plain.Method, plain.OfMethods = "fedavg-active", nil
	if err := c.session.Open(ctx, &plain, checkSeed); err != nil {
		return nil, err
	}
	return c.session.Federate(ctx, s, checkSeed, c.session.Engine)
}

// train makes rounds and returns the weights [T+1][P] before the first and after each. active are the clients of each
// round; nil: as the settings say.
func (c *methodCheck) train(ctx context.Context, s settings.Settings, active [][]int) (w [][]float32, err error) {
	f, err := c.federate(ctx, s)
	if err != nil {
		return nil, err
	}
	defer f.Method.Close()
	clients, err := run.Populate(c.session.Data, &s, checkSeed)
	if err != nil {
		return nil, err
	}
	p := make([]float64, s.Clients)
	if active == nil {
		for t := range s.Rounds {
			active = append(active, slices.Clone(clients.Availability.Active(t)))
		}
	}
	for t := range len(active) + 1 {
		if t > 0 {
			clients.Availability.Probabilities(t-1, p)
			r := algos.Round{T: t - 1, Active: active[t-1], P: p, LR: s.Rate(t - 1), ServerLR: s.ServerLR}
			if _, err := f.Method.Round(ctx, r); err != nil {
				return nil, err
			}
		}
		model, err := f.Method.Model()
		if err != nil {
			return nil, err
		}
		now := make([]float32, c.session.Engine.Info().Params)
		if err := c.session.Engine.Store(model, now); err != nil {
			return nil, err
		}
		infinite := func(x float32) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) }
		if i := slices.IndexFunc(now, infinite); i >= 0 {
			return nil, fmt.Errorf("round %d: weight %d of the model is %g, want finite numbers", t, i, now[i])
		}
		w = append(w, now)
	}
	return w, nil
}

// compareWeights returns the first index at which two runs have other bytes, -1 if they have the same, and the largest
// difference between them, in units of the largest weight of the second.
func compareWeights(a, b [][]float32) (first int, off float64) {
	first = -1
	largest := 0.0
	for k := range b {
		for i, x := range b[k] {
			if math.Float32bits(a[k][i]) != math.Float32bits(x) && first < 0 {
				first = k
			}
			off = max(off, math.Abs(float64(a[k][i])-float64(x)))
			largest = max(largest, math.Abs(float64(x)))
		}
	}
	if off > 0 {
		off /= largest // 0: infinite, as it should be
	}
	return first, off
}
