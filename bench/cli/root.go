package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/algos"
	"rollcall/bench/many"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/internal/files"
	"rollcall/nets/models"
)

// app is the output of a subcommand: results go to stdout, progress and errors to stderr. Its methods are the
// subcommands.
type app struct {
	stdout, stderr io.Writer
	saved          int // [run.Saved] when the command line began: tests have many in one process
}

// texts is the writer of cobra's help, usage and completions. Cobra ignores errors of writing, as on a full disk, so
// texts keeps the first one for [Run], which then fails.
type texts struct {
	w   io.Writer
	err error
}

// Write implements [io.Writer]. After an error it writes nothing more, and returns no error, which cobra would ignore.
func (t *texts) Write(p []byte) (int, error) {
	if t.err == nil {
		_, t.err = t.w.Write(p)
	}
	return len(p), nil
}

// newRoot returns the program's command with all subcommands. Cobra writes its own texts to help.
//
// Cobra's defaults are changed in four ways: an error of the command line is a usage error (status 2) with the nearest
// known name in it, a command that only groups others prints its help, help fits a window and has its flags in groups,
// see [wrapHelp], and help knows methods and availability models, see [app.helpTopics].
func newRoot(stdout, stderr io.Writer, help *texts) *cobra.Command {
	a := &app{stdout, stderr, run.Saved()}
	root := &cobra.Command{
		Use:   "rollcall",
		Short: "Benchmarks federated learning with clients that are not always available",
		Long: `rollcall trains all active clients of a federation at once, under an availability model that decides
which clients are active in each round. It writes the results of every method as CSV, next to the papers' printed
numbers.

In a list, commas separate the values, and no value is there twice.`,
		// Run logs errors itself, in one line. Cobra would print them with the usage, which hides them.
		SilenceErrors: true, SilenceUsage: true,
		Version: versionLine(),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetOut(help)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(flagError)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		limitThreads(cmd)
		return tidyLists(cmd.Flags())
	}
	root.AddCommand(
		a.runCommand(), a.tableCommand(), a.figureCommand(), a.sweepCommand(), a.initCommand(), a.tuneCommand(),
		a.resultsCommand(), a.reportCommand(), a.demoCommand(), a.benchCommand(), a.trackCommand(), a.methodCommand(),
		a.availabilityCommand(), a.scenarioCommand(), a.dataCommand(), a.devicesCommand(), a.versionCommand(),
	)
	for _, c := range root.Commands() { // commands below these, such as those of track, do it for themselves
		completeNames(c)
	}
	// Cobra adds its own commands only when it executes. They are made here to give them the same argument checks.
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	// Every command that groups others is among these: none is deeper than the root's own subcommands.
	for _, c := range append(root.Commands(), root) {
		if c.Name() == "completion" {
			for _, shell := range c.Commands() {
				shell.Args = noArgs // cobra's own error would end the program with status 1
			}
		}
		switch {
		case c.HasSubCommands():
			// Without RunE cobra would print help for an unknown subcommand too, and never check the arguments.
			c.Args = subcommandArgs
			if c.RunE == nil {
				c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			}
		case c.Name() == "help":
			a.helpTopics(root, c)
		}
	}
	readDecimal(root)
	meanTwins(root)
	wrapHelp(root, widthOf(stdout))
	return root
}

// errorPrefix returns the start of a command's errors: its name without the program's, since every error already starts
// with "rollcall: ". It is empty for the program itself.
func errorPrefix(cmd *cobra.Command) string {
	return strings.TrimPrefix(commandName(cmd)+": ", ": ")
}

// commandName returns the name of a command without the program's: "results list".
func commandName(cmd *cobra.Command) string {
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	return name
}

// subcommandArgs checks the arguments of a command that only groups others: any argument names a command that does not
// exist.
func subcommandArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	names := commandNames(cmd)
	if len(names) == 0 { // reached from help alone: `rollcall help run x`
		return noArgs(cmd, args)
	}
	return settings.Usagef("%sunknown command %q%s, want one of %s", errorPrefix(cmd), args[0],
		files.DidYouMean(args[0], names), strings.Join(names, ", "))
}

