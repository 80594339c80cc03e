//go:build unix

package guarded

import (
	"testing"

	"golang.org/x/sys/unix"
)

// pages returns the places whose buffers begin right behind, or end right before, a page without access.
func pages(t *testing.T) []*Place {
	page := unix.Getpagesize()
	const buffers, pages = 12, 64
	mapped := make([][]byte, buffers)
	for i := range mapped {
		m, err := unix.Mmap(-1, 0, (pages+2)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			t.Fatalf("guarded: mmap: %v", err)
		}
		t.Cleanup(func() {
			if err := unix.Munmap(m); err != nil {
				t.Errorf("guarded: munmap: %v", err)
			}
		})
		for _, guard := range [][]byte{m[:page], m[(pages+1)*page:]} {
			if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
				t.Fatalf("guarded: mprotect: %v", err)
			}
		}
		mapped[i] = m[page : (pages+1)*page]
	}
	return []*Place{
		{Name: "page before", room: func(i, n int) ([]byte, int) { return mapped[i][:n+margin], 0 }},
		{Name: "page behind", room: func(i, n int) ([]byte, int) { return mapped[i][pages*page-n-margin:], margin }},
	}
}
