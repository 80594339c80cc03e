package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/algos/availability"
	"rollcall/bench/activity"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results/plot"
)

// availabilityCommand is `rollcall availability`: the trace of an availability model as CSV, for drawing it or for
// other programs. It has the flags of run that the split and the model read, and no other ones.
func (a *app) availabilityCommand() *cobra.Command {
	var (
		machine run.Machine
		path    string
		picture string
		seed    uint32
	)
	cmd := &cobra.Command{
		Use:   "availability",
		Short: "Write or draw which clients are active in every round, and with which probability",
		Long: `availability writes the trace that a run with the same seed would see: a CSV with p_i, π_i, p_i^t
and activity of every client in every round. A client's availability depends on the classes it holds, so that the split
of a data set is needed; by default it is the split of the synthetic set, which needs no download.

--plot draws the trace: who is active when, how long the clients stay and stay away, the autocorrelation of activity,
and how many are active in each round. Dashed lines are what chains of two states with the π_i and λ_i of the model lead
to expect.`,
		Example: `  rollcall availability --availability sine --rounds 80 --csv sine.csv
  rollcall availability --availability markov --rounds 200 --plot markov.svg`,
		Args: noArgs,
	}
	// The flags are those of run, with the same help and checks, but only the ones that split and model read. The
	// method, the net and training have no part in a trace.
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	settings.AddFlags(all)
	fs := cmd.Flags()
	for _, name := range []string{
		"data", "availability", "clients", "alpha", "period", "gamma", "cutoff", "low", "p", "g", "nu", "epsilon",
		"classes", "clusters", "p-min", "q", "groups", "on", "sigma", "size-power", "chain", "chain-sample", "trace",
		"trace-format", "trace-sample", "trace-offset", "trace-end", "round-seconds", "population", "min-separation",
		"outages", "preset", "draws", "train-size", "seed-split", "seed-phi", "seed-availability",
	} {
		fs.AddFlag(all.Lookup(name))
	}
	fs.Lookup("data").DefValue = "synthetic"
	var rounds *int
	settings.Under(settings.Usual, fs, func(fs *pflag.FlagSet) {
		rounds = fs.Int("rounds", 100, "rounds written")
		fs.Uint32Var(&seed, "seed", 3, "seed of the split and of the trace")
		fs.StringVar(&path, "csv", "-", "file to write; - is standard output; with --plot only if it is given")
		plotFlag(fs, &picture)
	})
	settings.Under(settings.DataSplit, fs, func(fs *pflag.FlagSet) {
		fs.StringVar(&machine.DataDir, "data-dir", "", "folder of the data sets")
	})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		draws := cmd.Flags().Changed("plot")
		writes := !draws || cmd.Flags().Changed("csv")
		kind, inches, err := plot.FileOf(picture)
		if draws && err != nil {
			return settings.Usagef("--plot %w", err)
		}
		given := settings.GivenBy(cmd.Flags())
		// fedawe and code are the defaults of run, whose split comes from the settings of the method's paper as well.
		s, err := settings.Defaults("fedawe", "code", given.Get("data", "synthetic"))
		if err != nil {
			return err
		}
		if err := s.Give(given); err != nil {
			return err
		}
		if s.Rounds = *rounds; s.Data == "synthetic" { // which makes test samples that nobody reads
			s.TestSize = 1
		}
		if err := s.Validate(); err != nil {
			return err
		}
		of := fmt.Sprintf("--availability %s --data %s", s.Availability, s.Data)
		if err := s.RefuseUnused(given, of); err != nil {
			return err
		}
		// As in settings.Resolve: a trace may be shorter than --rounds.
		if err := s.ReadAvailability(); err != nil {
			return err
		}
		var table, drawing *files.Output
		for _, o := range []struct {
			flag, path string
			wanted     bool
			out        **files.Output
		}{{"csv", path, writes, &table}, {"plot", picture, draws, &drawing}} {
			if !o.wanted {
				continue
			}
			out, leave, err := a.output(o.flag, o.path)
			if err != nil {
				return err
			}
			defer leave()
			for flag, path := range map[string]string{"trace": s.Trace, "chain": s.Chain} {
				if path != "" && out.Is(path) {
					return settings.Usagef("--%s %s: the file of --%s, want another", o.flag, o.path, flag)
				}
			}
			*o.out = out
		}
		if writes && draws && filepath.Clean(path) == filepath.Clean(picture) {
			return settings.Usagef("--plot %s: the file of --csv, want another", picture)
		}
		for _, note := range s.TraceNotes() {
			run.Logf(a.stderr, "%s\n", note)
		}
		ses := &run.Session{Machine: machine, Stderr: a.stderr}
		if err := ses.OpenData(cmd.Context(), &s, seed); err != nil {
			return err
		}
		clients, err := run.Populate(ses.Data, &s, seed)
		if err != nil {
			return err
		}
		record := availability.RecordOf(clients.Availability, s.Clients, s.Rounds)
		if writes {
			err := table.Write(func(w io.Writer) error { return writeTrace(w, &clients, record) })
			if err != nil {
				return err
			}
		}
		if draws {
			drawn := activity.Activity{
				Title: availabilityTitle(&s, given), Record: record, Mean: meanProbabilities(&clients, record),
			}
			if s.Population == "none" { // else π is of the whole run, and λ of the time in the federation
				drawn.Chains = &activity.Chains{Pi: clients.Pi, Lambda: clients.Lambda}
			}
			f := activity.Figure(drawn)
			if err := drawing.Write(func(w io.Writer) error { return f.Write(w, kind, inches) }); err != nil {
				return err
			}
		}
		for _, o := range []struct {
			out  *files.Output
			path string
		}{{table, path}, {drawing, picture}} {
			if o.out == nil || o.out.Stdout() {
				continue
			}
			if _, err := fmt.Fprintf(a.stdout, "%s: %s of %s, %s, %.1f active on average\n", o.path,
				files.Count(s.Rounds, "round"), files.Count(s.Clients, "client"), s.Availability,
				record.Mean()*float64(s.Clients)); err != nil {
				return err
			}
		}
		return nil
	}
	cmd.AddCommand(a.availabilityFitCommand())
	return cmd
}

