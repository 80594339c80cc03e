package many

import (
	"context"
	"fmt"
	"strings"

	"rollcall/datasets"
	"rollcall/internal/files"
)

// MissingError says which data sets of a command are neither on this machine nor to be had from the network, and which
// files of a user's own cannot be read. Nothing is trained then: a table without some of its columns is not what was
// asked for.
type MissingError struct{ Sets []error } // one error for each

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s missing, nothing is trained", files.Count(len(e.Sets), "data set"))
}

// fetch downloads the data sets that runs of the tasks want and that are not on this machine, all before the first run.
// It reads those in a user's own files, in which anything may be wrong: that is one error, and not one of each run.
func (p *Pool) fetch(ctx context.Context, table string, tasks []Task, seeds []uint32) error {
	if p.Keep.Look { // nothing is trained
		return nil
	}
	ses := p.Sessions[0]
	var there, names []string
	missing, e := map[string]error{}, &MissingError{}
	for i := range tasks {
		s := &tasks[i].Settings
		if _, seen := missing[s.Data]; seen {
			continue
		}
		own, _ := datasets.Own(s.Data)
		if own == "" && !ses.Lacks(s) {
			there = append(there, s.Data)
			continue
		}
		// A command that keeps all its runs needs no data.
		wanted, err := p.wants(ctx, table, tasks, seeds, s.Data)
		if err != nil {
			return err
		}
		if own != "" {
			missing[s.Data] = nil
			if wanted {
				err = ses.OpenData(ctx, s, seeds[0])
			}
			switch {
			case ctx.Err() != nil:
				return err
			case err != nil:
				e.Sets = append(e.Sets, err)
			default:
				there = append(there, own)
			}
			continue
		}
		if wanted {
			if err = ses.Fetch(ctx, s); ctx.Err() != nil {
				return err
			}
		}
		if missing[s.Data] = err; err != nil {
			names = append(names, s.Data)
		}
	}
	if names == nil && e.Sets == nil {
		return nil
	}
	rest := ""
	if there = files.Unique(there); there != nil {
		rest = ", --data " + strings.Join(there, ",") + " trains the rest"
	}
	for _, name := range names {
		e.Sets = append(e.Sets, fmt.Errorf("%w: nothing is trained: rollcall data fetch %s gets it where there is a "+
			"network, --data-dir names a folder that has it%s", missing[name], name, rest))
	}
	return e
}

// wants reports whether the command trains a run on a data set. A run that cannot fit into memory, as far as its
// settings say so, is refused without the data.
func (p *Pool) wants(ctx context.Context, table string, tasks []Task, seeds []uint32, data string) (bool, error) {
	var of []Task
	for _, t := range tasks {
		if t.Settings.Data == data {
			of = append(of, t)
		}
	}
	planned, err := p.Planned(ctx, table, of, seeds, false)
	for i := range planned {
		if err == nil && planned[i].Left() && p.Sessions[0].Fits(&planned[i].Settings) == nil {
			return true, nil
		}
	}
	return false, err
}
