package slurmtest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const canKeep = true

// ownGroup keeps the signals of a terminal, such as Ctrl-C, from a keeper: it has to outlive the test.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// beKeeper is the keeper's process.
func beKeeper(dir string, daemon []string) error {
	// Processes below this one whose parent dies become its children, not those of process 1.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("slurmtest: keeper: %w", err)
	}
	// When the test is dead, nobody reads what this process says: to say it must not kill it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	runtime.LockOSThread() // Pdeathsig is sent when the thread ends that has started the child
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("slurmtest: keeper: %w", err)
	}
	p, err := os.StartProcess(daemon[0], daemon, &os.ProcAttr{
		Files: []*os.File{null, null, null},
		Sys:   &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return fmt.Errorf("slurmtest: keeper: %w", err)
	}
	go reap(p.Pid)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		switch lines.Text() {
		case "daemon":
			if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return fmt.Errorf("slurmtest: keeper: kill %d: %w", p.Pid, err)
			}
		case "all":
			return killBelow()
		}
	}
	if err := killBelow(); err != nil {
		return err
	}
	// All keepers of a cluster do this at the same time. The last one finds nobody who still writes.
	for try := 0; ; try++ {
		err := os.RemoveAll(dir)
		if err == nil || try == 100 {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// reap takes note of children that have ended, for ever, and tells the test of the daemon's end.
func reap(daemon int) {
	for {
		pid, err := syscall.Wait4(-1, nil, 0, nil)
		if pid == daemon {
			fmt.Println("dead")
		}
		if errors.Is(err, syscall.ECHILD) {
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// killBelow kills all processes below this one, as good as at once: it stops all before it kills the first, so that
// none sees another die. It returns when they are gone.
func killBelow() error {
	for deadline := time.Now().Add(keeperMost / 2); ; time.Sleep(20 * time.Millisecond) {
		stopped := map[int]bool{}
		for grown := true; grown; {
			grown = false
			for _, pid := range below(os.Getpid()) {
				if !stopped[pid] {
					if err := signalTo(pid, syscall.SIGSTOP); err != nil {
						return err
					}
					stopped[pid], grown = true, true
				}
			}
		}
		if len(stopped) == 0 {
			return nil
		}
		for pid := range stopped {
			if err := signalTo(pid, syscall.SIGKILL); err != nil {
				return err
			}
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("slurmtest: keeper: %d processes live on, want them killed", len(stopped))
		}
	}
}

// signalTo sends a signal to a process, which may have ended.
func signalTo(pid int, s syscall.Signal) error {
	if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("slurmtest: keeper: %v to %d: %w", s, pid, err)
	}
	return nil
}

// below returns the processes whose parent, or parent's parent and so on, is the process root.
func below(root int) []int {
	children := map[int][]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// 123 (any name) S 1 …: the parent is the second field behind the name.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		parent, _ := strconv.Atoi(string(fields[1]))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		children[parent] = append(children[parent], pid)
	}
	found := children[root]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found
}
