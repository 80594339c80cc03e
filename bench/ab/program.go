package ab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"rollcall/internal/process"
	"rollcall/results"
	"rollcall/results/stats"
)

// Program is a rollcall program that is measured.
type Program struct {
	Name string // as it was given, for people
	Path string
}

// Find looks for a program: the path of a file, or a name in $PATH.
func Find(name string) (Program, error) {
	path := name
	if info, err := os.Stat(name); err == nil && !info.IsDir() && filepath.Base(name) == name {
		path = "." + string(filepath.Separator) + name // LookPath would look in $PATH alone
	}
	found, err := exec.LookPath(path)
	if err != nil {
		// The name is said below.
		if inner, is := errors.AsType[*exec.Error](err); is {
			err = inner.Err
		}
		if inner, is := errors.AsType[*fs.PathError](err); is {
			err = inner.Err
		}
		return Program{}, fmt.Errorf("%s: %w, want a program of rollcall", name, err)
	}
	return Program{Name: name, Path: found}, nil
}

// The flags of `rollcall bench` before those of the user, which win: short rounds of one thread, on generated images.
// Two threads disturb each other, which differs from pass to pass.
var (
	DefaultData  = strings.Fields("--data synthetic --train-size 512 --test-size 1") // unless the user names other data
	DefaultFlags = strings.Fields("--clients 4 --local-steps 1 --rounds 10 --threads 1 --no-eval")
)

// args returns the arguments of a run.
func (b *Bench) args() []string {
	args := []string{"bench"}
	if !slices.ContainsFunc(b.Flags, func(f string) bool { return f == "--data" || strings.HasPrefix(f, "--data=") }) {
		args = append(args, DefaultData...)
	}
	return slices.Concat(args, DefaultFlags, b.Flags, []string{"--format", "json", "--out", b.Out})
}

// run runs `rollcall bench` once and returns its report.
func (p Program) run(ctx context.Context, b *Bench) (report results.BenchReport, err error) {
	stdout, last, err := output(ctx, exec.Command(p.Path, b.args()...))
	switch {
	case err != nil && ctx.Err() != nil:
		return report, ctx.Err()
	case err != nil && (strings.Contains(last, `--format "json"`) || strings.Contains(last, "flag --train-size")):
		return report, fmt.Errorf("%s: does not know bench --format json, want a newer rollcall", p.Name)
	case err != nil:
		return report, fmt.Errorf("%s: bench: %w: %s, want a rollcall that runs with these flags", p.Name, err, last)
	}
	if err := json.Unmarshal(stdout, &report); err != nil {
		return report, fmt.Errorf("%s: bench: no JSON on stdout (%w), want what rollcall bench --format json prints",
			p.Name, err)
	}
	if report.Schema != results.BenchSchema {
		return report, fmt.Errorf("%s: bench: schema %d, want %d", p.Name, report.Schema, results.BenchSchema)
	}
	return report, nil
}

// Build builds a program by a command of the shell, which gets its name in $NAME and the path to write in $BINARY. The
// error has the last line of what the command printed.
func Build(ctx context.Context, command, name, path string) (p Program, err error) {
	cmd := exec.Command("sh", "-c", command)
	cmd.Env = append(os.Environ(), "NAME="+name, "BINARY="+path)
	if _, last, err := output(ctx, cmd); err != nil {
		if ctx.Err() != nil {
			return p, ctx.Err()
		}
		return p, fmt.Errorf("%s: build: %w: %s", name, err, last)
	}
	if p, err = Find(path); err != nil {
		return p, fmt.Errorf("%s: build: no program at $BINARY, want one there", name)
	}
	p.Name = name
	return p, nil
}

// output runs a command and returns what it printed, and the last line of its stderr without the name of the program,
// or else of its stdout. When ctx ends it kills the command and everything that the command has started.
func output(ctx context.Context, cmd *exec.Cmd) (stdout []byte, last string, err error) {
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	cmd.WaitDelay = time.Second // what the command has started may hold its pipes open
	process.OwnGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	stop := context.AfterFunc(ctx, func() { process.Kill(cmd) })
	defer stop()
	err = cmd.Wait()
	process.Kill(cmd)
	lines := strings.Split(strings.TrimSpace(out.String()+"\n"+log.String()), "\n")
	return out.Bytes(), strings.TrimPrefix(strings.TrimSpace(lines[len(lines)-1]), "rollcall: "), err
}

