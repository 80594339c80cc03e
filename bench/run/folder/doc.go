// Package folder decides what to do with a run's folder, and moves its files.
//
//	d, err := folder.Decide(&want, folder.Policy{})
//	switch d := d.(type) {
//	case folder.Keep: // d.Run is finished
//	case folder.Resume: // from round d.Round
//	case folder.New: // from round 0
//	case folder.Refuse: // d says why
//	}
//
// It replaces no work unless the user asks for it: work of other numerics, revisions or schema, and work whose rows do
// not verify, is refused. Replaced work stays aside within the folder until the new run is complete and has all of it.
package folder
