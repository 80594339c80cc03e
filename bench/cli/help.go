package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/papers"
)

// helpWidth is how many columns a line of help has at most, and leastWidth in the narrowest of windows. Descriptions,
// lists of names and flags are written as they come in the source and wrapped here, so that the lists may grow.
const (
	helpWidth  = 100
	leastWidth = 60
)

// groupedFrom is the number of flags from which a command shows them in groups: fewer are seen at a glance.
const groupedFrom = 16

// widthOf returns the columns of help on w: helpWidth, or fewer in a narrower window.
func widthOf(w io.Writer) int { return min(helpWidth, max(leastWidth, columnsOf(w, helpWidth))) }

// columnsOf returns the columns of the terminal that w writes to; otherwise, of a file or a pipe.
func columnsOf(w io.Writer, otherwise int) int {
	if f, is := files.Terminal(w); is {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return otherwise
}

// wrapHelp wraps the descriptions of a command and its subcommands, and the help of their flags, which it sorts into
// groups. It leaves cobra's own commands alone, whose descriptions have lines of shell in them.
func wrapHelp(c *cobra.Command, width int) {
	if c.Name() == "completion" {
		return
	}
	if !c.HasParent() {
		// Cobra's template does not wrap the help of flags, and has no setting for that. Subcommands take it over.
		wrapped := fmt.Sprintf(".FlagUsagesWrapped %d", width)
		template := strings.ReplaceAll(c.UsageTemplate(), ".FlagUsages", wrapped)
		c.SetUsageTemplate(strings.Replace(template, "Flags:\n{{.LocalFlags"+wrapped+" | trimTrailingWhitespaces}}",
			fmt.Sprintf("{{localUsages . %d}}", width), 1))
	}
	c.InitDefaultHelpFlag()
	c.Long = files.Wrap(c.Long, width)
	for _, sub := range c.Commands() {
		wrapHelp(sub, width)
	}
}

// flagGroup is flags that stand below one heading, in the order in which they were added.
type flagGroup struct {
	name  settings.Group
	flags []*pflag.Flag
}

// grouped returns the flags of a command with many of them in groups; nil for a command with few. Those without a group
// are cobra's own, and come at the end of the first one.
func grouped(fs *pflag.FlagSet) (groups []flagGroup) {
	defer func(sorted bool) { fs.SortFlags = sorted }(fs.SortFlags)
	fs.SortFlags = false // VisitAll has them in order then
	of, n := map[settings.Group][]*pflag.Flag{}, 0
	fs.VisitAll(func(f *pflag.Flag) {
		of[settings.GroupOf(f)] = append(of[settings.GroupOf(f)], f)
		n++
	})
	if n < groupedFrom {
		return nil
	}
	for _, g := range settings.Groups {
		if flags := of[g]; flags != nil {
			groups = append(groups, flagGroup{g, flags})
		}
	}
	groups[0].flags = append(groups[0].flags, of[""]...)
	return groups
}

// localUsages is what the template calls for the help of a command's own flags. Wrapping them takes milliseconds, and
// most commands print no help.
func localUsages(c *cobra.Command, width int) string {
	groups := grouped(c.Flags())
	if groups == nil {
		return "Flags:\n" + strings.TrimRight(c.LocalFlags().FlagUsagesWrapped(width), " \n")
	}
	var parts []string
	for _, g := range groups {
		parts = append(parts, string(g.name)+":\n"+strings.TrimRight(usages(g.flags, width), "\n"))
	}
	return strings.Join(parts, "\n\n")
}

func init() { cobra.AddTemplateFunc("localUsages", localUsages) }

// usages returns the help of some flags, in their order.
func usages(flags []*pflag.Flag, width int) string {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.SortFlags = false
	for _, f := range flags {
		fs.AddFlag(f)
	}
	return fs.FlagUsagesWrapped(width)
}

// helpTopics makes the help command, which otherwise knows commands alone, describe methods and availability models,
// and refuse what is none of these, for which cobra's own ends with status 0.
func (a *app) helpTopics(root, help *cobra.Command) {
	help.Short = "Help about a command, a method or an availability model"
	help.Use = "help [COMMAND | METHOD | MODEL]"
	help.Long = "help prints the help of a command. Of a method (" + strings.Join(algos.Names(), ", ") + ") or an " +
		"availability model (" + strings.Join(availability.Names(), ", ") + ") it prints the idea, the formula, the " +
		"flags and the paper."
	help.Example = "  rollcall help sweep\n  rollcall help fedau\n  rollcall help markov"
	topics := slices.Concat(algos.Names(), availability.Names())
	commands := help.ValidArgsFunction
	help.ValidArgsFunction = func(c *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		found, directive := commands(c, args, start)
		if len(args) == 0 {
			for _, name := range topics {
				if strings.HasPrefix(name, start) {
					found = append(found, name+"\t"+cmp.Or(algos.Of(name).Brief, availability.Of(name).Brief))
				}
			}
		}
		return found, directive
	}
	help.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 && slices.Contains(topics, args[0]) {
			return subcommandArgs(help, args[1:])
		}
		topic, rest, err := root.Find(args)
		if err != nil {
			return err
		}
		if topic == root && len(rest) > 0 {
			if settings.Family(rest[0], topics) != nil {
				return settings.Usagef("help: %q: %s", rest[0], settings.Unknown(rest[0], topics))
			}
			return settings.Usagef("help: %q: unknown%s, want a command, a method or an availability model", rest[0],
				files.DidYouMean(rest[0], append(commandNames(root), topics...)))
		}
		return subcommandArgs(topic, rest)
	}
	ofCommand := help.Run
	help.Run = nil
	help.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 || !slices.Contains(topics, args[0]) {
			ofCommand(c, args)
			return nil
		}
		text, err := describeModel(args[0], widthOf(a.stdout)), error(nil)
		if slices.Contains(algos.Names(), args[0]) {
			text, err = describeMethod(args[0], widthOf(a.stdout))
		}
		if err == nil {
			_, err = io.WriteString(a.stdout, text)
		}
		return err
	}
}

