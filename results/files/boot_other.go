//go:build !darwin

package files

import (
	"os"
	"strings"
	"sync"
)

// BootID names this machine since it was last started, the same in all of its containers; "" where nobody knows, which
// is so outside of Linux and macOS.
var BootID = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
})
