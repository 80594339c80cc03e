// Package run trains one run: a method, a net, data, an availability model and a seed, and the folder of files it
// leaves.
//
//	s, err := settings.Defaults("fedawe", "code", "leaf")
//	session := &run.Session{Machine: run.Machine{Device: "cpu", Threads: 2, Out: "out"}, Stderr: os.Stderr}
//	x := &run.Experiment{Table: "run", Settings: s, Seed: 3, Dir: run.Folder("out", "run", s, 3)}
//	made, err := x.Do(ctx, session, run.Keep{}, progress.New(os.Stderr).Run("fedawe", run.Work("", &s)))
//	last := made.Rows[len(made.Rows)-1] // of curve.csv; a run that is there already is kept or resumed
//	err = errors.Join(err, session.Close())
//
// life.go has a run's whole life: lock the folder, decide what becomes of it, train, read the run back. A session opens
// data and engine, and keeps both for the next run; rounds.go is the loop of rounds, evaluations and checkpoints.
package run
