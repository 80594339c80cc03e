// Package folder decides what becomes of a run's folder, and moves its files.
//
//	d, err := folder.Decide(&want, folder.Policy{})
//	switch d := d.(type) {
//	case folder.Keep: // d.Run is finished
//	case folder.Resume: // from round d.Round
//	case folder.New: // from round 0
//	case folder.Refuse: // d says why
//	}
//
// Nothing of value is replaced unasked: work of other numerics, revisions or schema, and work whose rows do not verify,
// is refused. What the user asks to replace is moved aside within the folder, and stays there until a complete run
// beside it has all that it has.
package folder
