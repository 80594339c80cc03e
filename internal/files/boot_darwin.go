package files

import (
	"sync"
	"syscall"
)

// BootID names this machine and its last start. All containers of a machine have the same id. It is "" if unknown.
var BootID = sync.OnceValue(func() string {
	id, err := syscall.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
})
