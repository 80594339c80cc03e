package settings

import "github.com/spf13/pflag"

// Group is a heading of a command's help, with the flags that belong below it. A flag is given its group where it is
// made: a setting by its row, another flag by [Under].
type Group string

// The groups.
const (
	Usual        Group = "Usual flags"
	Training     Group = "Training"
	DataSplit    Group = "Data and split"
	Availability Group = "Availability models"
	Output       Group = "Evaluation and output"
	Keeping      Group = "Finished and interrupted runs"
	Workers      Group = "Machine and workers"
	SingleDraws  Group = "Seeds of single draws"
	Slurm        Group = "Slurm"
	OfMethods    Group = "Single methods (rollcall help METHOD has the idea and the formula)"
	OfFigures    Group = "Single figures"
)

// Groups are all groups in the order of help: what nearly every command line has comes first, and what single methods
// or figures read comes last.
var Groups = []Group{
	Usual, Training, DataSplit, Availability, Output, Keeping, Workers, SingleDraws, Slurm, OfMethods, OfFigures,
}

// groupKey is the annotation of a flag that holds its group.
const groupKey = "rollcall-group"

// Under gives a group to the flags that register adds.
func Under(g Group, fs *pflag.FlagSet, register func(fs *pflag.FlagSet)) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.SortFlags = false // fs has them in the order in which they were added, and shows them so below the heading
	register(own)
	own.VisitAll(func(f *pflag.Flag) {
		setGroup(f, g)
		fs.AddFlag(f)
	})
}

func setGroup(f *pflag.Flag, g Group) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[groupKey] = []string{string(g)}
}

// GroupOf returns the group of a flag; "" if it has none.
func GroupOf(f *pflag.Flag) Group {
	if g := f.Annotations[groupKey]; len(g) > 0 {
		return Group(g[0])
	}
	return ""
}
