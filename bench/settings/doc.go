// Package settings holds every setting of a run as one row: its name, default, range, the runs that read it, and its
// help. So a setting is written once, and its flag, its check, its place in run.json and its name in CSV follow:
//
//	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
//	settings.AddFlags(fs) // a flag for every row
//	if err := fs.Parse(args); err != nil {
//		return err
//	}
//	s, err := settings.Resolve(settings.GivenBy(fs)) // rows' defaults, the paper's, the given values; checked
//	if settings.IsUsage(err) {
//		return 2
//	}
//	fmt.Println(s.LR, s.Get("lr"), results.Hash(s)) // as a number, as text; the hash names the run
//
// A new setting of all runs is a row in rows.go and a field of [Settings], with a value AsBefore so that kept runs keep
// their names. A new parameter of a method changes the method's file alone.
package settings
