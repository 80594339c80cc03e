package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"rollcall/bench/run"
	"rollcall/internal/files"
)

// demoLines are the commands of `rollcall demo`: five methods under the sine, on generated images, small enough for a
// minute on two cores. Its accuracies are after the last round, since its runs are short.
func demoLines(out, device string, rounds int) [][]string {
	dir := filepath.Join(out, "demo")
	if strings.HasPrefix(dir, "-") { // else it would be a flag
		dir = "./" + dir
	}
	const sweep = "sweep --name demo --methods fedavg-active,fedau,fedawe,mifa,fedvarp --availability sine " +
		"--data synthetic --nets lenet5 --clients 20 --seeds 1-5 --batch 16 --train-size 2000 " +
		"--test-size 500 --eval-every 5 --eval-train=false --metric final"
	return [][]string{
		append(strings.Fields(sweep), "--rounds", strconv.Itoa(rounds), "--device", device, "--out="+out),
		{"report", dir, "--metric", "final"},
	}
}

// demoCommand is `rollcall demo`: a first table and page, without a data set and a network.
func (a *app) demoCommand() *cobra.Command {
	var (
		out, device string
		rounds      int
	)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Compare five methods on generated images, in about a minute, and write a page",
		Long: `demo trains five methods under the sine availability model on generated images, prints their accuracies
and writes a page with their curves. It needs no network and no data set. It prints the two commands that it stands
for, which you can copy and change. A repeated demo keeps its runs.`,
		Example: `  rollcall demo`,
		Args:    noArgs,
	}
	cmd.Flags().StringVar(&out, "out", "out", "folder of everything that is written")
	cmd.Flags().IntVar(&rounds, "rounds", 100, "rounds of every run")
	deviceFlag(cmd.Flags(), &device, "auto, cpu or cuda; gpu is cuda")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		for _, line := range demoLines(out, device, rounds) {
			words := []string{"rollcall"}
			for _, word := range line {
				words = append(words, files.ShellQuoted(word))
			}
			run.Logf(a.stderr, "$ %s\n", strings.Join(words, " "))
			root := newRoot(a.stdout, a.stderr, &texts{w: io.Discard})
			root.SetArgs(line)
			if err := root.ExecuteContext(cmd.Context()); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintf(a.stdout,
			"\nOpen %s in a browser. Next: rollcall help fedawe, rollcall method new mine\n",
			filepath.Join(out, "demo", "report", "index.html"))
		return err
	}
	return cmd
}
