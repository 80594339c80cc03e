// Package track keeps the nightly speed history of machines, finds the nights at which a speed changed, and draws them.
//
//	histories, bad := track.ReadFolder("results/history") // a file for each machine
//	for _, h := range histories {
//		trends := track.DefaultRule().Trends(h)
//		fmt.Println(track.Judge(h, trends, 1).Text) // shifts that the last night has confirmed
//	}
//
// docs/tracking.md describes the file, and says how often the rule is wrong.
package track