// Deciding returns the metric of a report that a verdict follows; "": it has none.
func Deciding(report results.BenchReport) string {
	for _, metric := range deciding {
		if slices.ContainsFunc(report.Metrics, func(m results.BenchMetric) bool { return m.Metric == metric }) {
			return metric
		}
	}
	return ""
}

// Number returns the one number of a pass. It is the median of the samples; in runs of the reference loop it is the
// lower tenth. Neighbours that need the same caches only ever make a round slower, by 15 % for seconds, and the loop
// does not need the caches. On two busy virtual cores the numbers of one program differed by 2.5 % from pass to pass
// (standard deviation, n = 10), and by 6 % as medians.
func Number(m results.BenchMetric) float64 {
	quantile := 0.5
	if m.Metric == results.BenchStepLoops {
		quantile = 0.1
	}
	return stats.Quantile(m.Samples, quantile).Value
}

// alike returns an error that names the first setting in which two reports differ, or part of their machines.
func alike(a, b Program, first, second results.BenchReport) error {
	for _, pair := range [][2]any{{first.Settings, second.Settings}, {first.Machine, second.Machine}} {
		x, y := reflect.ValueOf(pair[0]), reflect.ValueOf(pair[1])
		for i := range x.NumField() {
			if x.Field(i).Equal(y.Field(i)) {
				continue
			}
			return fmt.Errorf("%s and %s are not comparable: %s %v and %v, want the same", a.Name, b.Name,
				x.Type().Field(i).Tag.Get("json"), x.Field(i), y.Field(i))
		}
	}
	return nil
}

// Bench is how programs are measured.
type Bench struct {
	Flags []string // of `rollcall bench`, after [DefaultData] and [DefaultFlags]
	Out   string   // folder for the files of bench
}

// runsOfPass is how often a program runs in a pass. Neighbours come and go within seconds, so that many short runs of
// each program in turn find the same ones.
const runsOfPass = 4

// ProgramError is the error of one of the programs of a pass.
type ProgramError struct {
	Program int // its index
	Err     error
}

func (e *ProgramError) Error() string { return e.Err.Error() }

func (e *ProgramError) Unwrap() error { return e.Err }

// Pass runs programs one after another, several times, every other time in the opposite order. It returns a report of
// each, with the samples of all its runs. Programs whose settings or machines differ from those of the first are
// errors, as are all errors but that of ctx: each is a *[ProgramError].
func (b *Bench) Pass(ctx context.Context, programs ...Program) ([]results.BenchReport, error) {
	reports := make([]results.BenchReport, len(programs))
	for run := range runsOfPass {
		for turn := range programs {
			i := turn
			if run%2 == 1 {
				i = len(programs) - 1 - turn
			}
			report, err := programs[i].run(ctx, b)
			if err == nil && reports[0].Schema != 0 {
				err = alike(programs[0], programs[i], reports[0], report)
			}
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case err != nil:
				return nil, &ProgramError{i, err}
			}
			reports[i] = pooled(reports[i], report)
		}
	}
	return reports, nil
}

// pooled returns the second report with the samples of both.
func pooled(first, second results.BenchReport) results.BenchReport {
	for i := range second.Metrics {
		m := &second.Metrics[i]
		for _, before := range first.Metrics {
			if before.Metric == m.Metric {
				m.Samples = slices.Concat(before.Samples, m.Samples)
			}
		}
	}
	return second
}

// Compare measures two programs in a number of passes, which begin with either in turn. It calls say after every pass,
// and returns the metrics that both have in all passes, and the reports of the last pass.
func (b *Bench) Compare(
	ctx context.Context, old, next Program, passes int, say func(pass int),
) (all []Series, last []results.BenchReport, err error) {
	numbers := [2]map[string][]float64{{}, {}}
	for pass := range passes {
		// The order within a pass is turned around after every run already; this is for its first and last run.
		if pass%2 == 0 {
			last, err = b.Pass(ctx, old, next)
		} else if last, err = b.Pass(ctx, next, old); err == nil {
			slices.Reverse(last)
		}
		if err != nil {
			return nil, nil, err
		}
		for i, report := range last {
			for _, m := range report.Metrics {
				numbers[i][m.Metric] = append(numbers[i][m.Metric], Number(m))
			}
		}
		say(pass + 1)
	}
	for _, m := range last[0].Metrics {
		s := Series{Metric: m.Metric, Unit: m.Unit, Old: numbers[0][m.Metric], New: numbers[1][m.Metric]}
		if len(s.Old) == passes && len(s.New) == passes {
			all = append(all, s)
		}
	}
	return all, last, nil
}
