package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rollcall/algos"
	"rollcall/algos/remote"
	"rollcall/bench/python"
	"rollcall/bench/settings"
)

// methodCommand is `rollcall method`: commands for those who write a method of their own in a file.
func (a *app) methodCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "method", Short: "Start your own method in a Python file, and check it",
		Long: `Give the file of a method in place of its name: rollcall run --method FILE. It needs Python 3.9 or
later with NumPy: $` + python.Variable + `, or the one next to rollcall, or python3.`,
	}
	cmd.AddCommand(a.methodNewCommand(), a.methodCheckCommand())
	for _, c := range cmd.Commands() { // newRoot does it for its own subcommands only
		completeNames(c)
	}
	return cmd
}

// methodNewCommand is `rollcall method new`: a file to begin with.
func (a *app) methodNewCommand() *cobra.Command {
	return &cobra.Command{
		Use: "new NAME", Short: "Write a file with a small method, to start from",
		Long: `new writes NAME.py, a method that runs as it is: FedAvg with momentum at the server. NAME may have a
folder in front. If the file already exists, it stays as it is, and new fails.`,
		Example: "  rollcall method new fedaum",
		Args:    exactly(1, "%d arguments, want one name"),
		RunE: func(_ *cobra.Command, args []string) error {
			path := strings.TrimSuffix(args[0], scriptSuffix) + scriptSuffix
			name := strings.TrimSuffix(filepath.Base(path), scriptSuffix)
			if err := remote.CheckName(name, ""); err != nil {
				return settings.Usagef("method new: %w", err)
			}
			err := writeNew(path, python.Template(name))
			switch {
			case errors.Is(err, fs.ErrExist):
				return fmt.Errorf("method new: %s: the file exists, want another name", path)
			case err != nil:
				return fmt.Errorf("method new: %w", err)
			}
			_, err = fmt.Fprintf(a.stdout, "%s: written; next:\n  rollcall method check %s\n"+
				"  rollcall run --method %s --data leaf --rounds 100\n", path, path, path)
			return err
		},
	}
}

// writeNew writes a file that is not there yet.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path) // or it would be in the way of the next attempt
	}
	return err
}

// methodCheckCommand is `rollcall method check`: small runs of a method that show what is wrong with it.
func (a *app) methodCheckCommand() *cobra.Command {
	c := &methodCheck{app: a}
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "check FILE", Short: "Say what is wrong with a method in a file",
		Long: `check makes small runs of the method on the CPU and prints a line for each check: ok, FAILED with what
was found and wanted, or "not checked" with the reason. It takes seconds and no data set.

The method starts and trains; two runs give the same bytes; it keeps only declared state from round to round; a run that
is stopped and resumed in a new process gives the same bytes as a run without a stop; a round without clients leaves the
model unchanged, unless the class sets moves_when_empty = True; another --server-lr gives another model, unless it sets
uses_server_lr = False; one client is enough; no end of local steps is kept after its round.

--equals compares the weights after every round with those of a built-in method, at its learning rates: on LEAF's
synthetic data, and on images with a small convolutional net. The parameters of FILE are flags: --fedaum-beta 0 may
make the two equal. The line says whether the bytes are the same, or else the largest difference, which fails if it is
above ` + fmt.Sprint(equalsTolerance) + ` of the largest weight.

What the method prints in its first run goes to stderr. The exit status is 1 if a check failed.`,
		Example: `  rollcall method check fedaum.py
  rollcall method check fedaum.py --equals fedavg-active`,
		Args: exactly(1, "%d files, want one"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{strings.TrimPrefix(scriptSuffix, ".")}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	var builtIn, others []string
	for _, name := range algos.Names() {
		if algos.Of(name).Program == "" {
			builtIn = append(builtIn, name)
		}
	}
	for _, row := range settings.Rows() {
		if !ofProgram(row.Param) {
			others = append(others, row.Name)
		}
	}
	fs := cmd.Flags()
	settings.AddFlags(fs, others...)
	fs.StringVar(&c.equals, "equals", "", "built-in method whose weights it should have, such as fedavg-active")
	completeWords(cmd, "equals", builtIn)
	fs.DurationVar(&timeout, "method-timeout", time.Minute,
		"the method's own longest time to be read and between two answers, of which the engine's time is no part; "+
			"0: none")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if fs.Changed("equals") {
			if err := settings.OneOf("equals", c.equals, builtIn); err != nil {
				return err
			}
		}
		if timeout < 0 {
			return settings.Usagef("--method-timeout %s: want 0 or more", timeout)
		}
		c.given = settings.GivenBy(fs)
		c.dir, err = os.MkdirTemp("", "rollcall-method-*")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(c.dir)) }()
		return c.run(cmd.Context(), cmd.Root(), args[0], timeout)
	}
	return cmd
}

// ofProgram reports whether a parameter is one of a method in a file.
func ofProgram(p *algos.Param) bool {
	for _, method := range p.Methods() {
		if algos.Of(method).Program != "" {
			return true
		}
	}
	return false
}