// describeMethod returns the help of a method in lines of at most so many columns.
func describeMethod(name string, width int) (string, error) {
	d := algos.Of(name)
	rates, err := defaultRates(name)
	if err != nil {
		return "", err
	}
	flags := flagsOf(func(r *settings.Row) bool { return slices.Contains(r.Methods(), name) })
	slices.SortStableFunc(flags, func(a, b *pflag.Flag) int { return sharing(a) - sharing(b) })
	return described(width, name, d.Brief, []part{
		{"", d.Idea},
		{"Formula", d.Formula},
		{"", "(" + algos.Notation + ")"},
		{"Keeps", kept(d.Is)},
		{"Rates", rates},
		{"Paper", d.Paper},
	}, flags, fmt.Sprintf("rollcall run --method %s --data synthetic --availability sine --rounds 20", name)), nil
}

// sharing returns how many methods have a flag: its own come first.
func sharing(f *pflag.Flag) int {
	for _, p := range algos.Params() {
		if p.Name == f.Name {
			return len(p.Methods())
		}
	}
	return 0
}

// describeModel returns the help of an availability model in lines of at most so many columns.
func describeModel(name string, width int) string {
	d := availability.Of(name)
	flags := flagsOf(func(r *settings.Row) bool { return slices.Contains(r.Models(), name) })
	example := fmt.Sprintf("rollcall availability --availability %s --rounds 40", name)
	if name == "trace" || name == "chain" {
		example += fmt.Sprintf(" --%s %s.csv", name, name)
	}
	return described(width, name, d.Brief, []part{{"Formula", d.Formula}, {"Paper", d.Paper}}, flags, example)
}

// part is a paragraph of a description, and the word in front of it.
type part struct{ word, text string }

// described returns a description: a title, paragraphs, flags and an example.
func described(width int, name, brief string, parts []part, flags []*pflag.Flag, example string) string {
	var b strings.Builder
	b.WriteString(files.Wrap(strings.TrimSuffix(name+": "+brief, ": "), width) + "\n")
	for _, p := range parts {
		if p.text == "" {
			continue
		}
		word, indent := "", ""
		if p.word != "" {
			word, indent = p.word+":  ", strings.Repeat(" ", len("Formula:  "))
		}
		lines := strings.Split(files.Wrap(p.text, width-len(indent)), "\n")
		fmt.Fprintf(&b, "\n%-*s%s\n", len(indent), word, strings.Join(lines, "\n"+indent))
	}
	if len(flags) > 0 {
		fmt.Fprintf(&b, "\nIts flags:\n%s", usages(flags, width))
	}
	fmt.Fprintf(&b, "\nExample:\n  %s\n", example)
	return b.String()
}

// flagsOf returns the flags of some settings, with their values in the help.
func flagsOf(wanted func(r *settings.Row) bool) (flags []*pflag.Flag) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	settings.AddFlags(all)
	for _, r := range settings.Rows() {
		if wanted(&r) {
			f := all.Lookup(r.Name)
			if r.Kind != algos.Word && r.Kind != algos.Switch && r.Range != (algos.Range{}) {
				f.Usage += "; " + r.Values()
			}
			flags = append(flags, f)
		}
	}
	return flags
}

// kept says what a method keeps from round to round.
func kept(is algos.Trait) string {
	switch {
	case is&algos.OwnModels != 0:
		return "a model for every client; clients that were last active in the same round share one"
	case is&algos.Remembers != 0:
		return "the model, and for every client that has trained as much again"
	}
	return "the model, whatever N is"
}

// defaultRates says which learning rates a method has by default, for which data sets.
func defaultRates(method string) (string, error) {
	var err error
	values, data := results.Grouped(datasets.Names(), func(data string) string {
		s, failed := settings.Defaults(method, papers.Presets(method)[0], data)
		if err = cmp.Or(err, failed); s.LR == 0 || s.ServerLR == 0 {
			return "none"
		}
		return fmt.Sprintf("--lr %s --server-lr %s", s.Get("lr"), s.Get("server-lr"))
	})
	if len(values) == 1 && values[0] == "none" {
		return "none by default: give --lr and --server-lr, or let tune choose them", err
	}
	var words []string
	for _, value := range values {
		of := ""
		if len(values) > 1 {
			of = " for " + strings.Join(data[value], ", ")
		}
		words = append(words, value+of)
	}
	return strings.Join(words, "; "), err
}
