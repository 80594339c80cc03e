package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/files"
)

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
		if err := s.ReadAvailability(); err != nil {
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
		var active float64
		err = out.Write(func(w io.Writer) error {
			active, err = writeTrace(w, &clients, s.Rounds)
			return err
		})
		if err != nil || out.Stdout() {
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "%s: %s of %s, %s, %.1f active on average\n", path,
			files.Count(s.Rounds, "round"), files.Count(s.Clients, "client"), s.Availability, active)
		return err
	}
	return cmd
}

// writeTrace writes a row for every client in every round, and returns how many clients are there on average. The
// columns are the round and the client, from 0; p_i of FedAWE's models, π_i of one without a p_i; π_i, the share of
// rounds with the client; λ_i of a chain, 0 where rounds are independent; p_i^t; and 1 if the client is there.
func writeTrace(w io.Writer, clients *run.Population, rounds int) (average float64, err error) {
	out := bufio.NewWriterSize(w, 1<<16)
	_, err = out.WriteString("round,client,p,pi,lambda,probability,active\n")
	number := func(to []byte, x float64) []byte { return append(strconv.AppendFloat(to, x, 'g', -1, 64), ',') }
	p := make([]float64, len(clients.Pi)) // [N] p_i^t of the round at hand
	same := make([][]byte, len(p))        // [N] what a client has in all rounds
	for i := range same {
		same[i] = number(number(number(fmt.Appendf(nil, ",%d,", i), clients.Base[i]), clients.Pi[i]), clients.Lambda[i])
	}
	here := make([]byte, len(p))
	var line []byte
	for t := 0; t < rounds && err == nil; t++ {
		clients.Availability.Probabilities(t, p)
		for i := range here {
			here[i] = '0'
		}
		active := clients.Availability.Active(t)
		for _, i := range active {
			here[i] = '1'
		}
		average += float64(len(active))
		for i := range p {
			line = append(strconv.AppendInt(line[:0], int64(t), 10), same[i]...)
			line = append(number(line, p[i]), here[i], '\n')
			_, err = out.Write(line)
		}
	}
	return average / float64(rounds), errors.Join(err, out.Flush())
}
