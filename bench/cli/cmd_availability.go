package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/files"
)

// availabilityRow is one client in one round, from 0.
type availabilityRow struct {
	Round       int     `csv:"round"`
	Client      int     `csv:"client"`
	Base        float64 `csv:"p"`           // p_i of FedAWE's models; π_i of one without a p_i
	Pi          float64 `csv:"pi"`          // π_i, the share of rounds with the client
	Lambda      float64 `csv:"lambda"`      // λ_i of a chain, 0 where rounds are independent
	Probability float64 `csv:"probability"` // p_i^t
	Active      int     `csv:"active"`      // 1: the client is there; 0: it is away
}

// availabilityCommand is `rollcall availability`: the trace of an availability model as CSV, for drawing it or for
// other programs. It has the flags of run that the split and the model read, and no other ones.
func (a *app) availabilityCommand() *cobra.Command {
	var (
		machine run.Machine
		path    string
		seed    uint32
	)
	cmd := &cobra.Command{
		Use:   "availability",
		Short: "Write which clients are active in every round, and with which probability",
		Long: `availability writes the trace that a run with the same seed would see: a CSV with p_i, π_i, p_i^t
and activity of every client in every round. A client's availability depends on the classes it holds, so that the split
of a data set is needed; by default it is the split of the synthetic set, which needs no download.`,
		Example: `  rollcall availability --availability sine --rounds 80 --csv sine.csv`,
		Args:    noArgs,
	}
	// The flags are those of run, with the same help and checks, but only the ones that split and model read. The
	// method, the net and training have no part in a trace.
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	settings.AddFlags(all)
	fs := cmd.Flags()
	for _, name := range []string{
		"data", "availability", "clients", "alpha", "period", "gamma", "cutoff", "low", "p", "g", "nu", "epsilon",
		"classes", "clusters", "p-min", "trace", "trace-end", "round-seconds", "preset", "draws", "train-size",
		"seed-split", "seed-phi", "seed-availability",
	} {
		fs.AddFlag(all.Lookup(name))
	}
	fs.Lookup("data").DefValue = "synthetic"
	var rounds *int
	settings.Under(settings.Usual, fs, func(fs *pflag.FlagSet) {
		rounds = fs.Int("rounds", 100, "rounds written")
		fs.Uint32Var(&seed, "seed", 3, "seed of the split and of the trace")
		fs.StringVar(&path, "csv", "-", "file to write; - is standard output")
	})
	settings.Under(settings.DataSplit, fs, func(fs *pflag.FlagSet) {
		fs.StringVar(&machine.DataDir, "data-dir", "", "folder of the data sets")
	})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		given := settings.GivenBy(cmd.Flags())
		// fedawe and code are the defaults of run, whose split comes from the settings of the method's paper as well.
		s, err := settings.Defaults("fedawe", "code", given.Get("data", "synthetic"))
		if err != nil {
			return err
		}
		if err := s.Give(given); err != nil {
			return err
		}
		s.Rounds, s.TestSize = *rounds, 1
		if err := s.Validate(); err != nil {
			return err
		}
		of := fmt.Sprintf("--availability %s --data %s", s.Availability, s.Data)
		if err := s.RefuseUnused(given, of); err != nil {
			return err
		}
		// As in settings.Resolve: a trace may be shorter than --rounds.
		if err := s.FitTrace(); err != nil {
			return err
		}
		out, leave, err := a.output("csv", path)
		if err != nil {
			return err
		}
		defer leave()
		if s.Trace != "" && out.Is(s.Trace) {
			return settings.Usagef("--csv %s: the file of --trace, want another", path)
		}
		if note := s.Shortened(); note != "" {
			run.Logf(a.stderr, "%s\n", note)
		}
		ses := &run.Session{Machine: machine, Stderr: a.stderr}
		if err := ses.OpenData(cmd.Context(), &s, seed); err != nil {
			return err
		}
		rows, active, err := traceRows(ses, &s, seed)
		if err != nil {
			return err
		}
		err = out.Write(func(w io.Writer) error { return files.WriteCSV(w, rows) })
		if err != nil || out.Stdout() {
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "%s: %s of %s, %s, %.1f active on average\n", path,
			files.Count(s.Rounds, "round"), files.Count(s.Clients, "client"), s.Availability, active)
		return err
	}
	cmd.AddCommand(a.availabilityFitCommand())
	return cmd
}

// traceRows returns a row for every client in every round, and how many clients are there on average.
func traceRows(
	ses *run.Session, s *settings.Settings, seed uint32,
) (rows []availabilityRow, active float64, err error) {
	clients, err := run.Populate(ses.Data, s, seed)
	if err != nil {
		return nil, 0, err
	}
	p := make([]float64, s.Clients) // [N] p_i^t of the round at hand
	for t := range s.Rounds {
		clients.Availability.Probabilities(t, p)
		here := map[int]int{} // 1 for the clients that are there, 0 for all others
		for _, i := range clients.Availability.Active(t) {
			here[i] = 1
		}
		for i := range p {
			rows = append(rows, availabilityRow{t, i, clients.Base[i], clients.Pi[i], clients.Lambda[i], p[i], here[i]})
		}
		active += float64(len(here))
	}
	return rows, active / float64(s.Rounds), nil
}