// plotFlag adds --plot, whose value [plot.FileOf] reads.
func plotFlag(fs *pflag.FlagSet, picture *string) {
	fs.StringVar(picture, "plot", "",
		"file to draw to, .svg, .png or .pdf; 6.8 inches wide, or 3.3 if its name ends in -column, as -column.pdf")
}

// meanProbabilities returns the mean of p_i^t over the clients in every round [T].
func meanProbabilities(clients *run.Population, record availability.Record) []float64 {
	p, mean := make([]float64, len(record.Rows)), make([]float64, record.Rounds)
	for t := range mean {
		clients.Availability.Probabilities(t, p)
		for _, x := range p {
			mean[t] += x / float64(len(p))
		}
	}
	return mean
}

// writeTrace writes a row for every client in every round. The columns are the round and the client, from 0; p_i of
// FedAWE's models, π_i of one without a p_i; π_i, the share of rounds with the client; λ_i of a chain, 0 where rounds
// are independent; p_i^t; and 1 if the client is there.
func writeTrace(w io.Writer, clients *run.Population, record availability.Record) error {
	out := bufio.NewWriterSize(w, 1<<16)
	_, err := out.WriteString("round,client,p,pi,lambda,probability,active\n")
	number := func(to []byte, x float64) []byte { return append(strconv.AppendFloat(to, x, 'g', -1, 64), ',') }
	p := make([]float64, len(record.Rows)) // [N] p_i^t of the round at hand
	same := make([][]byte, len(p))         // [N] what a client has in all rounds
	for i := range same {
		same[i] = number(number(number(fmt.Appendf(nil, ",%d,", i), clients.Base[i]), clients.Pi[i]), clients.Lambda[i])
	}
	var line []byte
	for t := 0; t < record.Rounds && err == nil; t++ {
		clients.Availability.Probabilities(t, p)
		for i := range p {
			here := byte('0')
			if record.Active(i, t) {
				here = '1'
			}
			line = append(strconv.AppendInt(line[:0], int64(t), 10), same[i]...)
			line = append(number(line, p[i]), here, '\n')
			_, err = out.Write(line)
		}
	}
	return errors.Join(err, out.Flush())
}

// availabilityTitle returns the model with the settings that were given, but those that the figure shows anyway.
func availabilityTitle(s *settings.Settings, given settings.Given) string {
	title := []string{s.Availability}
	for name, value := range given.All() {
		if name != "availability" && name != "clients" {
			title = append(title, fmt.Sprintf("--%s %s", name, value))
		}
	}
	return strings.Join(title, " ")
}
