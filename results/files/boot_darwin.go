package files

import (
	"sync"
	"syscall"
)

// BootID names this machine since it was last started, the same in all of its containers; "" where nobody knows.
var BootID = sync.OnceValue(func() string {
	id, err := syscall.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
})
