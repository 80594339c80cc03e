// Package process starts programs in process groups of their own, and ends them with everything that they have started.
//
//	cmd := exec.Command("sh", "-c", script)
//	process.OwnGroup(cmd)
//	err := cmd.Start()
//	defer process.Kill(cmd)
package process
