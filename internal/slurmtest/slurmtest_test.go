package slurmtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A batch job runs and its output is there.
func TestBatchJob(t *testing.T) {
	c := Start(t, Options{Nodes: 2, CPUs: 2, GPUs: 2})
	dir := t.TempDir()
	script := filepath.Join(dir, "job.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho job $SLURM_JOB_ID on $SLURMD_NODENAME\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	id := strings.TrimSpace(c.Run(t, "sbatch", "--parsable", "-o", out, script))
	want := "job " + id + " on node1\n"
	c.Wait(t, 30*time.Second, func() (bool, string) {
		text, _ := os.ReadFile(out)
		return string(text) == want, "output " + string(text) + ", want " + want
	})
}
