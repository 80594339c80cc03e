package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"rollcall/bench/many"
	"rollcall/bench/many/plan"
	"rollcall/bench/run"
)

// plan prints what a command would do.
func (s *pooled) plan(of planned) error {
	ctx, p := s.cmd.Context(), s.pool()
	runs, err := of.runs(ctx, p)
	if err != nil {
		return errors.Join(err, p.Close())
	}
	made, err := plan.Make(ctx, of.title, p, runs, false)
	if err := errors.Join(err, p.Close()); err != nil {
		return err
	}
	if s.format != "json" {
		return made.Write(s.stdout)
	}
	common := runFlags(s.cmd.Flags())
	return made.WriteJSON(s.stdout, s.machine.Out, func(r *many.Planned, id string) ([]string, error) {
		words, err := runWords(r, id)
		return append(words, common...), err
	})
}

// runWords returns a command line of `rollcall run` that makes one run of a table, a sweep or a figure where that
// command would, but for the flags that say on what machine.
func runWords(r *many.Planned, id string) ([]string, error) {
	given, err := r.Settings.Flags()
	if err != nil {
		return nil, err
	}
	words := []string{"rollcall", "run", "--id=" + id}
	for name, value := range given.All() {
		if name == "method" {
			value = scriptPaths(value)
		}
		words = append(words, "--"+name+"="+value)
	}
	if r.Decisions {
		words = append(words, "--decisions")
	}
	return append(words, fmt.Sprint("--seed=", r.Seed)), nil
}

// runFlags returns those flags of a command line that run has too, and that are no settings, and --out.
func runFlags(fs *pflag.FlagSet) (words []string) {
	of := pflag.NewFlagSet("", pflag.ContinueOnError)
	registerOne(of, &run.Machine{}, &run.Keep{})
	of.VisitAll(func(f *pflag.Flag) {
		given := fs.Lookup(f.Name)
		if given == nil || !given.Changed && f.Name != "out" {
			return
		}
		value := given.Value.String()
		if several := value == "cuda:all" || strings.Contains(value, ","); f.Name == "device" && several {
			value = "cuda" // one run is on one card
		}
		words = append(words, "--"+f.Name+"="+value)
	})
	return words
}
