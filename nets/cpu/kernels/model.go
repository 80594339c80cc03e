package kernels

import (
	"bufio"
	"os"
	"runtime"
	"strings"
)

// Model returns the name of the processor as Linux reports it, or the name of the architecture elsewhere. Results of
// benchmarks carry it.
func Model() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer f.Close() // read only
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
