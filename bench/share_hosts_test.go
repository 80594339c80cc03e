//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/internal/must"
)

// container is a child in namespaces of its own, as process 1 of a host that has the name of all others. A shell
// prepares them first. Who may not make namespaces skips the test.
func container(t *testing.T, env, prepare string, args ...string) *child {
	t.Helper()
	c := &child{Cmd: process(t, args...), ended: make(chan struct{}), more: make(chan struct{})}
	c.Env = append(c.Env, env)
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUTS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	script := "mount --make-rprivate / && hostname one-name && " + prepare + ` exec "$@"`
	if err := containerWorks(c.SysProcAttr, script); err != nil {
		t.Skipf("no namespaces: %v", err)
	}
	c.Path = "/bin/sh"
	c.Args = append([]string{"sh", "-c", script, "sh"}, c.Args...)
	c.Stdout, c.Stderr = &c.stdout, nil
	c.start(t)
	return c
}

func containerWorks(how *syscall.SysProcAttr, script string) error {
	cmd := exec.Command("/bin/sh", "-c", script, "sh", "true")
	attr := *how
	cmd.SysProcAttr = &attr
	text, err := cmd.CombinedOutput()
	if err != nil {
		return errors.Join(err, errors.New(string(text)))
	}
	return nil
}

// booted prepares a container that takes itself for one on a machine of another boot; "": of this one.
func booted(t *testing.T, boot string) (prepare string) {
	t.Helper()
	if boot == "" {
		return ""
	}
	file := filepath.Join(t.TempDir(), "boot_id")
	must.OK(t, os.WriteFile(file, []byte(boot+"\n"), 0o600))
	return "mount --bind " + file + " /proc/sys/kernel/random/boot_id && "
}

// Two containers with one host name, each with the program as process 1: neither the name, the number nor the times of
// files say who lives. A process that is killed is free at once on its machine; on another one, after the expiry.
func TestShareContainers(t *testing.T) {
	for _, c := range []struct{ name, boot string }{
		{"one machine", ""},
		{"another machine", "11111111-2222-3333-4444-555555555555"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ofProcesses(t)
			times := "" // the default: five minutes
			if c.boot != "" {
				times = quickly
			}
			alone, out := t.TempDir(), t.TempDir()
			line := func(out string) []string { return longSweep(out, "3000", "--methods", "mifa") }
			pass(t, line(alone)...)
			one := container(t, times, booted(t, c.boot), line(out)...)
			one.until(t, "round 100/")
			one.stop(t) // or it would end before the other has begun
			for _, hours := range []time.Duration{-1, 1} {
				claims, err := filepath.Glob(filepath.Join(out, "sweep", "*", "*", ".claim-*"))
				if err != nil || len(claims) == 0 {
					t.Fatalf("%q, %v, want the files of a claim", claims, err)
				}
				for _, path := range claims {
					at := time.Now().Add(hours * time.Hour)
					must.OK(t, os.Chtimes(path, at, at))
				}
			}
			began := time.Now()
			two := container(t, times, "", line(out)...)
			two.until(t, "waits for 1 run of other processes: process 1 on host one-name")
			must.OK(t, one.Process.Kill())
			log := two.end(t, statusOK)
			if took := time.Since(began); c.boot != "" && took < 3*time.Second {
				t.Errorf("taken over and ended after %s, want 3 s at least", took)
			}
			if !strings.Contains(log, "goes on from round ") || len(begun(log)) > 0 {
				t.Errorf("want that it goes on from a checkpoint:\n%s", log)
			}
			got := timelessTree(t, out)
			if c.boot != "" { // whose temporary files go after a day
				got = withoutTemps(got)
			}
			sameTree(t, "taken over", got, timelessTree(t, alone))
		})
	}
}

// Without waiting a command leaves a run to a process on another machine once that process has shown a sign of life. It
// takes the run over if there is none.
func TestNoWaitContainers(t *testing.T) {
	for _, lives := range []bool{true, false} {
		t.Run(fmt.Sprintf("lives=%t", lives), func(t *testing.T) {
			ofProcesses(t)
			out := t.TempDir()
			line := longSweep(out, "100000", "--methods", "mifa")
			if !lives {
				line = longSweep(out, "3000", "--methods", "mifa")
			}
			one := container(t, quickly, booted(t, "of-another-machine"), line...)
			one.until(t, "round 100/")
			if !lives {
				one.stop(t) // or it would end by itself
				must.OK(t, one.Process.Kill())
			}
			two := container(t, quickly, "", append(line, "--no-wait")...)
			log := two.end(t, statusOK)
			said := "other processes make 1 run of 1 cell, which are not waited for\n"
			if left := strings.HasSuffix(log, said); left != lives {
				t.Errorf("left to the other: %t, want %t:\n%s", left, lives, log)
			}
			if goesOn := strings.Contains(log, "goes on from round "); goesOn == lives {
				t.Errorf("goes on itself: %t, want %t:\n%s", goesOn, !lives, log)
			}
			waits := "waits for a sign of life of those who make 1 run of other processes: process 1"
			if !strings.Contains(log, waits) {
				t.Errorf("want that it waits for a sign of life:\n%s", log)
			}
		})
	}
}

// Containers that begin at the same time divide the runs like any processes.
func TestShareContainersAtOnce(t *testing.T) {
	ofProcesses(t)
	alone, out := t.TempDir(), t.TempDir()
	line := func(out string) []string { return shareSweep(out, "--methods", "mifa,fedawe", "--seeds", "3,4") }
	pass(t, line(alone)...)
	one, two := container(t, "", "", line(out)...), container(t, "", booted(t, "of-another-machine"), line(out)...)
	runs := append(begun(one.end(t, statusOK)), begun(two.end(t, statusOK))...)
	if len(runs) != 4 {
		t.Errorf("%d runs made, want 4, each once: %q", len(runs), runs)
	}
	sameTree(t, "containers", timelessTree(t, out), timelessTree(t, alone))
}

// On a full disk finished runs are kept, and no other is begun; the error says that the disk is full, and where.
func TestShareFullDisk(t *testing.T) {
	ofProcesses(t)
	out, disk := t.TempDir(), t.TempDir()
	full := "mount -t tmpfs -o size=200k none " + disk + " && cp -r " + out + "/* " + disk +
		" && { dd if=/dev/zero of=" + disk + "/full bs=1k 2>/dev/null; true; } && "
	line := func(out, seed string) []string {
		return []string{
			"run", "--method", "mifa", "--data", "leaf", "--clients", "4", "--rounds", "2", "--seed", seed,
			"--device", "cpu", "--out", out,
		}
	}
	pass(t, line(out, "3")...)
	c := container(t, "", full, line(disk, "3")...)
	if log := c.end(t, statusOK); !strings.Contains(c.stdout.String(), ": kept, ") || log != "" {
		t.Errorf("%s%s, want the finished run", &c.stdout, log)
	}
	c = container(t, "", full, line(disk, "4")...)
	log := c.end(t, statusFailure)
	if !strings.Contains(log, "no space left on device") || !strings.Contains(log, "/seed-4: ") || len(begun(log)) > 0 {
		t.Errorf("%s, want that the disk is full, and no run", log)
	}
}
