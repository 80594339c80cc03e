// Package track keeps the nightly speed history of machines, and follows every cause of a change as an event.
//
//	histories, bad := track.ReadFolder("results/history") // a file for each machine
//	for _, h := range histories {
//		accepted, bad := track.ReadAcceptances(h.Path)
//		v := track.DefaultRule().Judge(h, time.Now(), accepted)
//		fmt.Println(v.Text) // OPEN since 2026-11-20, v2 (v1 before): step/cifar10 +12 %; 5 nights
//	}
//
// docs/files.md describes the file, and docs/alarms.md the rule and how often it is wrong.
package track
