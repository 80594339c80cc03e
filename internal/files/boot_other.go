//go:build !darwin

package files

import (
	"os"
	"strings"
	"sync"
)

// BootID names this machine and its last start. All containers of a machine have the same id. It is "" if unknown, as
// on every system but Linux and macOS.
var BootID = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
})
