package permit

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// ask asks Linux to save the tiles of all threads of this process.
func ask() error {
	const (
		reqXcompPerm = 0x1023 // ARCH_REQ_XCOMP_PERM
		tileData     = 18     // the state's bit in XCR0
	)
	if _, _, errno := unix.RawSyscall(unix.SYS_ARCH_PRCTL, reqXcompPerm, tileData, 0); errno != 0 {
		return fmt.Errorf("arch_prctl: %w", errno)
	}
	return nil
}
