//go:build unix

package kernels

import (
	"testing"

	"golang.org/x/sys/unix"
)

// guardPlaces returns places whose buffers begin right behind, or end right before, a page without access.
func guardPlaces(t *testing.T) []*place {
	page := unix.Getpagesize()
	const buffers, pages = 7, 64
	mapped := make([][]byte, buffers)
	for i := range mapped {
		m, err := unix.Mmap(-1, 0, (pages+2)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			t.Fatalf("cpu: mmap: %v", err)
		}
		t.Cleanup(func() {
			if err := unix.Munmap(m); err != nil {
				t.Errorf("cpu: munmap: %v", err)
			}
		})
		for _, guard := range [][]byte{m[:page], m[(pages+1)*page:]} {
			if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
				t.Fatalf("cpu: mprotect: %v", err)
			}
		}
		mapped[i] = m[page : (pages+1)*page]
	}
	return []*place{
		{name: "page before", room: func(i, n int) ([]byte, int) { return mapped[i][:n+margin], 0 }},
		{name: "page behind", room: func(i, n int) ([]byte, int) { return mapped[i][pages*page-n-margin:], margin }},
	}
}
