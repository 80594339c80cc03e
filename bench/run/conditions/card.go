package conditions

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"rollcall/internal/files"
)

// cardTimeout is how long nvidia-smi may take to answer. Where its daemon does not run, it takes seconds.
const cardTimeout = 20 * time.Second

// CardUsers returns the number of other processes that compute on the cards of a name, as nvidia-smi lists them. It is
// missing if nvidia-smi is missing, fails, or has not answered in time: this never keeps a measurement from being made.
// Call it before an engine is opened. In a container nvidia-smi may list this process by a number of the host, or no
// process at all.
func CardUsers(ctx context.Context, name string) files.Optional {
	path, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return files.Optional{}
	}
	ctx, cancel := context.WithTimeout(ctx, cardTimeout)
	defer cancel()
	ask := exec.CommandContext(ctx, path, "--query-compute-apps=pid,gpu_name", "--format=csv,noheader")
	ask.WaitDelay = time.Second // its own children may hold the pipe open
	out, err := ask.Output()
	if err != nil {
		return files.Optional{}
	}
	return files.Some(float64(usersOf(string(out), name, os.Getpid())))
}

// usersOf counts the processes in nvidia-smi's output that are on a card of a name, without the process own. A process
// on several cards has a line for each, and counts once. What is no line of a process is left out.
func usersOf(lines, name string, own int) int {
	seen := map[int]bool{own: true}
	for line := range strings.Lines(lines) {
		pid, card, _ := strings.Cut(line, ",")
		n, err := strconv.Atoi(strings.TrimSpace(pid))
		if err == nil && strings.TrimSpace(card) == name {
			seen[n] = true
		}
	}
	return len(seen) - 1
}