// commandNames returns the names of the subcommands.
func commandNames(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// flagError turns an error of pflag into a usage error that says what is wanted: the nearest flag for a flag that does
// not exist, the kind of value for a value that cannot be read.
func flagError(cmd *cobra.Command, err error) error {
	of := errorPrefix(cmd)
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		want := strings.TrimSpace(cmd.CommandPath() + " --help")
		// A flag of one letter has no near name: -h is the only one there is.
		if letters := unknown.GetSpecifiedShortnames(); letters != "" {
			return settings.Usagef("%sunknown flag -%s, want one that %s lists", of, letters, want)
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		name := unknown.GetSpecifiedName()
		// Names of flags have no dashes, but a user reads the hint as what to type.
		hint := strings.Replace(files.DidYouMean(name, names), "mean ", "mean --", 1)
		if name == "version" {
			hint = ", did you mean rollcall version"
		}
		return settings.Usagef("%sunknown flag --%s%s, want one that %s lists", of, name, hint, want)
	}
	if value, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := value.GetFlag()
		if settings.IsUsage(err) { // it says more than the kind
			return settings.Usagef("%s--%s %q: %w", of, f.Name, value.GetValue(), errors.Unwrap(err))
		}
		kind := f.Value.Type()
		if _, alone := kindsOfValue[kind]; alone && settings.IsSetting(f) && strings.Contains(value.GetValue(), ",") &&
			cmd.Name() != "sweep" {
			return settings.Usagef("%s--%s %q: want %s, and one: sweep takes several", of, f.Name, value.GetValue(),
				kindsOfValue[kind])
		}
		return settings.Usagef("%s--%s %q: want %s", of, f.Name, value.GetValue(), cmp.Or(kindsOfValue[kind], kind))
	}
	return settings.Usagef("%s%w", of, err)
}

// kindsOfValue says what a flag takes, by its pflag type. Those below duration are the types of our own flags.
var kindsOfValue = map[string]string{
	"int":         "a whole number",
	"uint32":      "a whole number, 0 … 4294967295",
	"seeds":       "seeds of 0 … 4294967295, such as 3,4,6 or 3-5,9",
	"float64":     "a number",
	"floats":      "numbers, separated by commas",
	"bool":        "true or false",
	"duration":    "a time such as 90s or 5m",
	"number|none": "a number or none",

	"ints":         "whole numbers, separated by commas",
	"bools":        "true, false or true,false",
	"numbers|none": "numbers or none, separated by commas",
	"i/n":          fmt.Sprintf("part i of n, such as 2/8, with n at most %d", many.MostParts),
	"SIZE|off":     "a size such as 8GB, 8GiB or 500MB, or off",
}

// tidyLists takes the spaces around the values of the lists on a command line away, and reports the first list that has
// a value twice.
func tidyLists(fs *pflag.FlagSet) (err error) {
	fs.Visit(func(f *pflag.Flag) {
		list, is := f.Value.(pflag.SliceValue)
		if !is || err != nil || f.Value.Type() == "stringArray" { // lines of a script, which may stand twice
			return
		}
		values := slices.Clone(list.GetSlice())
		for i, value := range values {
			values[i] = strings.TrimSpace(value)
		}
		err = cmp.Or(list.Replace(values), settings.Once(f.Name, values))
	})
	return err
}

// decimal is a flag of pflag's for a number. Pflag reads numbers as Go's source has them, so that 010 would be 8.
type decimal struct{ pflag.Value }

// Set implements [pflag.Value].
func (d decimal) Set(text string) error {
	if d.Type() == "float64" {
		if _, err := files.ParseNumber(text, 64); err != nil {
			return err
		}
		return d.Value.Set(text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return err
	}
	return d.Value.Set(strconv.FormatInt(n, 10))
}

// readDecimal makes the flags of a command and its subcommands read decimal numbers, as those of settings do.
func readDecimal(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if kind := f.Value.Type(); !settings.IsSetting(f) && (kind == "int" || kind == "uint32" || kind == "float64") {
			f.Value = decimal{f.Value}
		}
	})
	for _, sub := range c.Commands() {
		readDecimal(sub)
	}
}

// completeNames lets the shell complete the values of flags that take a name, such as --method. The rows of settings
// have their own words, except for --data; the other flags listed here are no settings of a run.
func completeNames(cmd *cobra.Command) {
	names := map[string][]string{
		"methods": algos.Names(), "also": algos.Names(), "like": algos.Names(),
		"data": datasets.Names(), "nets": models.Names(),
		"device":    {"auto", "cpu", "cuda"},
		"precision": {"tf32", "fp32", "bf16", "bf16x3"},
		"rows":      {"memory", "file"},
	}
	for _, r := range settings.Rows() {
		if len(r.Words) > 0 {
			names[r.Name] = r.Words
		}
	}
	if cmd.Flags().Lookup("pack") != nil { // it makes many runs
		names["device"] = append(names["device"], "cuda:all")
	}
	for flag, words := range names {
		if cmd.Flags().Lookup(flag) != nil {
			completeWords(cmd, flag, words)
		}
	}
}

// wordsOf is the annotation of a flag that has the words that it takes.
const wordsOf = "rollcall_words"

// completeWords lets the shell complete the values of one flag that takes one of some words.
func completeWords(cmd *cobra.Command, flag string, words []string) {
	_ = cmd.Flags().SetAnnotation(flag, wordsOf, words) // the error would say that the flag is unknown
}

// answerShell makes a command and those below it answer the shell's questions. Cobra keeps every flag that does so for
// as long as the process runs, hence only when the shell asks.
func answerShell(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if words := f.Annotations[wordsOf]; words != nil {
			complete := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // the error would say that it has been called before
		}
	})
	for _, sub := range cmd.Commands() {
		answerShell(sub)
	}
}

// twins are names under which commands take one flag: those of one thing, those of many, and an earlier one.
var twins = map[string]string{
	"method": "methods", "methods": "method", "net": "nets", "nets": "net", "seed": "seeds", "seeds": "seed",
	"lr": "lrs", "lrs": "lr", "server-lr": "server-lrs", "server-lrs": "server-lr", "kind": "availability",
}

// meanTwins lets a command and its subcommands take a flag by the name that another command has for it, as in
// `rollcall run --methods fedau`, unless the command has both.
func meanTwins(c *cobra.Command) {
	own := map[string]bool{}
	c.Flags().VisitAll(func(f *pflag.Flag) { own[f.Name] = true })
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if twin := twins[name]; !own[name] && own[twin] {
			name = twin
		}
		return pflag.NormalizedName(name)
	})
	for _, sub := range c.Commands() {
		meanTwins(sub)
	}
}

// noArgs is cobra.NoArgs with a usage error.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return settings.Usagef("%s: unexpected argument %q, want none", commandName(cmd), args[0])
	}
	return nil
}

// exactly checks that a command has n arguments. otherwise is the error, with one verb for the number of arguments: "%d
// cells, want one".
func exactly(n int, otherwise string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return settings.Usagef("%s: "+otherwise, commandName(cmd), len(args))
		}
		return nil
	}
}

// oneNamed checks that a command has one argument. what is the plural noun for its names: "tables".
func oneNamed(what string, names []string) cobra.PositionalArgs {
	return exactly(1, "%d "+what+" named, want one of "+strings.Join(names, ", "))
}

// unknownName returns the error of an argument that is none of the known names. what is the noun for them: "table".
func unknownName(what, name string, known []string) error {
	return settings.Usagef("%s %q: %s", what, name, settings.Unknown(name, known))
}

// versionCommand is `rollcall version`, which every bug report should quote.
func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print version, Go version and platform", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(a.stdout, versionLine())
			return err
		},
	}
}

func versionLine() string {
	return fmt.Sprintf("rollcall %s %s %s/%s", run.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// Root returns the program's command with all subcommands, for what reads names and flags, and runs none.
func Root() *cobra.Command { return newRoot(io.Discard, io.Discard, &texts{}) }
